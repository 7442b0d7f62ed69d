"""The state of a Gymnasium environment, taken out of it and put into another one like it.

Invariant: a layer (the environment or one of the wrappers around it) is its class, its
constants (spec, functions, the layer below) and its other attributes; only the last are
state. They are pickled together, so that what is shared between layers stays shared.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import pickle
import types
from typing import Any, NamedTuple

import gymnasium
from gymnasium.wrappers import PassiveEnvChecker, RecordEpisodeStatistics

from sandgym.canonical import canonical
from sandgym.core import Snapshot, digest_of

Gym = gymnasium.Env[Any, Any]

_CONSTANT = frozenset({"spec", "_cached_spec", "_saved_kwargs"})
_VIEWER_MODULES = frozenset({"pygame", "pyglet", "glfw", "OpenGL", "tkinter"})
# Saved and restored, but no part of any result: the clock, past episodes, warnings given once.
_NOT_IN_DIGEST = {
    RecordEpisodeStatistics: frozenset(
        {"episode_start_time", "time_queue", "return_queue", "length_queue", "episode_count"}
    ),
    PassiveEnvChecker: frozenset(
        {"checked_reset", "checked_step", "checked_render", "checked_data_reuse", "close_called", "_previous_data"}
    ),
}


class _Layer(NamedTuple):
    """Stands for a layer that an attribute refers to."""

    number: int


@dataclasses.dataclass(frozen=True)
class FrozenLayers:
    """Attributes of all layers, outermost first, as one pickle.

    Attributes:
        classes: of the layers.
        pickled: a list of dictionaries; layers and windows are persistent references.
    """

    classes: tuple[type, ...]
    pickled: bytes

    def canonical(self) -> Any:
        """What the digest is made of."""
        states = _Unpickler(self.pickled, [_Layer(number) for number in range(len(self.classes))]).load()
        return canonical(
            [
                {name: value for name, value in state.items() if value is not None and name not in _neutral(kind)}
                for kind, state in zip(self.classes, states, strict=True)
            ]
        )


class CanonicalSnapshot(Snapshot):
    """A snapshot whose state is a tuple of any values; the digest is of their canonical form."""

    __slots__ = ()

    @property
    def digest(self) -> str:
        """SHA-256 of world and state, in hexadecimal; computed on first use."""
        if self._digest is None:
            parts = [part.canonical() if isinstance(part, FrozenLayers) else canonical(part) for part in self.state]
            object.__setattr__(self, "_digest", digest_of(self.world, *parts))
        assert self._digest is not None
        return self._digest


def layers_of(env: Gym) -> list[Gym]:
    """The wrappers, outermost first, and last the environment itself."""
    layers = [env]
    while isinstance(layers[-1], gymnasium.Wrapper):
        layers.append(layers[-1].env)
    return layers


def freeze(env: Gym) -> FrozenLayers:
    """Save the state of ``env``; an open window counts as none.

    Raises:
        TypeError: an attribute cannot be pickled.
    """
    layers = layers_of(env)
    buffer = io.BytesIO()
    states = [
        {name: None if _is_viewer(value) else value for name, value in vars(layer).items() if _is_state(layer, name)}
        for layer in layers
    ]
    try:
        _Pickler(buffer, layers).dump(states)
    except Exception as error:
        raise TypeError(f"the state of {env} cannot be pickled ({error}); use ReplaySnapshots") from error
    return FrozenLayers(tuple(map(type, layers)), buffer.getvalue())


def thaw(frozen: FrozenLayers, env: Gym) -> None:
    """Put a saved state into ``env``, which must have the same layers; its windows stay open."""
    layers = layers_of(env)
    states = _Unpickler(frozen.pickled, layers).load()
    for layer, state in zip(layers, states, strict=True):
        kept = {
            name: value
            for name, value in vars(layer).items()
            if not _is_state(layer, name) or (_is_viewer(value) and state.get(name) is None)
        }
        vars(layer).clear()
        vars(layer).update(state, **kept)


def empty_copy(env: Gym) -> Gym:
    """The same layers with their constants and no state; to be thawed into."""
    below: Gym | None = None
    for layer in reversed(layers_of(env)):
        clone = object.__new__(type(layer))
        vars(clone).update({name: value for name, value in vars(layer).items() if not _is_state(layer, name)})
        if below is not None:
            vars(clone)["env"] = below
        below = clone
    assert below is not None
    return below


def _is_state(layer: Gym, name: str) -> bool:
    if name == "env" and isinstance(layer, gymnasium.Wrapper):
        return False
    return name not in _CONSTANT and not isinstance(vars(layer)[name], types.FunctionType)


def _is_viewer(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_viewer, value))
    return _of_viewer_module(type(value).__module__)


@functools.cache
def _of_viewer_module(module: str) -> bool:
    return module.partition(".")[0] in _VIEWER_MODULES


def _neutral(kind: type) -> frozenset[str]:
    return frozenset().union(*(names for base, names in _NOT_IN_DIGEST.items() if issubclass(kind, base)))


class _Pickler(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, layers: list[Gym]) -> None:
        super().__init__(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        self._indices = {id(layer): index for index, layer in enumerate(layers)}

    def persistent_id(self, obj: Any) -> tuple[str, int] | None:
        if id(obj) in self._indices:
            return "layer", self._indices[id(obj)]
        return ("viewer", 0) if _of_viewer_module(type(obj).__module__) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, pickled: bytes, layers: list[Any]) -> None:
        super().__init__(io.BytesIO(pickled))
        self._layers = layers

    def persistent_load(self, pid: tuple[str, int]) -> Any:
        kind, index = pid
        return self._layers[index] if kind == "layer" else None
