"""``sandgym play``: a person at the terminal, with snapshots, undo and forks.

Invariant: whatever is typed, the state that is shown is the state of the present fork.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import gymnasium
import typer
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from cli.console import console
from cli.environments import environment_id, keyword_arguments, make, short_name
from cli.errors import CommandError, UsageError
from sandgym.core import Snapshot, SnapshotMismatch
from sandgym.panels import SPLITS

EXAMPLES = "\n\n".join(
    (
        "Examples:",
        "sandgym play webshop",
        "sandgym play webshop --task goal-3 --kwargs observation_mode=text_rich",
        r"printf 'search\[red shoes]\n/undo\n/quit\n' | sandgym play webshop",
    )
)
SEPARATOR = " [SEP] "  # between the parts of a page in WebShop-like text observations
HELP = """\
an action, or the number of one in the list
/snapshot [name]   save this state       /restore name   go back to it
/undo              take back the last action
/fork              a second game from this very state; you go on in it
/switch n          go to game n          /state          where you are
/help              this list             /quit           leave"""


def play(
    env: Annotated[str, typer.Argument(help="webshop, any Gymnasium id with text actions, or module:Id.")] = "webshop",
    task: Annotated[
        str | None, typer.Option(help="Task id such as goal-3, or its number; by default a random one.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="train, dev or test, where the environment has splits.")] = None,
    kwargs: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Argument of the environment; repeatable.")
    ] = None,
) -> None:
    """Play an environment yourself, and take back, save, restore or fork any state of it."""
    options = keyword_arguments(kwargs or [])
    env_id = environment_id(env)
    chosen = None if task is None else int(task) if task.isdecimal() else task
    splits = [split] if split is not None else [None, *SPLITS] if isinstance(chosen, str) else [None]
    world = _world_with(env_id, options, chosen, splits)
    if not hasattr(world, "snapshot"):
        raise CommandError(f"{env_id} cannot be saved and forked; see `sandgym check {env_id} --wrap copy`")
    if not isinstance(world.action_space.sample(), str):
        raise CommandError(f"{env_id} does not take text actions, so it cannot be played here")
    _Session(console(), world, short_name(env_id)).run({} if chosen is None else {"task": chosen})


def _world_with(env_id: str, options: dict[str, Any], task: str | int | None, splits: Sequence[str | None]) -> Any:
    """The environment in the first of the splits (``None``: its default) that has the task."""
    problem = ""
    for split in splits:
        world = make(env_id, options | ({"split": split} if split is not None else {}))
        if task is None:
            return world
        try:
            world.reset(options={"task": task})
        except (LookupError, TypeError) as error:
            problem = problem or str(error)
        else:
            return world
    raise UsageError(problem)


@dataclasses.dataclass
class _Game:
    """One of the forks: its environment, what it last showed, and how to take actions back."""

    env: Any
    observation: str
    info: dict[str, Any]
    over: bool = False
    rewards: float = 0.0
    before: list[tuple[Snapshot, bool, float]] = dataclasses.field(default_factory=list)

    def saved(self) -> tuple[Snapshot, bool, float]:
        return self.env.snapshot(), self.over, self.rewards

    def put(self, saved: tuple[Snapshot, bool, float]) -> None:
        snapshot, self.over, self.rewards = saved
        self.observation, self.info = self.env.restore(snapshot)


class _Session:
    """The loop: read a line, do it, show the state."""

    def __init__(self, out: Console, env: Any, name: str) -> None:
        self._out, self._env, self._name = out, env, name
        self._games: list[_Game] = []
        self._present = 0
        self._names: dict[str, tuple[Snapshot, bool, float]] = {}

    def run(self, options: dict[str, Any]) -> None:
        """Play until the end of the input."""
        observation, info = self._env.reset(options=options)
        self._games = [_Game(self._env, observation, info)]
        self._out.print(Panel(Text(self._env.unwrapped.instructions.strip()), title=self._name, title_align="left"))
        self._out.print(Text(HELP, "dim"))
        self._show()
        _line_editing()
        while True:
            try:
                line = input(f"{self._name}> ").strip()
            except (EOFError, KeyboardInterrupt):
                self._out.print()
                return
            if not sys.stdin.isatty():
                self._out.print(line, markup=False)  # so that the transcript of a script can be read
            if line in ("/quit", "/exit"):
                return
            if line:
                self._do(line)

    @property
    def _game(self) -> _Game:
        return self._games[self._present]

    def _do(self, line: str) -> None:
        if not line.startswith("/"):
            self._act(line)
            return
        command, _, argument = line.partition(" ")
        handler = getattr(self, f"_on_{command[1:]}", None)
        if handler is None:
            self._complain(f"unknown command {command}; /help lists them")
        else:
            handler(argument.strip())

    def _act(self, line: str) -> None:
        game = self._game
        actions = game.info.get("admissible_actions", ())
        if line.isdecimal() and actions:
            if not 1 <= int(line) <= len(actions):
                self._complain(f"there is no action {line}; the list has {len(actions)}")
                return
            line = actions[int(line) - 1]
            self._say(line)
        saved = game.saved()
        try:
            game.observation, reward, terminated, truncated, game.info = game.env.step(line)
        except gymnasium.error.ResetNeeded:
            self._complain("the episode is over; /undo takes the last action back, /restore a snapshot, /quit leaves")
            return
        game.before.append(saved)
        game.rewards += float(reward)
        game.over = terminated or truncated
        self._show()
        if not game.info.get("action_valid", True):
            self._complain("that did nothing here, and cost a step")

    def _on_snapshot(self, name: str) -> None:
        name = name or f"s{len(self._names) + 1}"
        self._names[name] = self._game.saved()
        self._say(f"saved as {name} ({self._game.env.state_digest[:12]}); /restore {name} comes back")

    def _on_restore(self, name: str) -> None:
        if name not in self._names:
            self._complain(f"no snapshot {name!r}; there are: {', '.join(self._names) or 'none'}")
            return
        saved = self._game.saved()
        try:
            self._game.put(self._names[name])
        except SnapshotMismatch as error:
            self._complain(str(error))
            return
        self._game.before.append(saved)
        self._show()

    def _on_undo(self, argument: str) -> None:
        if not self._game.before:
            self._complain("nothing to take back")
            return
        self._game.put(self._game.before.pop())
        self._show()

    def _on_fork(self, argument: str) -> None:
        game = self._game
        (env,) = game.env.fork(1)
        self._games.append(dataclasses.replace(game, env=env, before=list(game.before)))
        self._present = len(self._games) - 1
        self._say(f"game {self._present + 1} starts here, and you are in it; /switch 1 to {len(self._games)} changes")

    def _on_switch(self, argument: str) -> None:
        if not (argument.isdecimal() and 1 <= int(argument) <= len(self._games)):
            self._complain(f"/switch takes a game's number, 1 to {len(self._games)}")
            return
        self._present = int(argument) - 1
        self._show()

    def _on_state(self, argument: str) -> None:
        for number, game in enumerate(self._games):
            mark = "*" if number == self._present else " "
            self._say(f"{mark} game {number + 1}: {_place(game)}, digest {game.env.state_digest}")
        if self._names:
            named = (f"{name} ({saved[0].digest[:12]})" for name, saved in self._names.items())
            self._say(f"  snapshots: {', '.join(named)}")

    def _on_help(self, argument: str) -> None:
        self._out.print(Text(HELP, "dim"))

    def _show(self) -> None:
        game = self._game
        text = game.observation.replace(SEPARATOR, "\n")
        title = f"{_place(game)}" if len(self._games) == 1 else f"game {self._present + 1}: {_place(game)}"
        self._out.print(Panel(Text(text), title=title, title_align="left", border_style="green" if game.over else ""))
        if game.over:
            self._say("the episode is over: /undo, /restore or /quit")
            return
        actions = game.info.get("admissible_actions", ())
        if actions:
            choices = [Text.assemble((f"{n} ", "bold"), (action, "cyan")) for n, action in enumerate(actions, 1)]
            self._out.print(Columns(choices, padding=(0, 3)))
        else:
            self._say("no list of actions here: type one as the rules above say")

    def _say(self, text: str) -> None:
        self._out.print(Text(text, "dim"), soft_wrap=True)

    def _complain(self, text: str) -> None:
        self._out.print(Text(text, "yellow"), soft_wrap=True)


def _place(game: _Game) -> str:
    info = game.info
    place = f"{info['task_id']}, step {info['step']}, reward {game.rewards:g}"
    if game.over:
        place += f", over: score {info['score']:g}, " + ("success" if info["success"] else "no success")
    return place


def _line_editing() -> None:
    """History and cursor keys, where the system has them."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  works by being imported
