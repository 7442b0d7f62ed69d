"""WebShop as an environment: shop on a simulated site until the right product is bought.

Invariant: an episode is a function of the world, the options and the actions; the texts,
actions and rewards equal the original's, except where ``WebShopEnv`` lists a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sandgym.core import Expert, digest_of, reject_unknown
from sandgym.memory import InMemoryEnv, Outcome
from sandgym.webshop import pages, templates
from sandgym.webshop.goals import Goal
from sandgym.webshop.navigation import Open, State, move, url
from sandgym.webshop.products import Catalogue
from sandgym.webshop.site import Site, site_of
from sandgym.webshop.world import load_world

OBSERVATION_MODES = ("text", "text_rich", "html", "url")
INSTRUCTIONS = """\
You are shopping in a web store. Find the product that the instruction describes, choose the options it asks for, \
and buy it below the price it names.
Each turn, answer with one action:
search[words] - search the store for these words.
click[name] - click a button, a product id or an option on the present page, written as the page shows it \
(upper and lower case do not matter), such as click[Next >], click[< Prev], click[Back to Search] or click[Buy Now].
"Buy Now" ends the episode. The reward, from 0 to 1, is the part of the instruction that the purchase fulfils."""
_KNOWN = (
    *("data", "split", "goals", "observation_mode", "max_steps", "compat", "show_attributes"),
    *("previous_observations", "previous_actions", "session_prefix", "price_seed", "render_mode"),
)


class TaskIds(Sequence[str]):
    """``goal-<index>`` for a range of goal indices."""

    def __init__(self, indices: range) -> None:
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return [f"goal-{index}" for index in self.indices[position]]
        return f"goal-{self.indices[position]}"

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Position of a task id; ``ValueError`` when it is not here."""
        digits = str(value).removeprefix("goal-")
        if not (digits.isascii() and digits.isdigit() and value == f"goal-{int(digits)}"):
            raise ValueError(f"{value!r} is not a task of this split")
        return self.indices.index(int(digits))


