"""The contract as properties, on small environments of each kind: by hand, in memory, copied, replayed."""

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import pytest
from contract import Env, check_again, check_resume, check_siblings, check_threads, record
from corridor import CorridorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from ladder import LadderEnv

from sandgym.conformance.fresh import FreshProcess
from sandgym.wrappers import DeepCopySnapshots, ReplaySnapshots


def copied() -> Env:
    return DeepCopySnapshots(gymnasium.make("FrozenLake-v1"))


def replayed() -> Env:
    return ReplaySnapshots(gymnasium.make("FrozenLake-v1"))


@pytest.fixture(scope="module", params=[LadderEnv, CorridorEnv, copied, replayed])
def kind(request: Any) -> Iterator[tuple[Callable[[], Env], list[Env], FreshProcess]]:
    make = request.param
    with FreshProcess(make) as process:
        yield make, [make(), make()], process


def choose(choice: int, info: dict[str, Any]) -> Any:
    actions = info.get("admissible_actions", (0, 1, 2, 3))
    return actions[choice % len(actions)]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), choices=st.lists(st.integers(0, 3), max_size=14), data=st.data())
def test_contract(kind: Any, seed: int, choices: list[int], data: Any) -> None:
    _, (env, used), process = kind
    episode = record(env, seed, None, choices, choose)
    step = data.draw(st.integers(0, len(episode.actions)), label="step")
    check_again(used, process, episode)
    check_resume([env, used], process, episode, step)
    k = data.draw(st.integers(1, 3), label="k")
    check_siblings(env, episode, step, k, data.draw(st.lists(st.integers(0, k), max_size=20), label="turns"))


def test_threads(kind: Any) -> None:
    make, (env, _), _ = kind
    check_threads(make, [record(env, seed, None, range(12), choose) for seed in range(3)])
