"""The environment: observations, submitting, limits, time-outs, failures of the machine, bad input."""

import contextlib
import json
import shutil
import warnings
from collections import OrderedDict

import bookshop as shop
import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from sandgym.core import SandboxError, SnapshotMismatch
from sandgym.sandboxes import Limits, SandboxLost
from sandgym.swebench import judge
from sandgym.swebench.grading import grade


def test_an_episode_on_every_backend(shop_data, backend):
    env = gymnasium.make("sandgym/SWEbenchVerified-v0", backend=backend, **shop_data)
    with contextlib.closing(env):
        observation, info = env.reset(seed=3)
        assert observation == f"The repository is in /testbed. The issue:\n\n{shop.ISSUE}"
        assert info == {
            "task_id": "shop__shop-1",
            "step": 0,
            "success": False,
            "score": 0.0,
            "data": str(shop_data["data"]),
            "backend": backend,
            "returncode": None,
            "timed_out": False,
            "output_truncated": False,
        }
        assert env.step("cd shop; export WORD=hello; false")[0] == "returncode: 1\n"
        assert env.step("pwd; echo $WORD; id -u | grep -vx 0 >/dev/null")[0] == "returncode: 0\n/testbed/shop\nhello\n"
        observation, reward, terminated, truncated, info = env.step(f"cd /testbed; {shop.FIX}; git status --short")
        assert (observation, reward, terminated, truncated) == ("returncode: 0\n M shop/prices.py\n", 0.0, False, False)
        observation, reward, terminated, truncated, info = env.step(shop.SUBMIT)
        assert (reward, terminated, truncated) == (1.0, True, False)
        assert info["success"] is info["resolved"] is True
        assert info["score"] == info["fail_to_pass_fraction"] == info["pass_to_pass_fraction"] == 1.0
        assert info["patch"].count("\n+") == 2  # the file's name and one line
        assert (info["tampered"], info["restored"], info["warnings"], info["patch_error"]) == ((), (), (), None)
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step("true")
        env.reset()
        assert env.step("git status --short; pwd; echo $WORD")[0] == "returncode: 0\n/testbed\n\n"
        assert env.step(shop.SUBMIT)[1] == 0.0


def test_only_the_first_line_of_output_submits(make):
    env = make(max_steps=3)
    env.reset(seed=0)
    word = shop.SUBMIT.removeprefix("echo ")
    assert not env.step(f"echo no; {shop.SUBMIT}")[2]
    assert not env.step(f"echo '{word} now'")[2]
    assert env.step(f"echo; printf '{word}\\nmore'; exit 1")[2]


def test_the_horizon_truncates_without_reward(make):
    env = make(max_steps=2)
    env.reset(seed=0)
    env.step(shop.FIX)
    assert env.step("true")[1:4] == (0.0, False, True)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(shop.SUBMIT)


def test_long_output_keeps_its_ends(make):
    env = make()
    env.reset(seed=0)
    observation, *_, info = env.step("for i in $(seq 20000); do echo line $i; done")
    assert info["output_truncated"]
    assert observation.startswith("returncode: 0\nline 1\n")
    assert observation.endswith("line 20000\n")
    assert 10_000 < len(observation) < 10_200


def test_slow_commands_and_background_processes_are_ended(make):
    env = make(timeout=1.5)
    env.reset(seed=0)
    observation, *_, info = env.step("echo first; sleep 100")
    assert observation == "timed out after 1.5 s and was ended\nfirst\n"
    assert info["timed_out"]
    assert info["returncode"] is None
    assert env.step("sleep 100 & echo on")[0] == "returncode: 0; 1 background processes were ended\non\n"
    assert env.step("pgrep sleep")[0] == "returncode: 1\n"


def test_times_and_addresses_are_made_equal(make):
    env = make()
    env.reset(seed=0)
    code = "print(object()); print('3 passed in 1.23s', 'Ran 2 tests in 0.123s', 'in 75.10s (0:01:15)', '0x12 in 5 m')"
    assert env.step(f'python -c "{code}"')[0] == (
        "returncode: 0\n<object object at 0x0>\n3 passed in 0.00s Ran 2 tests in 0.00s in 0.00s 0x12 in 5 m\n"
    )


