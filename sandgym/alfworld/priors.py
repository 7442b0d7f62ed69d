"""Where things tend to be: a small table, estimated from training games.

Invariant: weights are integers of at least 1, for every pair of words, known or not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from sandgym.alfworld.game import Game, bits

TABLE = Path(__file__).with_name("priors.json")
LEAST = 5
"""Weight of a pair that no training game has."""
_DOUBT = 3
"""How many receptacles without the thing are added to those that were counted."""


def weight(thing: str, receptacle: str) -> int:
    """How often a receptacle of a kind has a thing of a kind in it, in thousandths, in rooms with such a thing.

    Args:
        thing: as names say it, such as ``mug``.
        receptacle: as names say it, such as ``sinkbasin``.
    """
    return _table().get(thing, {}).get(receptacle, LEAST)


def estimate(games: Iterable[Game]) -> dict[str, dict[str, int]]:
    """The table, thing -> receptacle -> weight, of some games; ``priors.json`` is that of a sample of 120
    of the official training games, 20 of each task type.

    A weight is ``1000 * n / (m + 3)``, where ``m`` receptacles of the kind are in games that have the
    thing and ``n`` of them have it in them at the start. Pairs of ``LEAST`` or less are left out.
    """
    found: Counter[tuple[str, str]] = Counter()
    offered: Counter[tuple[str, str]] = Counter()
    for game in games:
        receptacles = [kind(name) for name in game.receptacles]
        inside = [{kind(game.objects[thing]) for thing in bits(mask)} for mask in game.start.contents]
        for thing in set().union(*inside):
            offered.update((thing, receptacle) for receptacle in receptacles)
            found.update((thing, place) for place, things in zip(receptacles, inside, strict=True) if thing in things)
    table: dict[str, dict[str, int]] = {}
    for (thing, receptacle), count in sorted(found.items()):
        value = 1000 * count // (offered[thing, receptacle] + _DOUBT)
        if value > LEAST:
            table.setdefault(thing, {})[receptacle] = value
    return table


def kind(name: str) -> str:
    """``mug`` of ``mug 2``."""
    return name.partition(" ")[0]


@cache
def _table() -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table
