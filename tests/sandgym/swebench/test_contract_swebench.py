"""The contract on the shop: the conformance check, other processes, threads, forks, vectors."""

import functools
from typing import Any

import bookshop as shop
import gymnasium
import pytest
from contract import Env, check_again, check_resume, check_siblings, check_threads, record

from sandgym import check_snapshottable_env
from sandgym.conformance.fresh import FreshProcess

SCRIPT = [
    "cd shop && export WORD=one && ls -a ..",
    "git status --short; cat prices.py; false",
    "echo '# comment' >> prices.py; mkdir -p deep/empty; ln -s prices.py link; chmod 600 __init__.py; rm ../notes.txt",
    "git add -A .. && git commit -qm change && git log --oneline && git stash list",
    "cd .. && python -m pytest -q tests; python -c 'print(hash(str()), object(), set(str(1234)))'",
    f"{shop.FIX}; echo $WORD > ~/home.txt; (sleep 50 &) ; git diff --stat",
    shop.SUBMIT,
]


def build(data: dict[str, Any], backend: str) -> Env:
    return gymnasium.make("sandgym/SWEbenchVerified-v0", backend=backend, max_steps=9, **data)  # type: ignore[return-value]


def test_conformance(shop_data, backend):
    env = build(shop_data, backend)
    check_snapshottable_env(env, actions=[*SCRIPT[2:4], SCRIPT[5]], episodes=1)
    env.close()


def test_conformance_on_random_commands(shop_data, quick):
    env = build(shop_data, quick)
    check_snapshottable_env(env, episodes=2, max_steps=3)
    env.close()


def test_episodes_go_on_anywhere(shop_data, backend):
    here = functools.partial(build, shop_data, backend)
    env, used = here(), here()
    with FreshProcess(here) as process:
        episode = record(env, 5, None, SCRIPT, lambda choice, info: choice)
        assert episode.played.results[-1].terminated
        assert episode.played.results[-1].reward == 1.0
        check_again(used, process, episode)
        for step in (3, len(SCRIPT) - 1):
            check_resume([used], process, episode, step)
        check_siblings(env, episode, 4, 2, [0, 2, 1, 1, 2, 0])
    for each in (env, used):
        each.close()


def test_digests_are_the_same_on_every_backend(shop_data):
    from sandgym.sandboxes import available

    working = [name for name in ("copy", "overlay") if available()[name] == "ok"]
    if len(working) < 2:
        pytest.skip(f"there is only {working}")
    seen = []
    for backend in working:
        env = build(shop_data, backend)
        seen.append(record(env, 5, None, SCRIPT, lambda choice, info: choice).played.digests)
        env.close()
    assert seen[0] == seen[1]


def test_threads(shop_data, quick):
    here = functools.partial(build, shop_data, quick)
    script = SCRIPT[:3]
    check_threads(here, [record(here(), seed, None, script, lambda choice, info: choice) for seed in range(3)])


@pytest.mark.parametrize("vectorization_mode", ["sync", "async"])
def test_vector_environments_see_what_single_ones_see(shop_data, quick, vectorization_mode):
    kwargs = {"backend": quick, "max_steps": 9, **shop_data}
    vector = gymnasium.make_vec(
        "sandgym/SWEbenchVerified-v0", num_envs=2, vectorization_mode=vectorization_mode, **kwargs
    )
    single = build(shop_data, quick)
    try:
        observations, _ = vector.reset(seed=[5, 6])
        assert list(observations) == [single.reset(seed=5)[0]] * 2
        for action in SCRIPT[:3]:
            observations, *_ = vector.step((action, action))
            assert list(observations) == [single.step(action)[0]] * 2
    finally:
        vector.close()
        single.close()


def test_the_bundled_tasks(quick):
    env = gymnasium.make("sandgym/SWEbenchVerified-v0", backend=quick, split="dev", max_steps=5)
    inner = env.unwrapped
    with_others = {split: gymnasium.make(env.spec.id, backend=quick, split=split) for split in ("train", "test")}
    ids = {split: set(other.unwrapped.task_ids) for split, other in with_others.items()} | {"dev": set(inner.task_ids)}
    assert sum(map(len, ids.values())) == len(set.union(*ids.values())) >= 200
    check_snapshottable_env(env, actions=["ls", "git log --oneline", "python -m unittest; echo >> README"], episodes=1)
    env.reset(options={"task": 0})
    row = inner.row
    assert env.step(f"git apply <<'END_OF_PATCH'\n{row.patch}END_OF_PATCH")[4]["returncode"] == 0
    assert env.step(shop.SUBMIT)[1] == 1.0
    assert inner.task_hash(row.instance_id) == row.hash
    assert inner.data_hash == inner._world.split("dev").key
    env.close()
