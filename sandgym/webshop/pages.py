"""Pages of the site as lists of text nodes, and the three texts made from them.

Invariant: ``Page`` holds what does not depend on the shopper (no instruction, no click
marks), so that one copy serves every episode; the node lists are those that an HTML
parser finds in the original's pages, so ``text`` and ``text_rich`` equal the original's.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from sandgym.webshop.products import Product

SEPARATOR = " [SEP] "
PAGE_SIZE = 10
BACK, PREVIOUS, NEXT, BUY, SEARCH = "back to search", "< prev", "next >", "buy now", "search"
SUB_PAGES = {"description": "Description", "features": "Features", "reviews": "Reviews", "attributes": "Attributes"}
_SPACE = " \t\n\f\r"
_SCRIPT_SAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"})


class Node(NamedTuple):
    """One text node; ``name`` is an option's group, for labels."""

    kind: Literal["plain", "button", "label", "link"]
    text: str
    name: str = ""


class Target(NamedTuple):
    """What a clickable is: a plain button, a product (``value`` its asin) or an option (``value`` its group)."""

    kind: Literal["button", "link", "label"]
    value: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """One page without its instruction.

    Attributes:
        name: ``index``, ``results``, ``item``, a key of ``SUB_PAGES`` or ``done``.
        nodes: text nodes after the instruction, those included that show nothing.
        text: the nodes in text mode, joined.
        targets: clickable name to what it is, in the order in which they are listed.
        clickables: the names, as the original lists them.
        actions: ``click[...]`` of every clickable that the action grammar can reach.
    """

    name: str
    nodes: tuple[Node, ...]
    text: str
    targets: dict[str, Target]
    clickables: tuple[str, ...]
    actions: tuple[str, ...]

    @property
    def has_search_bar(self) -> bool:
        """Whether the page shows the search bar."""
        return self.name == "index"


def parse_action(action: str) -> tuple[str, str] | None:
    r"""Name and lower-cased argument of ``name[argument]``; ``None`` for anything else.

    Equal to ``re.match(r"(.+)\\[(.+)\\]", action)`` in linear time: first line only, text
    after the last bracket ignored.
    """
    line = action.partition("\n")[0]
    close = line.rfind("]")
    opening = line.rfind("[", 1, close - 1) if close > 2 else -1
    return None if opening < 0 else (line[:opening], line[opening + 1 : close].lower())


def index_page() -> Page:
    """The page with the search bar."""
    return _page("index", [Node("button", "Search")])


def results_page(number: int, total: int, products: Iterable[Product]) -> Page:
    """Page ``number`` of the results, with the products that stand on it."""
    nodes = [Node("button", "Back to Search"), Node("plain", f"Page {number} (Total results: {total})")]
    if number > 1:
        nodes.append(Node("button", "< Prev"))
    nodes.append(Node("button", "Next >"))
    for product in products:
        nodes += [Node("link", product.asin), Node("plain", product.title), Node("plain", product.price_text)]
    return _page("results", nodes)


def item_page(product: Product, show_attributes: bool) -> Page:
    """The page of one product, its options and its buttons."""
    nodes = [Node("button", "Back to Search"), Node("button", "< Prev")]
    for name, values in product.options.items():
        nodes.append(Node("plain", name))
        nodes += [Node("label", value, name) for value in values]
    nodes += [
        Node("plain", product.title),
        Node("plain", f"Price: {product.price_text}"),
        Node("plain", "Rating: N.A."),
    ]
    shown = list(SUB_PAGES.values())[: 4 if show_attributes else 3]
    nodes += [Node("button", text) for text in (*shown, "Buy Now")]
    return _page("item", nodes)


def sub_page(product: Product, name: str) -> Page:
    """Description, Features, Reviews (always empty) or Attributes of a product."""
    contents: tuple[str, ...] = {
        "description": (product.description,),
        "features": tuple(f" {line}" for line in product.bullets),
        "reviews": (),
        "attributes": (
            *(f" {attribute}" for attribute in product.attributes),
            product.category,
            product.query,
            product.product_category,
        ),
    }[name]
    buttons = [Node("button", "Back to Search"), Node("button", "< Prev")]
    return _page(name, buttons + [Node("plain", text) for text in contents])


def done_page(asin: str, options: dict[str, str], reward: float) -> Page:
    """The page after a purchase; its fixed words are the original's."""
    bought = json.dumps(options, sort_keys=True).translate(_SCRIPT_SAFE)
    texts = [
        "Thank you for shopping with us!",
        *("Your code: ", "None", " (Paste it in your MTurk interface.)"),
        *("Purchased", "asin", asin, "options", bought, "attrs", "None", "category", "None", "query", "None"),
        *("product category", "None", "Target", "asin", "options", "attrs", "price upper", "instuction text"),
        *("category", "product category", "query", "Goal ", "None", "Reward"),
        *("Your score (min 0.0, max 1.0)", str(reward), "Reward Details ", "None"),
    ]
    return _page("done", [Node("plain", text) for text in texts])


def instruction_nodes(page: str, instruction: str) -> tuple[Node, ...]:
    """What stands above a page's own nodes."""
    if page == "done":
        return ()
    if page == "index":
        head: tuple[Node, ...] = (Node("plain", "WebShop"), Node("plain", "Instruction: "))
    else:
        head = (Node("plain", "Instruction:"),)
    return (*head, *_visible([Node("plain", instruction)]))


def text(page: Page, instruction: str) -> str:
    """The page in observation mode ``text``."""
    head = [node.text.strip() for node in instruction_nodes(page.name, instruction)]
    return SEPARATOR.join([*head, page.text])


def text_rich(page: Page, instruction: str, url: str, visited: frozenset[str]) -> str:
    """The page in observation mode ``text_rich``; a label counts as clicked when ``url`` quotes it."""
    lines, clicked = [], []
    for kind, value, _ in (*instruction_nodes(page.name, instruction), *_visible(page.nodes)):
        if kind == "button":
            line = f"[button] {value} [button_]"
        elif kind == "label" and f'"{value}"' in url:
            line = f"  [clicked button] {value} [clicked button_]"
            clicked.append(f"You have clicked {value}.\n")
        elif kind == "label":
            line = f"  [button] {value} [button_]"
        elif kind == "link":
            mark = "clicked button" if value in visited else "button"
            line = f"\n[{mark}] {value} [{mark}_]"
        else:
            line = value
        lines.append(line + "\n")
    return "".join((*reversed(clicked), *lines))


def _page(name: str, nodes: Sequence[Node]) -> Page:
    targets: dict[str, Target] = {}
    for kind in ("button", "link", "label"):
        for node in nodes:
            if node.kind == kind:
                key = node.text if kind == "label" else node.text.lower()
                targets[key] = _target(node)
    actions = tuple(f"click[{key}]" for key in targets if _reachable(key))
    shown = SEPARATOR.join(node.text.strip() for node in _visible(nodes))
    return Page(name, tuple(nodes), shown, targets, tuple(targets), actions)


def _target(node: Node) -> Target:
    if node.kind == "link":
        return Target("link", node.text)
    return Target("label", node.name) if node.kind == "label" else Target("button")


def _reachable(key: str) -> bool:
    return key != SEARCH and parse_action(f"click[{key}]") == ("click", key)


def _visible(nodes: Iterable[Node]) -> Iterator[Node]:
    """Nodes that a parser reports: no empty ones; white space is a line break (not shown) or one blank."""
    for node in nodes:
        if not node.text:
            continue
        if node.text.strip(_SPACE):
            yield node
        elif "\n" not in node.text:
            yield node._replace(text=" ")
