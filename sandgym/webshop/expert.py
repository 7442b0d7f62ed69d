"""A demonstrator for WebShop: perfect, or with the slips that people make.

Invariant: an action is a function of (seed, noise, task, step, state). The expert keeps
nothing between calls, so that it plays on from any state that an environment is put in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import gymnasium

from sandgym.core import digest_of
from sandgym.draws import Draw
from sandgym.webshop.navigation import State
from sandgym.webshop.pages import PAGE_SIZE
from sandgym.webshop.reward import matches, normalized_option, processed

if TYPE_CHECKING:
    from sandgym.webshop.env import WebShopEnv

_PRICE_LIMIT = re.compile(r",? and price lower than [\d.]+ dollars$")


class Plan(NamedTuple):
    """The best way to buy a product: what it would earn, and the options to choose."""

    reward: float
    exact: bool
    options: tuple[tuple[str, str], ...]


class WebShopExpert:
    """Searches with words of the instruction, opens the best product, chooses its options, buys.

    It may look inside the environment: it knows the goal and what each purchase would earn.
    Actions are written as the page shows them (``click[B0...]``, ``click[Buy Now]``).

    Args:
        env: the environment that it plays in.
        noise: 0 plays perfectly. Otherwise the demonstrator is in haste: it searches once, for the
            instruction's own words, buys the best product of the first page, and with this probability
            leaves out a word of the query or skips an option that the goal names.
        seed: of the slips.

    Raises:
        ValueError: ``noise`` is not in [0, 1].
    """

    slipped = False  # what it leaves out is no action

    def __init__(self, env: WebShopEnv, noise: float = 0.0, seed: int = 0) -> None:
        if not 0 <= noise <= 1:
            raise ValueError(f"noise is a probability, not {noise}")
        self._env = env
        self._noise = noise
        self._seed = seed
        self._found: dict[tuple[str, str], list[tuple[int, Plan]]] = {}

    def act(self) -> str:
        """The next action in the environment's present state.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset, and after a purchase.
        """
        state = self._env.state
        if state.page == "index":
            return f"search[{self._query()}]"
        if state.page == "results":
            return self._choose_product(state)
        if state.page == "item":
            return self._use_product(state)
        if state.page == "done":
            raise gymnasium.error.ResetNeeded("the episode is over; call reset()")
        return "click[< Prev]"

    # Searching.

    def _query(self) -> str:
        if not self._noise:
            return self._best_query()[1]
        wish = _PRICE_LIMIT.sub("", self._env.goal.instruction_text.lower())
        draw = self._draw("query")
        kept = [word for word in re.sub("[,:]", "", wish).split() if not draw.chance(self._noise)]
        return _clean(" ".join(kept)) or _clean(self._env.goal.query)

    def _queries(self) -> Iterator[str]:
        """Queries from the plainest to the most specific, their words in the order of the instruction."""
        goal = self._env.goal
        text = goal.instruction_text.lower()
        options = goal.goal_options
        values = tuple(options.values()) if isinstance(options, dict) else options
        plain = sorted((*goal.attributes, goal.query), key=lambda part: text.find(part) % (len(text) + 1))
        for parts in (plain, (*plain, *values[:1]), (*plain, *values), (text,), (goal.name, *values)):
            yield _clean(" ".join(parts))

    def _best_query(self) -> tuple[tuple[float, bool], str]:
        """The first of the queries that promise most, and what it promises."""
        best = ((-1.0, False), "")
        for query in self._queries():
            promise = self._promise(query)
            if promise > best[0]:
                best = (promise, query)
            if promise == (1.0, True):
                break
        return best

    def _promise(self, query: str) -> tuple[float, bool]:
        """What a query's best product earns, and whether the first page shows it."""
        results = self._results(query)
        if not results:
            return 0.0, False
        best = self._best(results)
        return results[best][1].reward, best < PAGE_SIZE

    # On a results page.

    def _choose_product(self, state: State) -> str:
        results = self._results(state.query)
        if not results:
            return "click[Back to Search]"
        first = (state.number - 1) * PAGE_SIZE
        shown = range(first, min(first + PAGE_SIZE, len(results)))
        best = first + self._best(results[first : shown.stop]) if self._noise else self._best(results)
        if not self._content(3) and results[best][1].reward < self._attainable():
            return "click[Back to Search]"
        if best in shown:
            return f"click[{self._env.catalogue[results[best][0]].asin}]"
        if best > first:
            return "click[Next >]"
        far = first - best > 2 * PAGE_SIZE  # searching again is shorter
        return "click[Back to Search]" if far else "click[< Prev]"

    def _results(self, query: str) -> list[tuple[int, Plan]]:
        """Positions of the products that a query finds, and how to buy each."""
        key = (self._task(), query)
        if key not in self._found:
            if len(self._found) > 64:
                self._found.clear()
            found = self._env.site.results(query, self._env.state.draw) or ()
            self._found[key] = [(position, self._plan(position)) for position in found]
        return self._found[key]

    @staticmethod
    def _best(results: Sequence[tuple[int, Plan]]) -> int:
        """Place of the first of the products that earn most, those with the very options first."""
        return max(range(len(results)), key=lambda place: (results[place][1][:2], -place))

    def _attainable(self) -> float:
        """The most that a sensible query leads to."""
        return self._best_query()[0][0]

    # On an item page.

    def _use_product(self, state: State) -> str:
        plan = self._plan(state.product)
        if not self._content(4 + len(plan.options)) and plan.reward < self._attainable():
            return "click[< Prev]"
        chosen = dict(state.options)
        for name, value in plan.options:
            skipped = self._draw("skip", state.product, name, step=False).chance(self._noise)
            if chosen.get(name) != value and not skipped and not self._hurried(2):
                return f"click[{value}]"
        return "click[Buy Now]"

    def _plan(self, position: int) -> Plan:
        """Options of a product that meet the goal's, in page order, and the reward of buying it so."""
        offered = self._env.catalogue[position].options
        asked = self._env.goal.goal_options
        wishes = list(asked.items()) if isinstance(asked, dict) else [("", value) for value in asked]
        chosen: dict[str, str] = {}
        exact = True
        for name, wish in wishes:
            if (group := name if wish in offered.get(name, ()) else _holder(offered, wish)) is not None:
                chosen.setdefault(group, wish)
                continue
            exact = False
            group, value = _similar(offered, name, wish)
            if group is not None:
                chosen.setdefault(group, value)
        options = tuple((name, chosen[name]) for name in offered if name in chosen)
        purchase = State(page="item", product=position, options=options)
        reward, _ = self._env.site.purchase(self._env.goal_index, purchase)
        return Plan(reward, exact, options)

    # What decisions depend on.

    def _task(self) -> str:
        return f"goal-{self._env.goal_index}"

    def _content(self, actions: int) -> bool:
        """Whether the best at hand is taken although there is better: by haste, or with too few actions left."""
        return self._noise > 0 or self._hurried(actions)

    def _hurried(self, actions: int) -> bool:
        """Whether fewer than this many actions are left."""
        step: int = self._env.snapshot().state.step
        return self._env.max_steps - step < actions

    def _draw(self, *name: object, step: bool = True) -> Draw:
        """Draws for one decision; with ``step=False`` the same ones throughout an episode."""
        episode = self._env.snapshot().state
        present = digest_of(episode.step, episode.state) if step else ""
        return Draw("expert", self._seed, self._task(), *name, present)


def _clean(query: str) -> str:
    """A query without brackets, which would end the action."""
    return " ".join(query.replace("[", " ").replace("]", " ").split())


def _holder(offered: dict[str, tuple[str, ...]], value: str) -> str | None:
    """The option group that has this very value."""
    return next((name for name, values in offered.items() if value in values), None)


def _similar(offered: dict[str, tuple[str, ...]], name: str, wish: str) -> tuple[str | None, str]:
    """Group and value that the reward takes for the wish, if there is one."""
    wanted = processed(str((name, wish))) if name else normalized_option(wish)
    for group, values in offered.items():
        for value in values:
            if matches(normalized_option(value), wanted):
                return group, value
    return None, ""
