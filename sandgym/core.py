"""The contract: an environment whose whole state can be saved, restored and forked.

Invariant: the future of a snapshottable environment is a function of its snapshot
and of the actions that follow. Two environments of equal ``state_digest`` give the
same observations, rewards and digests for the same actions, in every process and on
every machine.
"""

from __future__ import annotations

import abc
import dataclasses
import hashlib
import math
import struct
from collections.abc import Iterable, Mapping
from typing import Any, Generic, Protocol, Self, TypeVar

import gymnasium
import numpy as np

ObsT = TypeVar("ObsT")
ActT = TypeVar("ActT")


class SandboxError(gymnasium.error.Error):
    """The infrastructure failed (disk, container, missing data); never a reward of zero."""


class SnapshotMismatch(gymnasium.error.Error):
    """A snapshot was given to an environment that it does not belong to."""


class Snapshot:
    """Everything that an environment's future depends on, at one moment.

    Immutable, picklable, and resumable in another process by any environment built
    with the same arguments. Equality and hash are those of ``digest``.

    Attributes:
        world: identity of what never changes while an environment lives: data set,
            version and the options that shape the dynamics.
        state: what changes; immutable values only.
        last: the ``(observation, info)`` that the last reset or step returned.
    """

    __slots__ = ("_digest", "last", "state", "world")

    world: str
    state: Any
    last: tuple[Any, dict[str, Any]]
    _digest: str | None

    def __init__(self, world: str, state: Any, last: tuple[Any, dict[str, Any]]) -> None:
        set_ = object.__setattr__
        set_(self, "world", world)
        set_(self, "state", state)
        set_(self, "last", last)
        set_(self, "_digest", None)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Snapshot is immutable; cannot set {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.world, self.state, self.last))

    @property
    def digest(self) -> str:
        """SHA-256 of world and state, in hexadecimal; computed on first use."""
        if self._digest is None:
            object.__setattr__(self, "_digest", digest_of(self.world, self.state))
        assert self._digest is not None
        return self._digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Snapshot({self.digest[:12]})"


class Expert(Protocol):
    """A policy that may look inside the environment it was made for.

    Attributes:
        slipped: whether the last action is one that a learner should see but not imitate: a deliberate mistake,
            or one that rests on what the observations do not tell.
    """

    slipped: bool

    def act(self) -> Any:
        """The next action in the environment's present state."""


class SnapshottableEnv(gymnasium.Env[ObsT, ActT], abc.ABC, Generic[ObsT, ActT]):
    """A Gymnasium environment with ``snapshot``, ``restore`` and ``fork``.

    ``instructions`` tells an agent the rules and the action format. With the
    observation it is all that an agent needs to play.

    ``info`` always has ``task_id`` (str), ``step`` (int, actions since the reset),
    ``success`` (bool) and ``score`` (float in [0, 1]); ``admissible_actions`` (tuple
    of str) where the environment knows them. ``metadata`` may say ``case_sensitive`` (whether
    capitals in actions matter) and ``runs_processes`` (whether a step waits for other processes,
    so that many environments are worth stepping at once, from threads).
    """

    instructions: str = ""

    @abc.abstractmethod
    def snapshot(self) -> Snapshot:
        """Save the present state. Does not change it.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset.
        """

    @abc.abstractmethod
    def restore(self, snapshot: Snapshot) -> tuple[ObsT, dict[str, Any]]:
        """Go to a saved state; returns what the reset or step that led to it returned.

        Raises:
            SnapshotMismatch: the snapshot is of another environment, data set or option.
        """

    @abc.abstractmethod
    def fork(self, k: int) -> list[Self]:
        """``k`` environments at this very state that share no future with this one.

        Raises:
            ValueError: ``k`` is negative.
            gymnasium.error.ResetNeeded: before the first reset.
        """

    @property
    def state_digest(self) -> str:
        """SHA-256 of the whole state, in hexadecimal; the same on every machine."""
        return self.snapshot().digest

    def expert(self, *, noise: float = 0.0, seed: int = 0) -> Expert:
        """A demonstrator for this environment, where there is one.

        Args:
            noise: 0 plays perfectly; 1 makes every kind of human slip it knows.
            seed: of the slips.
        """
        raise gymnasium.error.Error(f"{type(self).__name__} has no expert")


def reject_unknown(given: Mapping[str, Any] | Iterable[str], known: Iterable[str], what: str) -> None:
    """Raise ``TypeError`` naming the unknown ``what`` and listing the known ones."""
    known = sorted(known)
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise TypeError(f"unknown {what} {', '.join(map(repr, unknown))}; known: {', '.join(known)}")


def digest_of(*parts: Any) -> str:
    """SHA-256 (hexadecimal) of a canonical encoding of immutable values.

    Accepts ``None``, bool, int, float, str, bytes, tuples, lists, mappings (in key
    order), sets, dataclasses and NumPy arrays and scalars. Encodings are typed and
    length-prefixed, so that different values never share one, except that a list counts
    as a tuple, a set as a frozenset, a NumPy scalar as the Python number, and every NaN
    as one; 0.0 and -0.0 differ.

    Raises:
        TypeError: a value of any other type, whose encoding could vary.
    """
    out: list[bytes] = []
    for part in parts:
        _encode(part, out)
    return hashlib.sha256(b"".join(out)).hexdigest()


def _encode(value: Any, out: list[bytes]) -> None:
    if value is None:
        out.append(b"N")
    elif isinstance(value, bool | np.bool_):
        out.append(b"T" if value else b"F")
    elif isinstance(value, int | np.integer):
        _tagged(b"i", str(int(value)).encode(), out)
    elif isinstance(value, float | np.floating):
        out.append(b"f" + struct.pack("<d", float(value) if value == value else math.nan))
    elif isinstance(value, str):
        _tagged(b"s", value.encode("utf-8", "surrogatepass"), out)
    elif isinstance(value, bytes):
        _tagged(b"b", value, out)
    elif isinstance(value, tuple | list):
        out.append(b"(%d:" % len(value))
        for item in value:
            _encode(item, out)
    elif isinstance(value, Mapping):
        _encode_unordered(b"{", [(key, value[key]) for key in value], out)
    elif isinstance(value, frozenset | set):
        _encode_unordered(b"<", list(value), out)
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:  # else its bytes would be addresses
        _tagged(b"a", value.dtype.str.encode() + str(value.shape).encode(), out)
        _tagged(b"b", np.ascontiguousarray(value).tobytes(), out)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        _tagged(b"d", type(value).__qualname__.encode(), out)
        for field in dataclasses.fields(value):
            _encode(getattr(value, field.name), out)
    else:
        raise TypeError(f"no canonical encoding for {type(value).__name__}")


def _tagged(tag: bytes, payload: bytes, out: list[bytes]) -> None:
    out.append(tag + b"%d:" % len(payload) + payload)


def _encode_unordered(tag: bytes, items: list[Any], out: list[bytes]) -> None:
    encoded = []
    for item in items:
        chunk: list[bytes] = []
        _encode(item, chunk)
        encoded.append(b"".join(chunk))
    out.append(tag + b"%d:" % len(encoded))
    out.extend(sorted(encoded))
