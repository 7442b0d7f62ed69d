"""The expert: solves bundled tasks through bash, plays on from any state, and slips as it says."""

import json
import re

import gymnasium
import pytest

import sandgym.swebench.generate as generate
from sandgym.bundled import content_hash
from sandgym.swebench.env import SWEbenchVerifiedEnv
from sandgym.swebench.expert import DAWDLES, SUBMIT_COMMAND, TEST

TASKS = {"train": 12, "dev": 2, "test": 7}


@pytest.fixture(scope="module")
def make(tmp_path_factory, quick):
    """Environments of a few bundled tasks."""
    root = tmp_path_factory.mktemp("data")
    write_all = generate.write_tasks
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANDGYM_DATA", str(root))
        patch.setattr(generate, "BUNDLED_SHA256", content_hash(write_all(root / "once", TASKS)))
        patch.setattr(generate, "write_tasks", lambda folder: write_all(folder, TASKS))
        made: list[SWEbenchVerifiedEnv] = []

        def make_env(**arguments) -> SWEbenchVerifiedEnv:
            made.append(SWEbenchVerifiedEnv(backend=quick, **arguments))
            return made[-1]

        yield make_env
        for env in made:
            env.close()


@pytest.fixture(scope="module")
def env(make) -> SWEbenchVerifiedEnv:
    return make(split="all", max_steps=20)


def play(env, expert):
    """Actions with whether they were slips, and the last reward and info, from the present state."""
    actions, over, reward, info = [], False, 0.0, {}
    while not over:
        actions.append((expert.act(), expert.slipped))
        _, reward, terminated, truncated, info = env.step(actions[-1][0])
        over = terminated or truncated
    return actions, reward, info


def test_every_task_is_solved(env):
    expert = env.expert()
    assert len(env.task_ids) == sum(TASKS.values())
    for task in env.task_ids:
        env.reset(options={"task": task})
        actions, reward, info = play(env, expert)
        assert (reward, info["success"], info["resolved"], info["tampered"]) == (1.0, True, True, ()), (task, actions)
        assert 3 <= len(actions) <= 6
        assert [action for action, _ in actions[-2:]] == [TEST, SUBMIT_COMMAND]
        assert actions[-3][0].startswith("sed -i ")
        assert all("\n" not in action and len(action) < 200 for action, _ in actions)
        assert not any(slipped for _, slipped in actions)


def test_what_it_types_was_on_the_screen(env):
    """The edited line was shown with its number, or the issue says what it should be; the file's name stands in the
    issue or in a listing of imports."""
    told = 0
    for task in env.task_ids:
        observation, _ = env.reset(options={"task": task})
        screen, expert = observation, env.expert()
        if (first := re.fullmatch(r"sed -i '(\d+)s\|\[\^ \]\.\*\|(.*)\|' \./(\S+)", expert.act())) is not None:
            assert f"`{first[3]}:{first[1]}`" in screen
            assert f"`{first[2]}`" in screen
            told += 1
            continue
        while not (action := expert.act()).startswith("sed"):
            screen += env.step(action)[0]
        number = action.split("'")[1].rstrip("acis").split("s")[0].split("a")[0]
        assert any(
            line.lstrip().startswith((f"{number}:", f"{number}-", f"{number}\t")) for line in screen.splitlines()
        )
    assert 0 < told < len(env.task_ids)


def test_with_noise_it_dawdles_but_not_at_first(make):
    env = make(split="train", max_steps=40)
    dawdles = decisions = 0
    for task in env.task_ids[:8]:
        env.reset(options={"task": task})
        actions, reward, _ = play(env, env.expert(noise=0.6, seed=3))
        assert reward == 1.0, actions
        assert actions[0][0] not in DAWDLES
        assert not any(slipped for action, slipped in actions if action in DAWDLES)
        dawdles += sum(action in DAWDLES for action, _ in actions)
        decisions += len(actions) - 1
    assert 0.45 < dawdles / decisions < 0.75


