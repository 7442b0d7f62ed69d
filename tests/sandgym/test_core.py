"""``digest_of`` tells values apart and nothing else; ``Snapshot`` is immutable."""

import dataclasses
import hashlib
import math
import os
import pickle
import struct
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ladder import LadderEnv

import sandgym
from sandgym.core import Snapshot, digest_of, reject_unknown


@dataclasses.dataclass(frozen=True)
class Point:
    x: Any
    y: Any = 0


@dataclasses.dataclass(frozen=True)
class Vector:
    x: Any
    y: Any = 0


class Pair(NamedTuple):
    x: Any
    y: Any


DIFFERENT: list[Any] = [
    None,
    False,
    True,
    0,
    1,
    -1,
    10,
    0.0,
    -0.0,
    1.0,
    math.nan,
    math.inf,
    -math.inf,
    5e-324,
    "",
    "1",
    "10",
    "a",
    "\ud800",
    "é",
    "e\u0301",
    b"",
    b"a",
    (),
    ((),),
    ((), ()),
    (1,),
    (1, 0),
    (0, 1),
    ((1,), 0),
    ("a", "b"),
    ("ab",),
    ("a,b",),
    {},
    {"a": 1},
    {"a": 2},
    {"b": 1},
    {"a": {"b": 1}},
    (("a", 1),),
    frozenset(),
    frozenset({1}),
    frozenset({1, 2}),
    frozenset({"1", "2"}),
    frozenset({(1, 2)}),
    Point(1),
    Point(1, 1),
    Vector(1),
    Point(Point(1)),
    np.array(1),
    np.array([1]),
    np.array([[1]]),
    np.array([1], dtype=np.int32),
    np.array([1.0]),
    np.array([True]),
    np.array([], dtype=np.int64),
    np.array([1, 2, 3, 4]),
    np.array([[1, 2], [3, 4]]),
    np.array([[1, 3], [2, 4]]),
    np.array(["a"]),
]


def test_different_values_have_different_digests() -> None:
    assert len({digest_of(value) for value in DIFFERENT}) == len(DIFFERENT)
    assert len({digest_of(value, "end") for value in DIFFERENT} | {digest_of("end")}) == len(DIFFERENT) + 1


def test_parts_are_not_run_together() -> None:
    assert len({digest_of("a", "b"), digest_of("ab"), digest_of(("a", "b")), digest_of("a", "b", ())}) == 4


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}),
        ({"z", "y", "x"}, frozenset(["x", "y", "z"])),
        ({1: 0, "1": 0, None: 0}, {None: 0, "1": 0, 1: 0}),
        ([1, [2]], (1, (2,))),
        (Pair(1, 2), (1, 2)),
        (np.int64(7), 7),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (math.nan, struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]),
        (np.arange(6).reshape(2, 3).T, np.ascontiguousarray(np.arange(6).reshape(2, 3).T)),
    ],
)
def test_equal_values_have_one_digest(one: Any, two: Any) -> None:
    assert digest_of(one) == digest_of(two)


@pytest.mark.parametrize("value", [object(), len, bytearray(), 1j, iter(()), np.array([None]), [{"a": {object()}}]])
def test_values_without_a_canonical_encoding_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="no canonical encoding for"):
        digest_of(value)


def test_encoding_by_hand() -> None:
    encoded = b"(3:" + b"i2:42" + b"s3:\xc3\xa9!" + b"{1:" + b"(2:" + b"s1:kN"
    assert digest_of((42, "é!", {"k": None})) == hashlib.sha256(encoded).hexdigest()


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(plain, plain)
def test_digests_are_equal_exactly_when_values_are(one: Any, two: Any) -> None:
    # repr tells 1, 1.0 and True apart, as the digest does; dictionaries in key order.
    assert (digest_of(one) == digest_of(two)) == (ordered(one) == ordered(two))
    assert digest_of(pickle.loads(pickle.dumps(one))) == digest_of(one)


def ordered(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{key!r}:{ordered(value[key])}" for key in sorted(value)) + "}"
    return "(" + ",".join(map(ordered, value)) + ")" if isinstance(value, tuple) else repr(value)


def test_digest_is_the_same_in_another_process() -> None:
    code = "from sandgym.core import digest_of; print(digest_of({'a': frozenset('xyz'), 'b': 1.5}))"
    environ = dict(os.environ, PYTHONHASHSEED="77", PYTHONPATH=os.pathsep.join(sys.path))
    answer = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == digest_of({"b": 1.5, "a": frozenset("zyx")})


def test_snapshot_is_immutable_and_goes_by_its_digest() -> None:
    one, two = Snapshot("world", (1, "a"), ("seen", {})), Snapshot("world", (1, "a"), ("seen", {}))
    assert one == two
    assert len({one, two}) == 1
    assert one != Snapshot("elsewhere", (1, "a"), ("seen", {}))
    assert one != Snapshot("world", (2, "a"), ("seen", {}))
    assert one != "world"
    assert repr(one) == f"Snapshot({one.digest[:12]})"
    for name in ("world", "state", "last", "_digest", "new"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(one, name, 0)
    copy = pickle.loads(pickle.dumps(one))
    assert (copy.world, copy.state, copy.last, copy.digest) == (one.world, one.state, one.last, one.digest)


def test_state_digest_is_the_snapshot_s(ladder: LadderEnv) -> None:
    ladder.reset(seed=0)
    assert ladder.state_digest == ladder.snapshot().digest


def test_no_expert_is_said(ladder: LadderEnv) -> None:
    with pytest.raises(sandgym.core.gymnasium.error.Error, match="LadderEnv has no expert"):
        ladder.expert()


def test_reject_unknown_lists_both() -> None:
    reject_unknown(["a"], ["a", "b"], "thing")
    with pytest.raises(TypeError, match="unknown thing 'c', 'd'; known: a, b"):
        reject_unknown({"d": 1, "a": 2, "c": 3}, ("b", "a"), "thing")