@pytest.mark.parametrize(
    "action", ["", " ", "\0", "echo \ud800", "if", "x" * 200_000, "echo " + "y" * 3_000_000, "(", "exit"]
)
def test_commands_that_cannot_run_cost_a_step(make, action):
    env = make()
    env.reset(seed=0)
    digest = env.unwrapped.sandbox.snapshot().digest
    observation, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated, info["step"]) == (0.0, False, False, 1)
    assert observation.startswith("returncode: ")
    assert env.unwrapped.sandbox.snapshot().digest == digest


def test_a_test_run_without_end_is_no_failure_of_the_machine(make):
    env = make(test_timeout=4)
    env.reset(seed=0)
    env.step("echo 'while True: pass' >> shop/prices.py")
    _, reward, terminated, _, info = env.step(shop.SUBMIT)
    assert (reward, terminated, info["tests_timed_out"], info["tampered"]) == (0.0, True, True, ())


def test_too_much_to_submit_is_the_agent_s_fault(make, monkeypatch):
    monkeypatch.setattr("sandgym.swebench.patch.MOST_BYTES", 1 << 20)
    env = make()
    env.reset(seed=0)
    env.step("head -c 2000000 /dev/zero > big")
    _, reward, terminated, _, info = env.step(shop.SUBMIT)
    assert (reward, terminated) == (0.0, True)
    assert "remove or ignore what is generated" in info["patch_error"]


def test_progress_does_not_count_what_passes_anyway(tmp_path, quick):
    tests = [f"tests/test_prices.py::test_{name}" for name in ("empty", "total", "never")]
    data = shop.write_data(tmp_path, FAIL_TO_PASS=json.dumps(tests), PASS_TO_PASS="[]")
    env = gymnasium.make("sandgym/SWEbenchVerified-v0", backend=quick, **data)
    with contextlib.closing(env):
        env.reset(seed=0)
        assert env.step(shop.SUBMIT)[4]["fail_to_pass_fraction"] == 0.0  # of total and never: none
        env.reset(seed=0)
        env.step(shop.FIX)
        info = env.step(shop.SUBMIT)[4]
        assert info["fail_to_pass_fraction"] == 0.5  # total
        assert info["resolved"] is False


@pytest.mark.parametrize("on_failure", ["raise", "truncate"])
def test_a_sandbox_that_vanishes(make, on_failure):
    env = make(on_failure=on_failure)
    env.reset(seed=0)
    remove_files_of(env.unwrapped.sandbox)
    if on_failure == "raise":
        with pytest.raises(SandboxLost):
            env.step("true")
        assert "SandboxLost" in env.unwrapped.last[1]["infra_error"]
    else:
        observation, reward, terminated, truncated, info = env.step("true")
        assert (reward, terminated, truncated) == (0.0, False, True)
        assert info["infra_error"].startswith("SandboxLost: ")
        assert info["infra_error"] in observation
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("true")
    env.reset(seed=0)
    env.step(shop.FIX)
    assert env.step(shop.SUBMIT)[1] == 1.0


def remove_files_of(sandbox):
    """Take the folders of a sandbox away behind its back."""
    (folder,) = {sandbox._folder}
    shutil.rmtree(folder)


def test_a_broken_row_is_an_error_and_no_reward(tmp_path, quick):
    data = shop.write_data(tmp_path, test_patch=shop.TEST_PATCH.replace("test_empty", "test_other"))
    env = gymnasium.make("sandgym/SWEbenchVerified-v0", backend=quick, **data)
    with contextlib.closing(env):
        env.reset(seed=0)
        with pytest.raises(SandboxError, match="'shop__shop-1': its test patch does not apply to its base"):
            env.step(shop.SUBMIT)


def test_a_patch_is_graded_once_a_process(make, monkeypatch):
    graded = []

    def count(row, patch, clean, timeout):
        graded.append(patch)
        return grade(row, patch, clean, timeout)

    monkeypatch.setattr(judge, "grade", count)
    monkeypatch.setattr(judge, "_GRADES", OrderedDict())
    rewards = []
    for commands in ([shop.FIX], [f"{shop.FIX}; true"], ["true"], [shop.FIX, "echo x > new.txt"]):
        env = make()
        env.reset(seed=0)
        for command in commands:
            env.step(command)
        rewards.append(env.step(shop.SUBMIT)[1])
    assert rewards == [1.0, 1.0, 0.0, 1.0]
    assert len(graded) == len(set(graded)) == 3


