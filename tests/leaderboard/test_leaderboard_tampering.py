"""Whatever is changed in a submission is found, and the task and the step are named."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from leaderboard_helpers import Episodes, describe, episodes_of, submission_of, tamper, write_episodes

from leaderboard.problems import Problem, SubmissionError
from leaderboard.verify import Options, verify
from sandgym.core import digest_of
from sandgym.panels import Panel

HERE = Options(jobs=1)
VICTIM = 5  # the episode that is changed


def refused(folder: Path) -> Problem:
    with pytest.raises(SubmissionError) as caught:
        verify(folder, HERE)
    return caught.value.problems[0]


def problems_of(folder: Path) -> list[str]:
    with pytest.raises(SubmissionError) as caught:
        verify(folder, HERE)
    return [str(problem) for problem in caught.value.problems]


def raise_reward(episodes: Episodes) -> None:
    step = episodes[VICTIM]["steps"][-1]
    step["reward"] += 0.5
    episodes[VICTIM]["score"] = 1.0
    episodes[VICTIM]["success"] = True


def drop_step(episodes: Episodes) -> None:
    del episodes[VICTIM]["steps"][1]


def drop_last_step(episodes: Episodes) -> None:
    del episodes[VICTIM]["steps"][-1]


def change_action(episodes: Episodes) -> None:
    episodes[VICTIM]["steps"][0]["action"] = "search[something else altogether]"


def change_digest(episodes: Episodes) -> None:
    episodes[VICTIM]["steps"][1]["digest"] = "0123456789ab"


def change_observation(episodes: Episodes) -> None:
    episodes[VICTIM]["steps"][1]["observation"] = "0123456789ab"


def add_step(episodes: Episodes) -> None:
    steps = episodes[VICTIM]["steps"]
    steps[:] = [*steps, dict(steps[-1])][-15:] if len(steps) == 15 else [*steps, dict(steps[-1])]


def last(episodes: Episodes) -> int:
    return len(episodes[VICTIM]["steps"])


@pytest.mark.parametrize(
    ("change", "step", "told"),
    [
        (raise_reward, last, "reward: submitted"),
        (drop_step, lambda episodes: 2, "digest: submitted"),
        (drop_last_step, lambda episodes: last(episodes) - 1, "end: submitted"),
        (change_action, lambda episodes: 1, "digest: submitted"),
        (change_digest, lambda episodes: 2, "state digest: submitted"),
        (change_observation, lambda episodes: 2, "observation: submitted"),
    ],
)
def test_a_change_is_found_whether_or_not_the_chain_is_made_anew(
    shop: Path, small_panels: dict[str, Panel], change: Callable[[Episodes], None], step: Any, told: str
) -> None:
    episodes = episodes_of(shop)
    where = (episodes[VICTIM]["task"], episodes[VICTIM]["seed"], episodes[VICTIM]["sample"])
    place = step(episodes)
    tamper(shop, change)
    if change is not drop_last_step:  # a chain that ends early is whole
        broken = refused(shop)
        assert (broken.task, broken.seed, broken.sample, broken.step) == (*where, place)
        assert "hash chain" in broken.what
    tamper(shop, lambda episodes: None, small_panels["webshop"])
    problem = refused(shop)
    assert (problem.task, problem.seed, problem.sample, problem.step) == (*where, place)
    assert any(told in each for each in problems_of(shop))
    assert f"task {where[0]}, seed {where[1]}, sample {where[2]}, step {place}: " in str(problem)


def test_a_step_after_the_end(shop: Path, small_panels: dict[str, Panel]) -> None:
    episodes = episodes_of(shop)
    number, short = next((n, e) for n, e in enumerate(episodes) if e["end"] == "terminated" and len(e["steps"]) < 15)
    steps = len(short["steps"])

    def change(changed: Episodes) -> None:
        changed[number]["steps"].append(dict(short["steps"][-1]))

    tamper(shop, change, small_panels["webshop"])
    problem = refused(shop)
    assert (problem.task, problem.step) == (short["task"], steps + 1)
    assert "is over before" in problem.what


def test_more_steps_than_the_horizon(shop: Path, small_panels: dict[str, Panel]) -> None:
    tamper(shop, lambda e: e[VICTIM].update(steps=[e[VICTIM]["steps"][0]] * 16), small_panels["webshop"])
    problem = refused(shop)
    assert problem.task == episodes_of(shop)[VICTIM]["task"]
    assert "16 steps; the horizon is 15" in problem.what


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda e: e[VICTIM].update(total=7.0), "total"),
        (lambda e: e[VICTIM].update(score=0.75), "score"),
        (lambda e: e[VICTIM].update(success=True), "success"),
        (lambda e: e[VICTIM].update(end="stopped"), "end"),
    ],
)
def test_an_episodes_own_sum_is_replayed(shop: Path, change: Callable[[Episodes], None], what: str) -> None:
    episodes = episodes_of(shop)
    change(episodes)
    write_episodes(shop, episodes, totals=False)
    problem = refused(shop)
    assert problem.task == episodes[VICTIM]["task"]
    assert f"{what}: submitted" in problem.what


def test_episodes_reordered(shop: Path) -> None:
    episodes = episodes_of(shop)
    episodes[2], episodes[3] = episodes[3], episodes[2]
    write_episodes(shop, episodes)
    problem = refused(shop)
    assert (problem.task, problem.seed) == (episodes[3]["task"], 3)
    assert f"in its place is task {episodes[2]['task']}" in problem.what


@pytest.mark.parametrize("place", [0, 7, -1])
def test_a_task_is_missing(shop: Path, place: int) -> None:
    episodes = episodes_of(shop)
    missing = episodes.pop(place)
    write_episodes(shop, episodes, totals=False)
    problem = refused(shop)
    assert (problem.task, problem.seed, problem.sample) == (missing["task"], missing["seed"], missing["sample"])
    assert "missing" in problem.what


def test_fewer_episodes_claimed_than_the_panel_has(shop: Path) -> None:
    write_episodes(shop, episodes_of(shop)[:-1])
    assert "2 runs of 1 samples on 12 tasks are 24" in str(refused(shop))


def test_a_task_twice(shop: Path) -> None:
    episodes = episodes_of(shop)
    write_episodes(shop, [*episodes[:4], episodes[1], *episodes[5:]])
    problem = refused(shop)
    assert (problem.task, problem.seed) == (episodes[1]["task"], 3)
    assert "twice" in problem.what
    write_episodes(shop, [*episodes, episodes[0]], totals=False)
    assert "more than the panel's 24 episodes" in str(refused(shop))


def test_a_task_of_another_panel(shop: Path, small_panels: dict[str, Panel]) -> None:
    tamper(shop, lambda episodes: episodes[4].update(task="goal-77"), small_panels["webshop"])
    problem = refused(shop)
    assert problem.task == "goal-77"
    assert "does not belong" in problem.what


def test_a_seed_played_twice_under_two_names(shop: Path, small_panels: dict[str, Panel]) -> None:
    def change(episodes: Episodes) -> None:
        for copied, episode in zip(episodes[12:], episodes[:12], strict=True):
            copied.update({**episode, "seed": 3})

    tamper(shop, change, small_panels["webshop"])
    problem = refused(shop)
    assert problem.seed == 3
    assert "twice" in problem.what


def test_seeds_repeated(shop: Path) -> None:
    describe(shop, runs=[{"evaluation_seed": 3}, {"evaluation_seed": 3}])
    assert "evaluation seed 3 is there twice" in str(refused(shop))


def test_a_chain_that_starts_from_another_panel(shop: Path, small_panels: dict[str, Panel]) -> None:
    other = dataclasses.replace(small_panels["webshop"], content_hash="0" * 64)
    tamper(shop, lambda episodes: None, other)
    problem = refused(shop)
    assert (problem.task, problem.step) == (episodes_of(shop)[0]["task"], 1)
    assert "hash chain" in problem.what


@pytest.mark.parametrize(
    ("pin", "told"),
    [
        ({"content_hash": "1" * 64}, "has content_hash"),
        ({"data_hash": "1" * 64}, "has data_hash"),
        ({"reward_version": "webshop-2"}, "has reward_version webshop-1"),
        ({"env_id": "sandgym/WebShop-v1"}, "has env_id sandgym/WebShop-v0"),
        ({"horizon": 16}, "has horizon 15"),
        ({"name": "webshop/none"}, "has no panel 'webshop/none'"),
        ({"name": "../panels/webshop/few"}, "has no panel"),
        ({"name": "webshop/test"}, "has content_hash"),
    ],
)
def test_another_panel_or_environment(shop: Path, pin: dict[str, Any], told: str) -> None:
    describe(shop, panel=pin)
    assert told in str(refused(shop))


@pytest.mark.parametrize("claim", [{"success": 0.5}, {"score": 0.5}])
def test_claims_above_the_replay(shop: Path, claim: dict[str, float]) -> None:
    describe(shop, claims=claim)
    problem = refused(shop)
    assert f"claims.{next(iter(claim))} is 0.5; the replay gives" in str(problem)


def test_another_file_of_episodes(shop: Path) -> None:
    describe(shop, episodes_sha256="2" * 64)
    assert "is not the file whose hash" in str(refused(shop))


def test_observations_of_another_mode(shop: Path) -> None:
    describe(shop, shown={"observation_mode": "url"})
    assert refused(shop).step == 1
    describe(shop, shown={"observation_mode": "telepathic"})
    assert "the environment refuses what is shown" in str(refused(shop))


def test_another_config_than_hashed(shop: Path) -> None:
    text = (shop / "submission.yaml").read_text()
    (shop / "submission.yaml").write_text(text.replace("config: null", "config: {updates: 3}"))
    assert "config_sha256 is not the hash of config" in str(refused(shop))
    describe(shop, config_sha256=digest_of({"updates": 3}))
    assert verify(shop, HERE).replayed == 0  # the episodes are the same, and have been replayed before


def test_an_honest_household_passes_and_a_changed_one_does_not(
    played: dict[str, Path], small_panels: dict[str, Panel], tmp_path: Path
) -> None:
    assert verify(played["alfworld"], HERE).success.shape == (4, 2, 1)
    folder = submission_of("expert", small_panels["alfworld"], tmp_path / "expert", seeds=(0,))
    assert verify(folder, HERE).success.mean() == 1
    task = episodes_of(folder)[1]["task"]
    tamper(folder, lambda episodes: episodes[1]["steps"][0].update(action="look"), small_panels["alfworld"])
    problem = refused(folder)
    assert (problem.task, problem.step) == (task, 1)
