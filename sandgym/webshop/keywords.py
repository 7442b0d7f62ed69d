"""Searches that list products by a field: ``<r>``, ``<q> query``, ``<c> category``, ``<a> attribute``.

Invariant: the same words give the same products, at most 50 of them in catalogue order,
and never an error. Under ``compat`` the original's lists come back: not cut to 50,
``<r>`` drawn again for every page, and nothing at all where the original crashes.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from sandgym.webshop.products import Catalogue

RESULTS = 50
KEYWORDS = frozenset({"<r>", "<q>", "<c>", "<a>"})


class KeywordSearch:
    """The keyword searches of one catalogue.

    Args:
        catalogue: what is searched. The first ``<q>``, ``<c>`` or ``<a>`` reads it through once.
        compat: whether to imitate the original (see the module).
    """

    def __init__(self, catalogue: Catalogue, compat: bool) -> None:
        self._catalogue = catalogue
        self._compat = compat

    def results(self, query: str, draw: tuple[int, ...]) -> Sequence[int] | None:
        """Positions for a query whose first word is in ``KEYWORDS``; ``None``: the original crashes."""
        keyword, *words = query.split(" ")
        if keyword == "<r>":
            return self._random(query, draw)
        if self._compat and (keyword == "<a>" or (keyword == "<c>" and not words)):
            return None
        wanted = words[0] if keyword == "<c>" and words else " ".join(words)
        return self._table.get((keyword, wanted.strip()), ())

    def _random(self, query: str, draw: tuple[int, ...]) -> Sequence[int] | None:
        size = len(self._catalogue)
        if self._compat and size < RESULTS:
            return None
        rng = random.Random(repr((query, draw)))
        return tuple(rng.sample(range(size), min(RESULTS, size)))

    @cached_property
    def _table(self) -> dict[tuple[str, str], list[int]]:
        table: dict[tuple[str, str], list[int]] = defaultdict(list)
        for position in range(len(self._catalogue)):
            product = self._catalogue[position]
            keys = [("<q>", product.query), ("<c>", product.category)]
            if not self._compat:
                keys += [("<a>", attribute.lower()) for attribute in dict.fromkeys(product.attributes)]
            for key in keys:
                found = table[key]
                if self._compat or (len(found) < RESULTS and position not in found[-1:]):
                    found.append(position)
        return dict(table)
