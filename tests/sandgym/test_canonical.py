"""Equal states have one canonical form, different states have two."""

import collections
import enum
import io
import random
import threading
from typing import Any

import numpy as np
import pytest

from sandgym.canonical import canonical_digest


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Node:
    def __init__(self, value: Any, below: Any = None) -> None:
        self.value, self.below = value, below


def generator(seed: int, draws: int = 0) -> np.random.Generator:
    rng = np.random.default_rng(seed)
    rng.random(draws)
    return rng


DIFFERENT: list[Any] = [
    None,
    0,
    False,
    0.0,
    -0.0,
    "",
    b"",
    (),
    [],
    {},
    set(),
    frozenset(),
    [1, 2],
    (1, 2),
    [2, 1],
    {1: 2},
    {1, 2},
    Colour.RED,
    Colour.BLUE,
    Colour,
    Node(1),
    Node(2),
    Node(1, Node(1)),
    Node,
    len,
    [].append,
    collections.deque([1, 2]),
    collections.deque([1, 2], maxlen=2),
    collections.OrderedDict({1: 2}),
    np.array([1, 2]),
    np.array([1.0, 2.0]),
    np.array([[1], [2]]),
    np.array([1, "2"], dtype=object),
    np.complex128(1),
    generator(0),
    generator(1),
    generator(0, 1),
    random.Random(0),
    random.Random(1),
]


def test_different_values_have_different_forms() -> None:
    digests = [canonical_digest(value) for value in DIFFERENT]
    assert len(set(digests)) == len(DIFFERENT)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
        ({"x", "y", "z"}, {"z", "y", "x"}),
        (Node(1, Node([2])), Node(1, Node([2]))),
        (generator(3, 5), generator(3, 5)),
        (np.array([None, "a"], dtype=object), np.array([None, "a"], dtype=object)),
        (np.arange(6).reshape(2, 3).T, np.ascontiguousarray(np.arange(6).reshape(2, 3).T)),
    ],
)
def test_equal_values_have_one_form(one: Any, two: Any) -> None:
    assert canonical_digest(one) == canonical_digest(two)


def test_sharing_is_part_of_the_state() -> None:
    shared = [1]
    assert canonical_digest([shared, shared]) == canonical_digest([shared, shared])
    assert canonical_digest([shared, shared]) != canonical_digest([[1], [1]])


def test_cycles_end() -> None:
    def ring(value: int) -> Node:
        one = Node(value)
        one.below = Node(2, one)
        return one

    assert canonical_digest(ring(1)) == canonical_digest(ring(1))
    assert canonical_digest(ring(1)) != canonical_digest(ring(3))


def test_what_cannot_be_saved_is_refused() -> None:
    for value in (threading.Lock(), io.TextIOWrapper(io.BytesIO()), (i for i in ())):
        with pytest.raises(TypeError, match="no state that could be saved"):
            canonical_digest([value])
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(TypeError, match="too deeply"):
        canonical_digest(deep)
