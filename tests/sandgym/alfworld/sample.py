"""The real games, and small invented ones."""

import functools
import tarfile
from pathlib import Path

import pytest
from hypothesis import strategies as st

from sandgym.alfworld.compiler import compile_game
from sandgym.alfworld.game import Game
from sandgym.alfworld.gamefile import parse_game
from sandgym.alfworld.state import NOTHING, State

ARCHIVE = Path(__file__).resolve().parents[4] / "shared" / "data" / "alfworld" / "json_2.1.1_sample.tar.xz"


APPLIANCES = {3: "sinkbasintype", 4: "microwavetype", 5: "fridgetype"}


@functools.cache
def real_games():
    """The shared official games: pairs of path and game, sorted by path."""
    if not ARCHIVE.is_file():
        pytest.skip(f"the real games are not in {ARCHIVE}")
    with tarfile.open(ARCHIVE) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
    return tuple(
        (name, compile_game(parse_game(content.decode())))
        for name, content in sorted(files.items())
        if name.endswith("game.tw-pddl")
    )


@st.composite
def small_games(draw):
    """Games of at most eight pairs of object and receptacle, with every oddity: shared places, things in two
    receptacles, doors, things that cannot be taken or fit nowhere, lamps that can be carried, full hands."""
    task_type = draw(st.integers(1, 6))
    objects = draw(st.integers(1 + (task_type == 6), 3))
    where = tuple(draw(st.lists(st.integers(0, 2), min_size=2, max_size=min(5, 8 // objects))))
    some = st.integers(0, 2**objects - 1)
    few = st.one_of(st.just(0), st.just(0), some)
    most = st.one_of(st.just(2**objects - 1), st.just(2**objects - 1), some)
    contents = tuple(draw(some) for _ in where)
    held = draw(st.sampled_from([NOTHING, NOTHING, *range(objects)]))
    if held != NOTHING:
        contents = tuple(mask & ~(1 << held) if draw(st.booleans()) else mask for mask in contents)
    present = [0, 0, 0]
    for mask, at in zip(contents, where, strict=True):
        present[at] |= mask
    appliance = APPLIANCES.get(task_type, "sofatype")
    kinds = [appliance, *(draw(st.sampled_from([appliance, "shelftype", "drawertype"])) for _ in where[1:])]
    start = State(
        location=draw(st.integers(0, 2)),
        held=held,
        contents=contents,
        present=tuple(present),
        taken=(0,) * len(where),
        clean=draw(few),
        cool=draw(few),
    )
    return Game(
        task="Your task is to: do it.",
        grammar=draw(st.sampled_from(["move", "put"])),
        task_type=task_type,
        wanted=draw(most),
        targets=draw(most if task_type == 2 else st.integers(1, 2 ** len(where) - 1)),
        agent="agent1 ",
        objects=tuple(f"thing {n}" for n in range(objects)),
        object_types=("knifetype",) * objects,
        receptacles=tuple(f"{kind[:-4]} {n}" for n, kind in enumerate(kinds)),
        receptacle_types=tuple(kinds),
        locations=("loc 0", "loc 1", "loc 2"),
        where=where,
        fits=tuple(draw(most) for _ in where),
        pickupable=draw(most),
        cleanable=draw(most),
        heatable=draw(most),
        coolable=draw(most),
        sliceable=0,
        toggleable=draw(most) if task_type == 2 else 0,
        holders=0,
        inside=(0,) * objects,
        openable=draw(st.integers(0, 2 ** len(where) - 1)),
        can_contain=(),
        other_facts=(),
        walkthrough=(),
        solvable=True,
        origin=tuple(start),
    )
