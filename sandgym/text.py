"""The space of observations and actions that are text, for single and vector environments.

Invariant: any Python string that is short enough is a member and crosses the shared
memory of ``gymnasium.vector.AsyncVectorEnv`` unchanged.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from typing import Any

from gymnasium import spaces
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

MAX_TEXT = 1_000_000
_LENGTH_BYTES = 4


class UnicodeText(spaces.Text):
    """Any Python string of at most ``max_length`` characters, whatever the script."""

    def __init__(self, max_length: int = MAX_TEXT, seed: int | None = None) -> None:
        super().__init__(max_length, min_length=0, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a string that is short enough."""
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A short random string; uniform over long ones would be noise of no use."""
        length = int(self.np_random.integers(1, 16))
        return "".join(self.np_random.choice(list(self.character_list), size=length))


def _slot(space: UnicodeText) -> int:
    return _LENGTH_BYTES + 4 * space.max_length  # UTF-8 takes at most four bytes a character


@create_shared_memory.register(UnicodeText)
def _create(space: UnicodeText, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array("B", n * _slot(space))


class SharedTexts(Sequence[str]):
    """The texts that are in shared memory now; a deep copy is the tuple of them.

    ``AsyncVectorEnv`` reads its memory once, and after that copies what it read.
    """

    def __init__(self, space: UnicodeText, memory: Any, n: int) -> None:
        self._space, self._memory, self._n = space, memory, n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(self._n)[index])
        start = range(0, self._n * _slot(self._space), _slot(self._space))[index] + _LENGTH_BYTES
        memory = memoryview(self._memory.get_obj()).cast("B")
        length = int.from_bytes(memory[start - _LENGTH_BYTES : start], "little")
        return str(memory[start : start + length], "utf-8", "surrogatepass")

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


@read_from_shared_memory.register(UnicodeText)
def _read(space: UnicodeText, shared_memory: Any, n: int = 1) -> SharedTexts:
    return SharedTexts(space, shared_memory, n)


@write_to_shared_memory.register(UnicodeText)
def _write(space: UnicodeText, index: int, value: str, shared_memory: Any) -> None:
    if len(value) > space.max_length:
        raise ValueError(f"a text of {len(value)} characters is longer than the space's {space.max_length}")
    encoded = value.encode("utf-8", "surrogatepass")
    data = len(encoded).to_bytes(_LENGTH_BYTES, "little") + encoded
    start = index * _slot(space)
    memoryview(shared_memory.get_obj()).cast("B")[start : start + len(data)] = data
