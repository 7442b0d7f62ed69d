"""What changes while a game is played.

Invariant: a state is an immutable value of integers; two states that are equal have the
same future in the same game. Sets of objects or receptacles are bit masks over their
indices in ``Game``.
"""

from __future__ import annotations

from typing import NamedTuple

NOTHING = -1


class State(NamedTuple):
    """One moment of a game.

    Attributes:
        location: index of the agent's location.
        held: index of the object in the agent's hands, or ``NOTHING``.
        contents: for each receptacle, the objects in or on it (``inReceptacle``).
        present: for each location, the objects said to be there (``objectAtLocation``).
        taken: for each receptacle, the objects that were taken from it and not put back; the
            floor listing needs them (the original remembers a deleted ``inReceptacle``).
        opened: open receptacles.
        clean: objects that were cleaned.
        hot: hot objects.
        cool: cool objects.
        sliced: sliced objects.
        toggled: objects that were switched on at some time.
        naming: seed of the numbers in names (domain randomization), or ``NOTHING``.
    """

    location: int
    held: int
    contents: tuple[int, ...]
    present: tuple[int, ...]
    taken: tuple[int, ...]
    opened: int = 0
    clean: int = 0
    hot: int = 0
    cool: int = 0
    sliced: int = 0
    toggled: int = 0
    naming: int = NOTHING