def test_snapshots_and_forks_of_an_episode_that_is_over(make):
    env = make()
    env.reset(seed=0)
    env.step(shop.FIX)
    before = env.unwrapped.snapshot()
    first = env.step(shop.SUBMIT)
    after = env.unwrapped.snapshot()
    assert env.unwrapped.restore(before)[1]["step"] == 1
    assert env.step(shop.SUBMIT) == first
    assert env.unwrapped.snapshot() == after
    (fork,) = env.unwrapped.fork(1)
    with contextlib.closing(fork), pytest.raises(gymnasium.error.ResetNeeded):
        fork.step("true")
    other = make(max_steps=7)
    other.reset(seed=0)
    with pytest.raises(SnapshotMismatch):
        other.unwrapped.restore(after)


def test_a_snapshot_is_resumed_after_reset_and_close(make):
    env = make()
    env.reset(seed=0)
    env.step("echo mine > mine.txt; cd shop")
    snapshot = env.unwrapped.snapshot()
    env.reset()
    env.close()
    env.close()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("true")
    env.unwrapped.restore(snapshot)
    assert env.step("pwd; cat ../mine.txt")[0] == "returncode: 0\n/testbed/shop\nmine\n"


def test_staging_at_another_time_is_the_same_state(make):
    env = make()
    digests = set()
    for wait in ("true", "sleep 1.1; touch notes.txt"):
        env.reset(seed=0)
        env.step(f"{wait}; echo new > new.txt; git add -A; git commit -qm work; {shop.FIX}; git add -A")
        digests.add(env.unwrapped.state_digest)
    assert len(digests) == 1
    env.step("git reset -q")
    assert env.unwrapped.state_digest not in digests


def test_bad_arguments(shop_data):
    def build(**kwargs):
        return gymnasium.make("sandgym/SWEbenchVerified-v0", **{**shop_data, **kwargs})

    for kwargs, error, said in (
        ({"horizon": 3}, TypeError, "unknown SWE-bench argument 'horizon'; known: backend, checkouts, data"),
        ({"split": "train"}, ValueError, "unknown split 'train'; known: test, all"),
        ({"on_failure": "x"}, ValueError, "unknown on_failure 'x'; known: 'raise', 'truncate'"),
        ({"max_steps": 0}, ValueError, "must be positive"),
        ({"timeout": 0}, ValueError, "must be positive"),
        ({"ids": ["no"]}, ValueError, "no task has id 'no'; known: shop__shop-1"),
        ({"data": "/no/such"}, SandboxError, "there is no"),
    ):
        with pytest.raises(error, match=said):
            build(**kwargs)


def test_bad_resets(make):
    env = make()
    for options, error in (({"x": 1}, TypeError), ({"task": 1}, LookupError), ({"task": "no"}, LookupError)):
        with pytest.raises(error):
            env.reset(options=options)
    with pytest.raises(TypeError):
        env.reset(options={"task": 1.5})
    with pytest.raises(TypeError):
        env.reset(options={"task": True})
    env.reset(seed=0, options={"task": "shop__shop-1"})
    with pytest.raises(TypeError, match="an action is a string"):
        env.step(3)
    bad = make(backend="floppy")
    with pytest.raises(TypeError, match="unknown backend 'floppy'"):
        bad.reset()


def test_missing_checkouts_and_missing_docker(shop_data, tmp_path):
    env = gymnasium.make("sandgym/SWEbenchVerified-v0", **{**shop_data, "checkouts": tmp_path})
    with pytest.raises(SandboxError, match="no checkout of shop__shop-1"):
        env.reset()
    env.close()


def test_limits_reach_the_sandbox(make):
    env = make(limits=Limits(output_chars=100))
    env.reset(seed=0)
    assert env.step("seq 1000")[4]["output_truncated"]


def test_gymnasium_s_own_check_has_no_complaint(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(render_mode="ansi"))
