"""A row whose image is one of the Docker engine, from the environment's first observation to its reward."""

import contextlib
import json
import sys

import bookshop as shop
import gymnasium
import pytest
import rootfs_of_tests as rootfs

from sandgym.sandboxes import available, engine
from sandgym.swebench.pythons import test_environment as environment

NAME = "sandgym-tests-shop"
PYTEST = f"#!{rootfs.PYTHON}\nimport sys\nimport pytest\n\nsys.exit(pytest.main())\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A row in the new schema, and its image: root's, with a later state of the repository in its history."""
    if (said := available()["docker"]) != "ok":
        pytest.skip(f"the docker backend does not work here: {said}")
    folder = tmp_path_factory.mktemp("row")
    packages = f"lib/python3.{sys.version_info.minor}/site-packages"
    name = rootfs.build(
        NAME,
        {"/opt/miniconda3/envs/testbed/bin/pytest": PYTEST, "/etc/locale.gen": "# none\n"},
        {"/testbed": shop.write_checkout(folder / "testbed"), f"/usr/local/{packages}": environment() / packages},
    )
    (folder / "rows.jsonl").write_text(json.dumps(shop.record(image=name)) + "\n")
    yield {"data": folder / "rows.jsonl", "split": "test"}
    with contextlib.suppress(Exception):
        engine.api().remove_image(name, force=True)


@pytest.fixture
def env(data):
    made = gymnasium.make("sandgym/SWEbenchVerified-v0", **data)
    yield made
    made.close()


def test_nothing_earns_0_and_the_solution_1(env):
    _, info = env.reset(seed=0)
    assert info["backend"] == "docker"
    assert env.step(shop.SUBMIT)[1] == 0.0
    env.reset()
    assert env.step("id -u; cat shop/prices.py | head -1")[0] == "returncode: 0\n0\ndef total(prices):\n"
    env.step(shop.FIX)
    _, reward, terminated, _, info = env.step(shop.SUBMIT)
    assert (reward, terminated, info["resolved"], info["tampered"]) == (1.0, True, True, ())


def test_states_are_saved_restored_and_forked(env):
    env.reset(seed=0)
    start, saved = env.unwrapped.state_digest, env.unwrapped.snapshot()
    env.step(f"{shop.FIX}; echo de_DE >> /etc/locale.gen")
    (fork,) = env.unwrapped.fork(1)
    assert fork.state_digest == env.unwrapped.state_digest != start
    env.unwrapped.restore(saved)
    assert env.unwrapped.state_digest == start
    assert env.step(shop.SUBMIT)[1] == 0.0
    assert fork.step(shop.SUBMIT)[1] == 1.0
    fork.close()


def test_a_container_that_vanishes_truncates_the_episode(data):
    env = gymnasium.make("sandgym/SWEbenchVerified-v0", on_failure="truncate", **data)
    with contextlib.closing(env):
        env.reset(seed=0)
        engine.api().remove_container(env.unwrapped.sandbox._container.id, force=True)
        _, reward, terminated, truncated, info = env.step("ls")
        assert (reward, terminated, truncated) == (0.0, False, True)
        assert info["infra_error"].startswith("SandboxLost: ")
        env.reset()
        assert env.step("ls")[4]["returncode"] == 0


def test_what_root_does_outside_the_repository_is_not_graded(env):
    env.reset(seed=0)
    packages = "/usr/local/lib/*/site-packages"
    env.step(
        f"for f in {packages}/_pytest/*.py; do echo 'raise SystemExit(0)' > $f; done; rm -rf /usr/local/lib/*/json"
    )
    _, reward, _, _, info = env.step(shop.SUBMIT)
    assert reward == 0.0
    assert info["tampered"]
