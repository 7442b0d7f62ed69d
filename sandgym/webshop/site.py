"""The running site: searches, pages and rewards of one world, cached and shared by its environments.

Invariant: every method is a function of its arguments and of the immutable world; the
caches are bounded and change nothing but speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sandgym.webshop import pages
from sandgym.webshop.keywords import KEYWORDS, KeywordSearch
from sandgym.webshop.navigation import State
from sandgym.webshop.pages import PAGE_SIZE, Page
from sandgym.webshop.reward import GoalFeatures, ProductFeatures, goal_features, product_features, purchase_reward
from sandgym.webshop.world import World

_CACHED_QUERY = 1000  # characters; longer ones are not kept


class Site:
    """What the environments of one world share.

    Args:
        world: products, search index and goals.
        show_attributes: whether item pages link to the Attributes page.
        compat: see ``WebShopEnv``.
    """

    def __init__(self, world: World, show_attributes: bool, compat: bool) -> None:
        self.world = world
        self._show_attributes = show_attributes
        self._compat = compat
        self._keywords = KeywordSearch(world.catalogue, compat)
        self._index = pages.index_page()
        self._cached_results = lru_cache(maxsize=4096)(self._results)
        self._results_page = lru_cache(maxsize=1024)(self._build_results_page)
        self._item_page = lru_cache(maxsize=1024)(self._build_item_page)
        self._sub_page = lru_cache(maxsize=256)(self._build_sub_page)
        self._product_features = lru_cache(maxsize=1024)(self._build_product_features)
        self._goal_features = lru_cache(maxsize=4096)(self._build_goal_features)

    def __reduce__(self) -> tuple[Any, ...]:
        return (site_of, (self.world, self._show_attributes, self._compat))

    def results(self, query: str, draw: tuple[int, ...] = ()) -> Sequence[int] | None:
        """Positions of the products that a search finds, best first; ``None`` where the original crashes."""
        return (self._cached_results if len(query) <= _CACHED_QUERY else self._results)(query, draw)

    def page(self, state: State) -> Page:
        """The page of a state."""
        if state.page == "index":
            return self._index
        if state.page == "results":
            build = self._results_page if len(state.query) <= _CACHED_QUERY else self._build_results_page
            return build(state.query, state.number, state.draw)
        if state.page == "item":
            return self._item_page(state.product)
        if state.page == "done":
            return pages.done_page(self.asin(state), dict(state.options), state.reward)
        return self._sub_page(state.product, state.page)

    def asin(self, state: State) -> str:
        """Asin of the product that a state shows; empty when it shows none."""
        return self.world.catalogue[state.product].asin if state.product >= 0 else ""

    def purchase(self, goal: int, state: State) -> tuple[float, dict[str, Any]]:
        """Reward and its parts of buying the product shown, with the options chosen."""
        return purchase_reward(
            self._product_features(state.product),
            self._goal_features(goal),
            self.world.catalogue.price(state.product),
            [value for _, value in state.options],
        )

    def _results(self, query: str, draw: tuple[int, ...]) -> Sequence[int] | None:
        if query.partition(" ")[0] in KEYWORDS:
            return self._keywords.results(query, draw)
        return self.world.index.search(query)

    def _build_results_page(self, query: str, number: int, draw: tuple[int, ...]) -> Page:
        found = self.results(query, draw) or ()
        shown = found[(number - 1) * PAGE_SIZE : number * PAGE_SIZE] if number > 0 else ()
        return pages.results_page(number, len(found), (self.world.catalogue[position] for position in shown))

    def _build_item_page(self, position: int) -> Page:
        return pages.item_page(self.world.catalogue[position], self._show_attributes)

    def _build_sub_page(self, position: int, name: str) -> Page:
        return pages.sub_page(self.world.catalogue[position], name)

    def _build_product_features(self, position: int) -> ProductFeatures:
        return product_features(self.world.catalogue[position])

    def _build_goal_features(self, index: int) -> GoalFeatures:
        goal = self.world.goals[index]
        position = self.world.catalogue.index(goal.asin)
        assert position is not None, "checked when the world was loaded"
        return goal_features(goal, self.world.catalogue[position].nouns)


@lru_cache(maxsize=16)
def site_of(world: World, show_attributes: bool, compat: bool) -> Site:
    """The process's one ``Site`` of these arguments."""
    return Site(world, show_attributes, compat)
