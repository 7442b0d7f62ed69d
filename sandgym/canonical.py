"""Canonical form of any picklable Python value, so that equal states hash equally.

Invariant: the form depends on values, types and sharing only; never on addresses, on
the order of sets and dictionaries, or on the process. It is made of what
``core.digest_of`` accepts.
"""

from __future__ import annotations

import enum
import types
from typing import Any

import numpy as np

from sandgym.core import digest_of

_ATOMS = (bool, int, float, str, bytes, np.bool_, np.integer, np.floating)
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType)


def canonical(value: Any) -> Any:
    """A nested tuple of plain values that stands for ``value``.

    Objects count by class name and by the state that pickle would save; NumPy
    generators by their bit generator's state; code by its qualified name. An object
    met a second time, as in a cycle, becomes a reference to the first meeting.

    Raises:
        TypeError: an object has no state that could be saved (an open file, a lock).
    """
    try:
        return _Walk().visit(value)
    except RecursionError:
        raise TypeError("the value is nested too deeply for a canonical form") from None


def canonical_digest(value: Any) -> str:
    """SHA-256 (hexadecimal) of ``canonical(value)``."""
    return digest_of(canonical(value))


class _Walk:
    """One traversal; numbers the mutable objects in the order in which it meets them."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # an address must not be reused while we walk

    def visit(self, value: Any) -> Any:
        if value is None or type(value) in _ATOMS:
            return value
        if isinstance(value, enum.Enum):
            return ("enum", _name(type(value)), value.name)
        if isinstance(value, type):
            return ("type", _name(value))
        if isinstance(value, _CODE):
            return ("code", _name(value))
        if isinstance(value, np.generic):
            return value if isinstance(value, _ATOMS) else ("scalar", value.dtype.str, value.tobytes())
        if isinstance(value, tuple):
            return ("tuple", _name(type(value)), *map(self.visit, value))
        if isinstance(value, frozenset):
            return ("set", _name(type(value)), frozenset(map(canonical, value)))
        if id(value) in self._seen:
            return ("seen", self._seen[id(value)])
        self._seen[id(value)] = len(self._seen)
        self._alive.append(value)
        return self._visit_mutable(value)

    def _visit_mutable(self, value: Any) -> Any:
        if type(value) is list:
            return ("list", *map(self.visit, value))
        if type(value) is dict:
            return ("dict", self._items(value.items()))
        if type(value) is set:
            return ("set", _name(set), frozenset(map(canonical, value)))
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, types.MethodType):
            return ("method", self.visit(value.__self__), value.__name__)
        if isinstance(value, np.random.Generator):
            return ("generator", self.visit(value.bit_generator))
        if isinstance(value, np.random.BitGenerator):
            seeds = value.seed_seq
            return (
                "bit generator",
                self.visit(value.state),
                self.visit(seeds.state) if isinstance(seeds, np.random.SeedSequence) else None,
            )
        return self._object(value)

    def _array(self, value: np.ndarray[Any, Any]) -> Any:
        if value.dtype.hasobject:
            return ("objects", value.shape, *map(self.visit, value.ravel().tolist()))
        return ("array", value.dtype.str, value.shape, np.ascontiguousarray(value).tobytes())

    def _object(self, value: Any) -> Any:
        try:
            reduced = value.__reduce_ex__(4)
        except Exception as error:
            raise TypeError(f"a {_name(type(value))} has no state that could be saved: {error}") from error
        if isinstance(reduced, str):
            return ("global", _name(type(value)), reduced)
        self._alive.append(reduced)
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        return (
            "object",
            _name(type(value)),
            self.visit(make),
            self.visit(arguments),
            self.visit(state),
            tuple(map(self.visit, items or ())),
            self._items(pairs or ()),
        )

    def _items(self, pairs: Any) -> Any:
        """Values in an order that is the same whatever the order of insertion."""
        keyed = sorted(((canonical(key), value) for key, value in pairs), key=lambda pair: digest_of(pair[0]))
        return tuple((key, self.visit(value)) for key, value in keyed)


def _name(thing: Any) -> str:
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', type(thing).__qualname__)}"
