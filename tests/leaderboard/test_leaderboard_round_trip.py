"""From an evaluation to a row of the pages, by the commands that people type."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from leaderboard_helpers import describe, episodes_of, rechain, submission_of, tamper
from typer.testing import CliRunner

from cli.main import app
from leaderboard.panels import load
from leaderboard.record import Key, open_panel, record
from leaderboard.replay import replay
from leaderboard.schema import Episode, Shown
from leaderboard.verify import Options, verify
from sandgym.panels import Panel
from sandgym.sandboxes import available


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty leaderboard in an empty folder, in which commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "leaderboard" / "panels").mkdir(parents=True)
    return tmp_path / "leaderboard"


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


def good(*words: str) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.output


def bad(code: int, *words: str) -> str:
    result = run(*words)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.stderr


def there_and_back(panel: str, player: str = "expert") -> dict[str, Any]:
    """Evaluate, submit, verify and render; the row that came of it."""
    assert "submission written to mine" in good("eval", player, "--panel", panel, "--out", "mine")
    assert "fill in contact" in bad(1, "leaderboard", "submit", "mine")
    told = good("leaderboard", "submit", "mine", "--contact", "me", "--name", "My Method!", "--date", "2026-02-03")
    assert "all equal" in told
    place = Path("leaderboard/submissions", panel.partition("/")[0], "2026-02-03-my-method")
    assert f"put in {place}" in told
    assert "verified: 1 of 1" in good("leaderboard", "verify", "--jobs", "1")
    good("leaderboard", "render", "--jobs", "1")
    shown = json.loads(Path("leaderboard/results.json").read_text())
    assert "My Method&#33;" in Path("leaderboard/README.md").read_text()
    assert "My Method!" in Path("leaderboard/site/index.html").read_text()
    assert "already" in bad(1, "leaderboard", "submit", "mine", "--date", "2026-02-03")
    (row,) = shown["panels"][panel]["rows"]
    return row  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["webshop", "alfworld"])
def test_round_trip(root: Path, small_panels: dict[str, Panel], name: str) -> None:
    row = there_and_back(small_panels[name].name)
    assert row["success"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert row["episodes"] == len(small_panels[name].task_ids)
    assert row["rank"] is None  # a reference


def test_round_trip_of_issues_in_sandboxes(root: Path, few: Any) -> None:
    if not any(said == "ok" for name, said in available().items() if name != "docker"):
        pytest.skip(f"no sandbox of folders works here: {available()}")
    panel = few("swebench", 2)
    row = there_and_back(panel.name)
    assert row["success"]["value"] == 1.0
    # The patch is graded again: with the edit taken out, its tests fail.
    place = root / "submissions" / "swebench" / "2026-02-03-my-method"
    task = episodes_of(place)[1]["task"]
    edit = next(n for n, step in enumerate(episodes_of(place)[1]["steps"]) if "sed -i" in step["action"])
    tamper(place, lambda e: e[1]["steps"][edit].update(action="true"), panel)
    assert re.search(rf"task {task}, seed 0, sample 0, step {edit + 1}: ", bad(1, "leaderboard", "verify", str(place)))


def test_a_step_whose_processes_race_is_played_until_it_agrees(few: Any) -> None:
    if not any(said == "ok" for name, said in available().items() if name != "docker"):
        pytest.skip(f"no sandbox of folders works here: {available()}")
    panel = few("swebench", 1, "racing")
    env = open_panel(panel, Shown())
    toss = "if ((RANDOM % 2)); then echo heads >>/tmp/tosses; else echo tails >>/tmp/tosses; fi; cat /tmp/tosses"
    actions = iter([toss] * 6)
    episode = record(env, panel, Key(panel.task_ids[0], 0, 3, 0), lambda observation, info: next(actions, None))
    assert len({step.observation for step in episode.steps}) == 6
    assert replay(env, panel, episode, 0) == []
    changed = episode.model_dump()
    changed["steps"][4]["observation"] = "0123456789ab"
    rechain(changed, panel.content_hash)
    problems = replay(env, panel, Episode.model_validate(changed), 0)
    assert {problem.step for problem in problems} == {5}
    assert any(problem.what.startswith("observation: submitted 0123456789ab") for problem in problems)
    env.close()


def test_several_processes_find_the_same(root: Path, played: dict[str, Path], small_panels: dict[str, Panel]) -> None:
    """In processes of their own, which know the panels of the package only."""
    good("eval", "random", "--panel", "webshop/test", "--out", "mine", "--samples", "2", "--seed", "5")
    assert "400 episodes replayed, all equal" in good("leaderboard", "verify", "mine", "--jobs", "2", "--fresh")
    assert "400 episodes replayed (400 of them earlier)" in good("leaderboard", "verify", "mine", "--jobs", "2")
    episodes = episodes_of(Path("mine"))
    assert [e["seed"] for e in episodes] == [5] * 400
    number = next(n for n, e in enumerate(episodes) if n > 250 and e["end"] == "terminated")
    tamper(Path("mine"), lambda e: e[number]["steps"][-1].update(reward=1.0), load("webshop/test"))
    told = bad(1, "leaderboard", "verify", "mine", "--jobs", "2")
    assert f"task {episodes[number]['task']}, seed 5, sample 1, step {len(episodes[number]['steps'])}: reward" in told
    assert "refused: 1 of 1" in told


def test_an_interrupted_verification_goes_on_where_it_stopped(
    root: Path, small_panels: dict[str, Panel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = submission_of("random", small_panels["webshop"], tmp_path / "mine", seeds=(21, 22, 23, 24, 25))
    calls: list[int] = []

    def interrupted(done: int, total: int) -> None:
        calls.append(done)
        if done >= 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(folder, Options(jobs=1), interrupted)
    assert calls == [20, 40]
    assert verify(folder, Options(jobs=1)).replayed == 20
    assert verify(folder, Options(jobs=1)).replayed == 0
    assert verify(folder, Options(jobs=1, fresh=True)).replayed == 60


def test_what_was_verified_by_other_code_is_verified_again(
    small_panels: dict[str, Panel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = submission_of("random", small_panels["webshop"], tmp_path / "mine", seeds=(31,))
    assert verify(folder, Options(jobs=1)).replayed == 12
    monkeypatch.setattr("leaderboard.parts.code_hash", lambda: "other")
    assert verify(folder, Options(jobs=1)).replayed == 12


# A policy.

TINY = {
    "tiny.hidden": "32", "tiny.layers": "1", "tiny.heads": "2", "tiny.kv_heads": "1", "tiny.intermediate": "64",
    "tiny.vocabulary": "400", "tiny.context": "3000", "sft.demonstrations": "40", "sft.steps": "3",
    "sft.batch_tokens": "800", "sft.drill_steps": "0", "sft.opening_steps": "0", "sft.crop_steps": "0",
    "eval_tasks": "2", "evaluation.samples": "1", "evaluation.top_p": "0.9", "evaluation.max_turn_tokens": "12",
    "max_turn_tokens": "12",
}  # fmt: skip


def test_a_trained_policy_is_submitted_with_its_settings(root: Path, few: Any) -> None:
    few("webshop", 3, "fewer")
    settings = [word for key, value in TINY.items() for word in ("--set", f"{key}={value}")]
    good("train", "--algo", "rloo", "--env", "webshop", "--updates", "1", "--tasks", "2", *settings, "--out", "run")
    good("eval", "run", "--panel", "webshop/fewer", "--out", "sampled", "--samples", "2", "--seed", "9")
    good("eval", "run", "--panel", "webshop/fewer", "--out", "greedy", "--greedy", "--samples", "1")
    good("eval", "run", "--checkpoint", "start", "--panel", "webshop/fewer", "--out", "start", "--samples", "1")
    expected = (("sampled", 9, 2, 1.0), ("greedy", 20000, 1, 0.0), ("start", 20000, 1, 1.0))
    for name, seed, samples, temperature in expected:
        told = yaml.safe_load((Path(name) / "submission.yaml").read_text())
        assert told["runs"][0]["evaluation_seed"] == seed
        cut = {"top_p": 0.9 if temperature else None, "top_k": None}
        assert told["sampling"] == {"samples": samples, "temperature": temperature, "max_turn_tokens": 12, **cut}
        assert re.fullmatch("[0-9a-f]{64}", told["runs"][0]["weights_sha256"])
        assert told["config"]["tiny"]["hidden"] == 32
        assert told["method"]["name"] == ("tiny, warm start" if name == "start" else "tiny, rloo")
        assert bool(told["compute"]["training"]) == (name != "start")
        assert told["compute"]["evaluation"]["generated_tokens"] > 0
        assert told["disclosure"]["overlap"] == "none"
        verified = verify(Path(name), Options(jobs=1))
        assert verified.success.shape == (3, 1, samples)
    assert "differs in sampling" in bad(1, "leaderboard", "join", "sampled", "greedy", "--out", "both")
    assert "each run needs its own" in bad(1, "leaderboard", "join", "sampled", "sampled", "--out", "both")
    good("eval", "run", "--panel", "webshop/fewer", "--out", "again", "--samples", "2", "--seed", "10")
    assert "2 runs, 12 episodes" in good("leaderboard", "join", "sampled", "again", "--out", "both")
    assert verify(Path("both"), Options(jobs=1)).success.shape == (3, 2, 2)


# What is asked for wrongly.


def test_bad_command_lines(root: Path, small_panels: dict[str, Panel], played: dict[str, Path]) -> None:
    assert "needs --panel" in bad(2, "eval", "expert", "--out", "mine")
    assert "give --panel and, as --out, a folder" in bad(2, "eval", "random", "--panel", "webshop/few")
    assert "the leaderboard has no panel 'webshop/dev'" in bad(
        2, "eval", "expert", "--panel", "webshop/dev", "--out", "x"
    )
    assert "is of sandgym/WebShop-v0, not of alfworld" in bad(
        2, "eval", "expert", "--env", "alfworld", "--panel", "webshop/few", "--out", "mine"
    )
    assert "--greedy is for submissions" in bad(2, "eval", "expert", "--greedy", "--out", "mine.json")
    Path("full").mkdir()
    Path("full/file").touch()
    assert "full is not an empty folder" in bad(2, "eval", "expert", "--panel", "webshop/few", "--out", "full")
    assert "no admissible actions" in bad(1, "eval", "random", "--panel", "swebench/test", "--out", "mine")
    assert "YYYY-MM-DD" in bad(2, "leaderboard", "submit", "full", "--date", "tomorrow")
    assert "does not belong in a submission" in bad(1, "leaderboard", "submit", "full")
    assert "is not the folder of a leaderboard" in bad(2, "leaderboard", "verify", "--root", "full")
    assert "no panel 'x' is defined" in bad(1, "leaderboard", "panel", "x")
    assert "name at least two" in bad(2, "leaderboard", "join", "full", "--out", "y")
    mine = shutil.copytree(played["webshop"], "copied")
    assert "track: Input should be" in bad(1, "leaderboard", "submit", str(mine), "--track", "easy")
    describe(Path(mine), method={"name": "!!!"})
    assert "needs letters or digits" in bad(1, "leaderboard", "submit", str(mine))


def test_a_table_for_a_pull_request(root: Path, played: dict[str, Path]) -> None:
    broken = Path(shutil.copytree(played["webshop"], "broken"))
    describe(broken, claims={"success": 1.0})
    good_one = shutil.copytree(played["webshop"], "good")
    bad(1, "leaderboard", "verify", str(broken), str(good_one), "--jobs", "1", "--table", "table.md")
    lines = Path("table.md").read_text().splitlines()
    assert "refused" in lines[2]
    assert "claims.success is 1.0" in lines[2]
    assert "verified" in lines[3]


def test_panels_are_listed(root: Path) -> None:
    told = good("leaderboard", "panels")
    assert "webshop/official-human-test" in told
    assert "not made yet" in told


def test_a_panel_is_made_from_its_data_and_never_changes(root: Path) -> None:
    assert "200 tasks, written to leaderboard/panels/webshop-test.json" in good("leaderboard", "panel", "webshop/test")
    path = root / "panels" / "webshop-test.json"
    written = path.read_text()
    good("leaderboard", "panel", "webshop/test")
    path.write_text(written.replace("goal-", "gaol-"))
    assert "a panel never changes" in bad(1, "leaderboard", "panel", "webshop/test")
    assert "it needs the whole data set" in bad(
        1, "leaderboard", "panel", "webshop/official-human-test", "--data", "bundled"
    )
