"""Names that a player sees, made from the ids of a game.

Invariant: names depend on the set of ids and on the seed only. Objects, receptacles and
locations of one kind share one count, so that a name means one thing.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping

_NAME = re.compile(r"[^\s(),:]+ [0-9]+")


def display_names(ids: Iterable[str]) -> dict[str, str]:
    """Name of each id: its kind and a number that counts down in the order of the ids.

    So ``mug_bar_1`` and ``mug_bar_2`` are ``mug 2`` and ``mug 1``. An id without ``_bar_``
    is its own name, followed by a space (a quirk of the original).

    Args:
        ids: all ids of the initial facts, in lower case.
    """
    ordered = sorted(set(ids))
    left = Counter(_kind(name) for name in ordered if "_bar_" in name)
    names: dict[str, str] = {}
    for name in ordered:
        kind = _kind(name)
        if "_bar_" not in name:
            names[name] = f"{kind} "
            continue
        names[name] = f"{kind} {left[kind]}"
        left[kind] -= 1
    return names


def _kind(name: str) -> str:
    kind, bar, _ = name.partition("_bar_")
    return f"{kind}basin" if bar and "basin" in name else kind


def shuffled_names(names: Iterable[str], seed: int) -> dict[str, str]:
    """New name of each name: the numbers of each kind are dealt out anew."""
    ordered = sorted(names)
    random.Random(seed).shuffle(ordered)
    kinds: dict[str, list[str]] = {}
    for name in ordered:
        kinds.setdefault(name.partition(" ")[0], []).append(name)
    return {old: new for group in kinds.values() for old, new in zip(group, sorted(group), strict=True)}


def renumber(command: str, names: Mapping[str, str]) -> str:
    """A command with every name in it replaced."""
    return _NAME.sub(lambda found: names.get(found[0], found[0]), command)