def test_a_slip_breaks_tests_and_is_taken_back(make):
    env = make(split="train", max_steps=40)
    played = dict.fromkeys(("cat", "sed"), 0)
    for task in env.task_ids:
        for seed in range(16):
            env.reset(options={"task": task})
            expert = env.expert(noise=0.5, seed=seed)
            slip = expert.act()
            kind = slip.split()[0]
            if not expert.slipped or played[kind] > 1:
                continue
            played[kind] += 1
            env.step(slip)
            if kind == "sed":
                assert "FAILED" in env.step(TEST)[0]
            actions, reward, _ = play(env, expert)
            assert reward == 1.0, actions
            assert (f"git checkout {slip.split()[-1]}" in [a for a, _ in actions]) is (kind == "sed")
    assert min(played.values()) > 0, played


def test_what_the_screen_does_not_tell_is_not_to_be_imitated(make):
    env = make(split="train", max_steps=3)
    found = {True: 0, False: 0}
    for task in env.task_ids[:12]:
        env.reset(options={"task": task})
        expert = env.expert()
        action = expert.act()
        told = f".py:{action.split()[2][1:].partition('s')[0]}`" in env.row.problem_statement
        assert action.startswith("sed"), "there is no time for a look"
        assert expert.slipped is not told
        found[told] += 1
    assert min(found.values()) > 0, found


def test_the_same_state_gives_the_same_action(env):
    env.reset(options={"task": 0})
    one, other = env.expert(noise=0.5, seed=1), env.expert(noise=0.5, seed=1)
    first = one.act()
    assert first == one.act() == other.act()
    snapshot = env.snapshot()
    env.step(first)
    second = one.act()
    env.restore(snapshot)
    assert other.act() == first
    env.step(first)
    assert other.act() == second


@pytest.mark.parametrize(
    "command",
    [
        "cd /tmp",
        "rm -r */",
        "for file in $(git ls-files); do echo broken >> $file; done",
        "sed -i 's/return/yield/' $(git ls-files '*.py')",
        "git rm -rq tests",
        "echo x >> README.md; git add -A",
        "echo x >> README.md; git -c user.name=a -c user.email=b commit -qam x",
        "rm -r .git",
    ],
)
def test_it_plays_on_from_any_state(make, command):
    env = make(split="train", max_steps=20)
    env.reset(options={"task": 1})
    env.step(command)
    actions, reward, _ = play(env, env.expert())
    assert actions[-1][0] == SUBMIT_COMMAND
    assert reward == 1.0, actions


@pytest.mark.parametrize(("max_steps", "expected"), [(1, 0.0), (2, 1.0), (3, 1.0), (4, 1.0)])
def test_it_submits_before_the_steps_end(make, max_steps, expected):
    env = make(split="train", max_steps=max_steps)
    env.reset(options={"task": 2})
    actions, reward, _ = play(env, env.expert())
    assert (reward, actions[-1][0]) == (expected, SUBMIT_COMMAND)


def test_errors(make, env, tmp_path):
    with pytest.raises(ValueError, match="noise is a probability"):
        env.expert(noise=1.5)
    fresh = make(split="dev")
    with pytest.raises(gymnasium.error.ResetNeeded):
        fresh.expert().act()
    fresh.reset(options={"task": 0})
    fresh.step(SUBMIT_COMMAND)
    with pytest.raises(gymnasium.error.ResetNeeded):
        fresh.expert().act()
    folder = generate.ensure_bundled()
    line = (folder / "dev.jsonl").read_text().splitlines()[0]
    (tmp_path / "dev.jsonl").write_text(json.dumps(json.loads(line)) + "\n")
    with pytest.raises(gymnasium.error.Error, match="bundled tasks only"):
        make(data=tmp_path / "dev.jsonl", split="dev").expert()
