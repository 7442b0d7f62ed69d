"""ALFWorld as an environment: household tasks in text.

Invariant: an episode is a function of the game, the options and the actions; the texts,
admissible commands and rewards equal those of TextWorld on the same game file, except
where ``ALFWorldEnv`` lists a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sandgym.alfworld import rules, text
from sandgym.alfworld.commands import admissible
from sandgym.alfworld.compact import compact, visible
from sandgym.alfworld.facts import NO_MEMORY, Memory, facts, remember
from sandgym.alfworld.game import Game
from sandgym.alfworld.gamefile import TASK_TYPES
from sandgym.alfworld.state import NOTHING, State
from sandgym.alfworld.tasks import Skipped
from sandgym.alfworld.world import load_world
from sandgym.core import Expert, reject_unknown
from sandgym.memory import InMemoryEnv, Outcome

OBSERVATION_MODES = ("text", "compact")
GRAMMARS = ("file", "put", "move", "both")
INFOS = ("facts", "expert_plan")
EXPERTS = ("explorer", "planner", "walkthrough")
INSTRUCTIONS = """\
You are in a household. Do the task that the first observation names: go to places, open what is closed, take things \
one at a time, treat them if the task asks for it, and bring them where they belong.
Each turn, answer with one command, with the names and numbers that the observations show:
go to (receptacle) - open (receptacle) - close (receptacle) - take (object) from (receptacle) - {put} - \
clean (object) with (sinkbasin) - heat (object) with (microwave) - cool (object) with (fridge) - \
use (lamp) - slice (object) with (knife you hold) - examine (object you hold, or receptacle here) - look - inventory
Only what is at your place can be used, and a closed receptacle must be opened first. A command that is not possible \
gives "Nothing happens." To look at an object in light, hold it where a lamp is on. \
The reward is 1 when the task is done, which ends the episode."""
_PUTS = {"move": "move (object) to (receptacle)", "put": "put (object) in/on (receptacle)"}
_KNOWN = (
    "data",
    "split",
    "max_steps",
    "observation_mode",
    "grammar",
    "task_types",
    "domain_randomization",
    "infos",
    "expert",
    "render_mode",
)


class Play(NamedTuple):
    """What an episode's future and present observation depend on.

    Attributes:
        state: of the game.
        observation: what the last reset or command was answered with.
        won: whether the goal holds.
        memory: of the past, where ``facts`` are wanted (see ``facts.remember``).
        history: the commands since the reset, empty ones for those that did nothing; all that an expert
            remembers follows from them.
        seen: receptacles that have been looked into, as a bit mask; compact observations tell the others.
    """

    state: State
    observation: str
    won: bool
    memory: Memory = NO_MEMORY
    history: tuple[str, ...] = ()
    seen: int = 0


class _Playing(NamedTuple):
    """The game of the last task that was looked up."""

    task: int
    naming: int
    game: Game
    gamefile: str


class ALFWorldEnv(InMemoryEnv):
    """ALFWorld's text environment (Shridhar et al., 2021) as a snapshottable environment.

    An action is one command, such as ``go to desk 1``; white space around it is ignored, and
    anything that is not possible now costs a step, changes nothing and is answered with
    ``Nothing happens.``. The reward is 1 when the goal holds, which ends the episode, else 0.

    ``info`` adds ``data``, ``task_type`` (as in ``gamefile.TASK_TYPES``), ``won``,
    ``admissible_actions`` and the same as ``admissible_commands``, ``extra.gamefile``,
    ``action_valid`` (whether the last command did something; true after a reset), and on request
    ``facts`` and ``extra.expert_plan``.

    Differences from the original: tasks are sorted by id, and a reset without a task draws one by
    the environment's own generator, instead of going through the file system's order; domain
    randomization draws from that generator too, not from the global one; ``facts`` are sorted and
    without the planner's ``new-axiom@...``; a step after the end is an error; a damaged file is
    named when the split is opened.

    Args:
        data: ``"bundled"``, ``"official"`` or a folder (see ``world.load_world``).
        split: a split of the data, ``train``, ``dev`` and ``test`` or the official ``train``,
            ``valid_seen``, ``valid_unseen`` and ``valid_train``; ``dev`` and ``eval_in_distribution``
            mean ``valid_seen``, ``test`` and ``eval_out_of_distribution`` mean ``valid_unseen``.
        max_steps: actions after which the episode is truncated.
        observation_mode: ``"text"`` is the original's; ``"compact"`` tells the same in fewer words, and
            the task in every observation (see ``compact``).
        grammar: how putting down is spelt. ``"file"`` follows the game file; ``"move"`` and ``"put"`` set
            texts and commands to the newer and the older ones; ``"both"`` accepts either spelling
            in actions, and follows the file in texts.
        task_types: only tasks of these types, as numbers 1 to 6 or names; all by default.
        domain_randomization: in split ``train``, deal out the numbers in names anew at each reset.
        infos: what ``info`` has besides: ``"facts"``, ``"expert_plan"`` (the shortest one).
        expert: who ``expert()`` is: ``"explorer"``, ``"planner"`` or ``"walkthrough"`` (see ``ALFWorldExpert``).
        render_mode: ``"ansi"`` or nothing.

    Raises:
        TypeError: an unknown argument or info.
        ValueError: an unknown split, grammar, task type or expert.
        SandboxError: missing or damaged data.
    """

    instructions: str
    metadata = {**InMemoryEnv.metadata, "case_sensitive": True}  # noqa: RUF012  Gymnasium's own convention
    reward_version = "alfworld-1"

    def __init__(
        self,
        data: str | Path = "bundled",
        split: str = "train",
        max_steps: int = 50,
        observation_mode: str = "text",
        grammar: str = "file",
        task_types: Iterable[int | str] | None = None,
        domain_randomization: bool = False,
        infos: Sequence[str] = (),
        expert: str = "explorer",
        render_mode: str | None = None,
        **unknown: Any,
    ) -> None:
        reject_unknown(unknown, _KNOWN, "ALFWorld argument")
        infos = (infos,) if isinstance(infos, str) else tuple(infos)
        reject_unknown(infos, INFOS, "ALFWorld info")
        if observation_mode not in OBSERVATION_MODES:
            raise ValueError(f"unknown observation_mode {observation_mode!r}; known: {', '.join(OBSERVATION_MODES)}")
        if grammar not in GRAMMARS:
            raise ValueError(f"unknown grammar {grammar!r}; known: {', '.join(GRAMMARS)}")
        if expert not in EXPERTS:
            raise ValueError(f"unknown expert {expert!r}; known: {', '.join(EXPERTS)}")
        types = _task_types(task_types)
        self._world = load_world(data)
        self._tasks = self._world.split(split, types)
        self._mode = observation_mode
        self._grammar = grammar
        self._renumbers = bool(domain_randomization) and self._tasks.name == "train"
        self._infos = frozenset(infos)
        self._expert = expert
        self._playing: _Playing | None = None
        wanted = tuple(sorted(self._infos))
        options = (self._tasks.name, types, max_steps, observation_mode, grammar, self._renumbers, wanted)
        super().__init__(f"sandgym/ALFWorld-v0 {self._tasks.key} {options!r}", max_steps, render_mode)
        put = grammar if grammar in _PUTS else self._world.game(self._tasks.ids[0]).grammar
        self.instructions = INSTRUCTIONS.format(put=_PUTS[put])

    @property
    def data(self) -> str:
        """Which data set is played: ``"bundled"``, ``"official"`` or a folder."""
        return self._world.data

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Games of the split that are not played, and why."""
        return self._tasks.skipped

    @property
    def grammar(self) -> str:
        """How putting down is spelt; see the class."""
        return self._grammar

    @property
    def game(self) -> Game:
        """The game of the present episode."""
        episode = self._present()
        return self._lookup(episode.task, episode.state.state.naming).game

    @property
    def state(self) -> State:
        """The present state of the game."""
        state: State = self._present().state.state
        return state

    @property
    def task_ids(self) -> Sequence[str]:
        """``<split>/<task>/<trial>`` of each task of the split, sorted."""
        return self._tasks.ids

    def task_index(self, task_id: str) -> int:
        """See ``InMemoryEnv.task_index``."""
        return self._tasks.positions[task_id]

    @property
    def data_hash(self) -> str:
        """Hash of the split's ids and game files, the same on every machine."""
        return self._tasks.key

    def task_hash(self, task_id: str) -> str:
        """SHA-256 of a task's game file; ``KeyError`` for a task of another split."""
        return self._world.store.hash(self._tasks.ids[self.task_index(task_id)])

    def expert(self, *, noise: float = 0.0, seed: int = 0) -> Expert:
        """See ``SnapshottableEnv.expert``."""
        from sandgym.alfworld.expert import ALFWorldExpert

        return ALFWorldExpert(self, noise, seed, self._expert)

    def _begin(self, task: int, rng_key: tuple[int, int]) -> Play:
        naming = NOTHING
        if self._renumbers:
            naming = int(np.random.SeedSequence((*rng_key, 1)).generate_state(1)[0])
        game = self._lookup(task, naming).game
        return Play(game.start, text.intro(game), rules.won(game, game.start))

    def _advance(self, task: int, state: Play, action: str) -> tuple[Play, Outcome]:
        before = state.state
        game = self._lookup(task, before.naming).game
        command = action.strip()
        parsed = rules.parse(game, command, self._grammar)
        if parsed is None or not rules.possible(game, before, parsed):
            idle = state._replace(observation=text.NOTHING_HAPPENS, history=(*state.history, ""))
            return idle, _WON_IDLE if state.won else _INVALID
        after = rules.apply(game, before, parsed)
        won = rules.won(game, after)
        memory = remember(game, before, parsed, state.memory) if "facts" in self._infos else NO_MEMORY
        observation = text.feedback(game, after, parsed, self._grammar)
        seen = state.seen | visible(game, after)
        return Play(after, observation, won, memory, (*state.history, command), seen), _WON if won else _VALID

    def _observe(self, task: int, state: Play) -> tuple[str, dict[str, Any]]:
        playing = self._lookup(task, state.state.naming)
        game = playing.game
        commands = admissible(game, state.state, self._grammar)
        info = {
            "success": state.won,
            "score": float(state.won),
            "won": state.won,
            "data": self._world.data,
            "task_type": TASK_TYPES[game.task_type],
            "admissible_actions": commands,
            "admissible_commands": commands,
            "extra.gamefile": playing.gamefile,
            "action_valid": True,
        }
        if self._infos:
            self._add_infos(info, game, state)
        if self._mode == "compact":
            return compact(game, state.state, state.seen, state.observation != text.NOTHING_HAPPENS), info
        return state.observation, info

    def _add_infos(self, info: dict[str, Any], game: Game, state: Play) -> None:
        if "facts" in self._infos:
            info["facts"] = facts(game, state.state, state.memory)
        if "expert_plan" in self._infos:
            from sandgym.alfworld.planner import plan

            info["extra.expert_plan"] = plan(game, state.state, self._grammar) or ()

    def _lookup(self, task: int, naming: int) -> _Playing:
        """The game of a task with its numbers as dealt, kept until another is asked for."""
        playing = self._playing
        if playing is None or playing.task != task or playing.naming != naming:
            task_id = self._tasks.ids[task]
            game = self._world.game(task_id)
            if naming != NOTHING:
                game = game.shuffled(naming)
            playing = self._playing = _Playing(task, naming, game, self._world.store.game_file(task_id))
        return playing


def _task_types(given: Iterable[int | str] | None) -> tuple[int, ...]:
    """Task types as numbers in ascending order."""
    numbers: dict[int | str, int] = {}
    for number, name in TASK_TYPES.items():
        numbers[number] = numbers[name] = number
    wanted = list(numbers) if given is None else [given] if isinstance(given, int | str) else list(given)
    unknown = [each for each in wanted if each not in numbers]
    if unknown or not wanted:
        known = ", ".join(f"{number} or {name!r}" for number, name in TASK_TYPES.items())
        raise ValueError(f"{f'unknown task types {unknown}' if unknown else 'no task types'}; known: {known}")
    return tuple(sorted({numbers[each] for each in wanted}))


_VALID = Outcome()
_INVALID = Outcome(extra={"action_valid": False})
_WON = Outcome(1.0, True, True, 1.0)
_WON_IDLE = Outcome(1.0, True, True, 1.0, {"action_valid": False})
