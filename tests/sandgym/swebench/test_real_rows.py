"""Eight rows of SWE-bench Verified on their real repositories: nothing earns 0, the reference solution 1."""

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections import OrderedDict
from pathlib import Path

import bookshop as shop
import gymnasium
import pytest
import releases
from shared import real

from sandgym.sandboxes import available, reaper
from sandgym.swebench.judge import Judge
from sandgym.swebench.verdict import verdict

ROWS = (
    "pallets__flask-5014",
    "django__django-16454",
    "django__django-16493",
    "django__django-16502",
    "django__django-16527",
    "django__django-16569",
    "django__django-16595",
    "django__django-16642",
)


@pytest.fixture(scope="module")
def data(new_rows, tmp_path_factory):
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the rows need Python 3.11, which names their tests as they do")
    listed = json.loads(real("runnable_from_sdists.json").read_text())
    assert sorted(item["instance_id"] for item in listed) == sorted(ROWS)
    return releases.write_data(listed, new_rows, tmp_path_factory.mktemp("rows"))


def play(env, task, *commands):
    """What submitting earns after some commands."""
    env.reset(options={"task": task})
    for command in commands:
        assert env.step(command)[4]["returncode"] == 0
    _, reward, terminated, _, info = env.step(shop.SUBMIT)
    assert terminated
    assert (info["tampered"], info["restored"], info["warnings"], info["patch_error"]) == ((), (), (), None)
    return reward, info


def check(data, task, backend):
    env = gymnasium.make(
        "sandgym/SWEbenchVerified-v0", backend=backend, ids=[task], timeout=300, test_timeout=600, **data
    )
    with contextlib.closing(env):
        reward, info = play(env, task)
        assert (reward, info["patch"]) == (0.0, "")
        assert (info["fail_to_pass_fraction"], info["pass_to_pass_fraction"]) == (0.0, 1.0)
        gold = env.unwrapped.row.patch
        reward, info = play(env, task, f"git apply <<'END_OF_PATCH'\n{gold}END_OF_PATCH")
        assert (reward, info["resolved"]) == (1.0, True)
        assert (info["fail_to_pass_fraction"], info["pass_to_pass_fraction"]) == (1.0, 1.0)


@pytest.mark.parametrize("task", ROWS)
def test_nothing_earns_0_and_the_reference_solution_1(data, quick, task):
    check(data, task, quick)


@pytest.fixture
def store(monkeypatch):
    """Where sandboxes of one test are kept: in memory where there is room, since many disks are slow at removals."""
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30
    with tempfile.TemporaryDirectory(dir=memory if roomy else None, ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("SANDGYM_SANDBOXES", folder)
        yield
        reaper.wait_for_removals()


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("task", ROWS)
@pytest.mark.parametrize("other", ["docker", "copy"])
def test_the_same_on_the_other_backends(data, task, other):
    if (said := available()[other]) != "ok":
        pytest.skip(f"the {other} backend does not work here: {said}")
    check(data, task, other)


def test_every_test_is_accounted_for(data, quick, monkeypatch):
    """All tests of the row have a status in the output, and it is the one that the row says."""
    seen = []
    monkeypatch.setattr("sandgym.swebench.judge._GRADES", OrderedDict())
    monkeypatch.setattr("sandgym.swebench.grading.verdict", lambda *a: seen.append(verdict(*a)) or seen[-1])
    task = "django__django-16569"
    env = gymnasium.make("sandgym/SWEbenchVerified-v0", backend=quick, ids=[task], test_timeout=600, **data)
    with contextlib.closing(env):
        env.reset()
        row, judge = env.unwrapped.row, Judge(600)
        assert judge(row, env.unwrapped._workspace).reward == 0.0
        env.step(f"git apply <<'END_OF_PATCH'\n{row.patch}END_OF_PATCH")
        assert judge(row, env.unwrapped._workspace).reward == 1.0
    before, after = seen
    assert set(before.fail_to_pass.values()) == {"ERROR"}  # a TypeError: None is compared with a number
    assert set(after.fail_to_pass.values()) == set(before.pass_to_pass.values()) == {"PASSED"}
    assert after.pass_to_pass == before.pass_to_pass
    assert (len(after.fail_to_pass), len(after.pass_to_pass)) == (2, 111)
