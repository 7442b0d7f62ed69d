"""Texts as members of a space, and on their way through shared memory."""

import copy

import pytest
from corridor import CorridorEnv
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

from sandgym.text import UnicodeText


def test_takes_every_script_and_empty_texts() -> None:
    space = UnicodeText(max_length=3)
    assert "né☺" in space
    assert "" in space
    assert "four" not in space
    assert 3 not in space


def test_each_environment_has_its_own_sampler() -> None:
    one, two = CorridorEnv(), CorridorEnv()
    one.action_space.seed(1)
    first = [one.action_space.sample() for _ in range(4)]
    one.action_space.seed(1)
    two.action_space.seed(2)
    assert [one.action_space.sample() for _ in range(4)] == first


def test_shared_memory_returns_what_was_written_last() -> None:
    space = UnicodeText(max_length=5)
    memory = create_shared_memory(space, n=3)
    live = read_from_shared_memory(space, memory, n=3)
    assert copy.deepcopy(live) == ("", "", "")
    for index, text in [(0, "first"), (1, "\U0001f600" * 5), (2, "\ud800é"), (0, "no")]:
        write_to_shared_memory(space, index, text, memory)
    kept = copy.deepcopy(live)
    assert kept == ("no", "\U0001f600" * 5, "\ud800é")
    assert live[-1] == "\ud800é"
    assert live[:2] == kept[:2]
    write_to_shared_memory(space, 2, "", memory)
    assert list(live) == [*kept[:2], ""]
    with pytest.raises(ValueError, match="6 characters is longer than the space's 5"):
        write_to_shared_memory(space, 0, "longer", memory)
    with pytest.raises(IndexError):
        live[3]
