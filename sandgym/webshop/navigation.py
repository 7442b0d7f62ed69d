"""How the shopper moves through the site: states and the moves between them.

Invariant: ``move`` is a pure function of a state, its page and the action; it returns
``None`` for an action that does nothing.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from sandgym.webshop.pages import BACK, BUY, NEXT, PREVIOUS, SEARCH, SUB_PAGES, Page, parse_action

BASE_URL = "http://127.0.0.1:3000"
_URL_NAMES = ("search_results", "item_page", "item_sub_page", "done")
_PAGE_NAMES = {"index": "", "results": "search_results", "item": "item_page", "done": "done"}


class State(NamedTuple):
    """Where the shopper is, as immutable values.

    Attributes:
        page: name of the page (see ``pages.Page``).
        query: the last search, lower-cased.
        number: page number of its results.
        draw: what seeds a random result list; empty where nothing is random.
        product: position of the product shown, -1 for none.
        visited: asins of the products opened since the search bar was last shown.
        options: chosen (name, value) pairs, in the order in which names were first chosen.
        reward: of the purchase; 0 before it.
        history: the last (observation, action) pairs, where observations repeat them.
    """

    page: str = "index"
    query: str = ""
    number: int = 0
    draw: tuple[int, ...] = ()
    product: int = -1
    visited: frozenset[str] = frozenset()
    options: tuple[tuple[str, str], ...] = ()
    reward: float = 0.0
    history: tuple[tuple[str, str], ...] = ()


class Open(NamedTuple):
    """The product of this asin is to be shown."""

    asin: str


def move(state: State, page: Page, action: str, address: str | None = None) -> State | Open | None:
    """Where an action leads; ``None`` when it does nothing.

    A result on page ``done`` is a purchase whose reward the caller fills in, and a new
    result on page ``results`` is a search that the caller runs.

    Args:
        state: the present state.
        page: its page.
        action: what the agent wrote.
        address: the page's address, where routing must follow it as the original does.
    """
    parsed = parse_action(action)
    if parsed is None:
        return None
    name, argument = parsed
    if name == "search":
        return _results(state, argument, 1)
    if name != "click" or argument == SEARCH or argument not in page.targets:
        return None
    here = _PAGE_NAMES.get(state.page, "item_sub_page") if address is None else _name_in(address)
    return _click(state, page, argument, here)


def _click(state: State, page: Page, name: str, here: str) -> State | Open:
    if name == BUY:
        return state._replace(page="done")
    if name == BACK:
        return State(draw=state.draw, history=state.history)
    if name == NEXT and here == "search_results":
        return _results(state, state.query, state.number + 1)
    if name == PREVIOUS:
        if here == "search_results":
            return _results(state, state.query, state.number - 1)
        if here == "item_sub_page":
            return state._replace(page="item")
        if here == "item_page":
            return _results(state, state.query, state.number)
    if name in SUB_PAGES:
        return state._replace(page=name)
    kind, value = page.targets[name]
    if kind == "link":
        return Open(value)
    return state._replace(page="item", options=tuple({**dict(state.options), value: name}.items()))


def _results(state: State, query: str, number: int) -> State:
    return state._replace(page="results", query=query, number=number, product=-1, options=())


def _name_in(address: str) -> str:
    """The original's guess: the first page name that occurs anywhere in the address."""
    return next((name for name in _URL_NAMES if name in address), "")


def url(state: State, session: str, asin: str) -> str:
    """Address of a state's page, unquoted as the original writes it."""
    words = state.query.replace(" ", "+")
    options = dict(state.options)
    if state.page == "index":
        return f"{BASE_URL}/{session}"
    if state.page == "results":
        return f"{BASE_URL}/search_results/{session}/{words}/{state.number}"
    if state.page == "item":
        return f"{BASE_URL}/item_page/{session}/{asin}/{words}/{state.number}/{json.dumps(options)}"
    if state.page == "done":
        return f"{BASE_URL}/done/{session}/{asin}/{options}"
    return f"{BASE_URL}/item_sub_page/{session}/{asin}/{words}/{state.number}/{SUB_PAGES[state.page]}/{options}"