class WebShopEnv(InMemoryEnv):
    """The WebShop benchmark (Yao et al., 2022) as a snapshottable environment.

    Actions are ``search[words]`` and ``click[name]``; anything else costs a step and
    changes nothing. ``search`` works on every page, as in the original. The episode ends
    with ``click[buy now]``, whose reward is in [0, 1]; success is a reward of exactly 1.

    ``info`` adds ``data``, ``has_search_bar``, ``clickables`` (both as the original lists
    them), ``admissible_actions`` (``click[...]`` of every clickable that does something;
    none on the page with the search bar), ``action_valid`` (whether the last action did
    something; true after a reset) and, after a purchase, ``reward_details``.

    Defects of the original, mended by default and present with ``compat=True``:

    * A reset without a task draws by goal weight. The original is off by one: the first
      goal is never drawn and each other goal has its predecessor's weight.
    * ``< prev`` goes by the page shown. The original looks for page names anywhere in the
      address, so that a query such as ``item_page shoes`` leads astray.
    * ``<r>``, ``<q>``, ``<c>`` and ``<a>`` as first search word list at most 50 products, the
      same ones each time. In the original ``<r>`` draws again on every page, ``<q>`` and
      ``<c>`` lists have no end, and ``<a>``, a bare ``<c>`` and ``<r>`` in a catalogue of
      under 50 products crash; here those do nothing under ``compat``.
    * The end is the end. In the original ``search`` starts anew after a purchase, and a
      second purchase pays again.

    Unseeded prices, leaking sessions and stale flags of the original are not reproduced:
    ``price_seed`` gives every price table that it could have drawn.

    Args:
        data: ``"bundled"``, ``"official"`` or a folder (see ``world.load_world``).
        split: ``"train"``, ``"dev"``, ``"test"`` or ``"all"`` (see ``goals.split_ranges``).
        goals: ``"synthetic"`` or ``"human"``.
        observation_mode: ``"text"``, ``"text_rich"``, ``"html"`` or ``"url"``.
        max_steps: actions after which the episode is truncated; the original has no limit.
        compat: reproduce the defects above.
        show_attributes: link the Attributes page (it shows what the reward compares).
        previous_observations: how many earlier observations stand before the present one.
        previous_actions: how many of the last actions stand between them.
        session_prefix: put before the goal's index in addresses.
        price_seed: of prices and price limits that the data does not fix (see ``world.load_world``).
        render_mode: ``"ansi"`` or nothing.

    Raises:
        TypeError: an unknown argument.
        ValueError: an unknown value of ``split``, ``goals`` or ``observation_mode``.
        SandboxError: missing or damaged data, or a catalogue built with another ``price_seed``.
    """

    instructions = INSTRUCTIONS
    metadata = {**InMemoryEnv.metadata, "case_sensitive": False}  # noqa: RUF012  Gymnasium's own convention
    reward_version = "webshop-1"

    def __init__(
        self,
        data: str | Path = "bundled",
        split: str = "train",
        goals: str = "synthetic",
        observation_mode: str = "text",
        max_steps: int = 15,
        compat: bool = False,
        show_attributes: bool = False,
        previous_observations: int = 0,
        previous_actions: int = 0,
        session_prefix: str = "",
        price_seed: int = 0,
        render_mode: str | None = None,
        **unknown: Any,
    ) -> None:
        reject_unknown(unknown, _KNOWN, "WebShop argument")
        if observation_mode not in OBSERVATION_MODES:
            raise ValueError(f"unknown observation_mode {observation_mode!r}; known: {', '.join(OBSERVATION_MODES)}")
        if min(previous_observations, previous_actions) < 0:
            raise ValueError("previous_observations and previous_actions must not be negative")
        self._world = load_world(data, goals, price_seed)
        if split not in self._world.splits:
            raise ValueError(f"unknown split {split!r}; known: {', '.join(self._world.splits)}")
        self._indices = self._world.splits[split]
        if not self._indices:
            raise ValueError(f"split {split!r} of {len(self._world.goals)} goals is empty; use split='all'")
        self._task_ids = TaskIds(self._indices)
        self._split = split
        self._weights: np.ndarray[Any, Any] | None = None
        self._mode = observation_mode
        self._compat = self.plays_on = compat
        self._shown = (previous_observations, previous_actions)
        self._prefix = session_prefix
        self._site = site_of(self._world, show_attributes, compat)
        options = (split, observation_mode, max_steps, compat, show_attributes, *self._shown, session_prefix)
        super().__init__(f"sandgym/WebShop-v0 {self._world.key} {options!r}", max_steps, render_mode)

    @property
    def data(self) -> str:
        """Which data set is played: ``"bundled"``, ``"official"`` or a folder."""
        return self._world.data

    @property
    def catalogue(self) -> Catalogue:
        """The products."""
        return self._world.catalogue

    @property
    def goals(self) -> Sequence[Goal]:
        """All goals, of every split, by index."""
        return self._world.goals

    @property
    def goal_index(self) -> int:
        """Index of the present episode's goal in ``goals``."""
        return self._indices[self._present().task]

    @property
    def goal(self) -> Goal:
        """The goal of the present episode."""
        return self._world.goals[self.goal_index]

    @property
    def site(self) -> Site:
        """Searches, pages and rewards, as functions of a state."""
        return self._site

    @property
    def state(self) -> State:
        """Where the shopper is."""
        state: State = self._present().state
        return state

    @property
    def task_ids(self) -> Sequence[str]:
        """``goal-<index>`` for each goal of the split."""
        return self._task_ids

    def task_index(self, task_id: str) -> int:
        """See ``InMemoryEnv.task_index``."""
        try:
            return self._task_ids.index(task_id)
        except ValueError:
            raise KeyError(task_id) from None

    @property
    def data_hash(self) -> str:
        """Hash of the data set's content, the same on every machine."""
        return self._world.key

    def task_hash(self, task_id: str) -> str:
        """Hash of a task's goal, of the product that it was made from and of its price; ``KeyError`` for others."""
        goal = self._world.goals[self._indices[self.task_index(task_id)]]
        position = self.catalogue.index(goal.asin)
        assert position is not None, "checked when the world was loaded"
        return digest_of(goal, self.catalogue[position], self.catalogue.price(position))

    def expert(self, *, noise: float = 0.0, seed: int = 0) -> Expert:
        """See ``SnapshottableEnv.expert``."""
        from sandgym.webshop.expert import WebShopExpert

        return WebShopExpert(self, noise, seed)

    def _draw_task(self, rng: np.random.Generator) -> int:
        if self._weights is None:
            self._weights = self._world.cumulative_weights(self._split)
        sums = self._weights
        drawn = int(np.searchsorted(sums, rng.random() * sums[-1], side="right")) + (1 if self._compat else 0)
        return min(drawn, len(sums) - 1)

    def _begin(self, task: int, rng_key: tuple[int, int]) -> State:
        return State(draw=(*rng_key, 0)) if self._compat else _START

    def _advance(self, task: int, state: State, action: str) -> tuple[State, Outcome]:
        page = self._site.page(state)
        address = self._url(task, state) if self._compat else None
        following = move(state, page, action, address)
        outcome = _VALID
        if isinstance(following, Open):
            following = self._open(state, following.asin)
        elif following is not None and following.page == "results":
            following = self._search(following)
        elif following is not None and following.page == "done":
            following, outcome = self._buy(task, following)
        if following is None:
            following, outcome = state, _INVALID
        if any(self._shown):
            said = (self._page_text(task, state), action)
            following = following._replace(history=(*state.history, said)[-max(self._shown) :])
        return following, outcome

    def _open(self, state: State, asin: str) -> State:
        position = self._world.catalogue.index(asin)
        assert position is not None, "the results list products of the catalogue"
        return state._replace(page="item", product=position, visited=state.visited | {asin})

    def _search(self, state: State) -> State | None:
        if state.draw:
            state = state._replace(draw=(*state.draw[:-1], state.draw[-1] + 1))
        return None if self._site.results(state.query, state.draw) is None else state

    def _buy(self, task: int, state: State) -> tuple[State, Outcome]:
        reward, _ = self._site.purchase(self._indices[task], state)
        return state._replace(reward=reward), Outcome(reward, True, reward == 1.0, reward)

    def _observe(self, task: int, state: State) -> tuple[str, dict[str, Any]]:
        page = self._site.page(state)
        observation = self._page_text(task, state)
        if state.history:
            observation = self._with_history(observation, state.history)
        info = {
            "data": self._world.data,
            "admissible_actions": page.actions,
            "has_search_bar": page.has_search_bar,
            "clickables": page.clickables,
            "action_valid": True,
        }
        if state.page == "done":
            info["reward_details"] = self._site.purchase(self._indices[task], state)[1]
        return observation, info

    def _page_text(self, task: int, state: State) -> str:
        if self._mode == "url":
            return self._url(task, state)
        page = self._site.page(state)
        instruction = self._world.goals[self._indices[task]].instruction_text
        if self._mode == "text":
            return pages.text(page, instruction)
        if self._mode == "text_rich":
            return pages.text_rich(page, instruction, self._url(task, state), state.visited)
        return templates.html(page, instruction)

    def _with_history(self, observation: str, history: tuple[tuple[str, str], ...]) -> str:
        observations, actions = self._shown
        parts = [observation]
        for back, (seen, said) in enumerate(reversed(history), start=1):
            parts += [said] * (back <= actions) + [seen] * (back <= observations)
        return pages.SEPARATOR.join(reversed(parts))

    def _url(self, task: int, state: State) -> str:
        return url(state, f"{self._prefix}{self._indices[task]}", self._site.asin(state))


_START = State()
_VALID = Outcome()
_INVALID = Outcome(extra={"action_valid": False})
