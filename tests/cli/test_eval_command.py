"""``sandgym eval`` and ``sandgym sft``."""

import json
import re
from pathlib import Path

import pytest
from commands import ENV, SMALL, Invoke, run

SETTINGS = [word for word in SMALL if word.startswith(("tiny.", "sft."))]


def test_gives_the_numbers_of_the_run(trained: tuple[Path, str], tmp_path: Path) -> None:
    folder, printed = trained
    result = run("eval", str(folder), "--out", str(tmp_path / "after.json"))
    assert result.exit_code == 0, result.output
    assert "The same numbers as the run recorded after RL" in result.output
    recorded = json.loads((folder / "evaluation.json").read_text())["after"]
    written = json.loads((tmp_path / "after.json").read_text())
    assert written["summary"] == recorded
    rows = re.findall(r"(success|score) +│ +([\d.]+ \[[\d., ]+\]) +│\n", result.output)
    shown = re.findall(r"(success|score) +│ +[\d.]+ \[[\d., ]+\] +│ +([\d.]+ \[[\d., ]+\]) +│", printed)
    assert len(rows) == 4
    assert rows == shown


def test_checkpoints_by_name(trained: tuple[Path, str], tmp_path: Path) -> None:
    recorded = json.loads((trained[0] / "evaluation.json").read_text())
    for name, when in (("start", "before"), ("update-000002", "after")):
        result = run("eval", str(trained[0]), "--checkpoint", name, "--out", str(tmp_path / f"{name}.json"))
        assert f"The same numbers as the run recorded {when} RL" in result.output
        assert json.loads((tmp_path / f"{name}.json").read_text())["summary"] == recorded[when]
    assert recorded["before"] != recorded["after"]


def test_other_sampling_and_tasks(trained: tuple[Path, str], tmp_path: Path) -> None:
    words = ["--samples", "3", "--temperature", "0.5", "--split", "test", "--tasks", "2", "--out", "o.json"]
    result = run("eval", str(trained[0]), *words[:-1], str(tmp_path / "o.json"))
    assert result.exit_code == 0, result.output
    assert "sampled, temperature 0.5, 3 a task" in result.output
    assert "2 test tasks" in result.output
    assert "same numbers" not in result.output
    document = json.loads((tmp_path / "o.json").read_text())
    assert list(document["tasks"]["sampled"]) == ["letter-w", "letter-x"]
    samples = document["tasks"]["sampled"]["letter-w"]["score"]
    assert len(samples) == 3
    mean = sum(sum(task["score"]) for task in document["tasks"]["sampled"].values()) / 6
    assert document["summary"]["sampled"]["score"]["mean"] == pytest.approx(mean)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nowhere/at/all"], "neither a run (no config.yaml) nor a model"),
        (["{run}", "--checkpoint", "update-000009"], "it has: start, update-000002"),
        (["{run}", "--env", "webshop"], "leave out --env"),
        (["{run}", "--panel", "webshop/dev", "--tasks", "3"], "a panel fixes its tasks"),
        (["{run}", "--panel", "webshop/deb"], "no panel 'webshop/deb'; known: "),
        (["{run}", "--split", "deb"], "unknown split 'deb'"),
        (["{run}", "--temperature", "0"], "must be positive"),
        (["{run}", "--samples", "0"], "Invalid value for"),
        (["{run}/start"], "for example --env webshop"),
        (["{run}/start", "--checkpoint", "start"], "--checkpoint is for runs"),
    ],
)
def test_bad_command_lines(words: list[str], expected: str, trained: tuple[Path, str]) -> None:
    result = run("eval", *[word.format(run=trained[0]) for word in words])
    assert result.exit_code == 2, result.output
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1


def test_panel_of_another_environment_is_refused(trained: tuple[Path, str]) -> None:
    result = run("eval", str(trained[0]), "--panel", "webshop/dev")
    assert result.exit_code == 1
    assert "is of sandgym/WebShop-v0" in result.stderr


def test_sft_fills_the_cache_that_train_uses(invoke: Invoke) -> None:
    settings = [w for text in [*SETTINGS, "sft.seed=3"] for w in ("--set", text)]
    first = invoke("sft", "--env", ENV, *settings)
    assert first.exit_code == 0, first.output
    assert "of the first 40: success" in first.output
    folder = Path(re.search(r"policy +(\S+)", first.output)[1])  # type: ignore[index]
    weights = (folder / "model.safetensors").read_bytes()
    assert "in the cache already" in invoke("sft", "--env", ENV, *settings).output
    again = invoke("sft", "--env", ENV, *settings, "--refresh")
    assert "fitting: 5 of 5 steps" in again.output
    assert (folder / "model.safetensors").read_bytes() == weights
    train = invoke("train", *SMALL, "--set", "sft.seed=3", "--updates", "0", "--out", "run")
    assert "warm start" not in train.output
    assert Path("run/start/model.safetensors").read_bytes() == weights


def test_sft_of_a_given_model(trained: tuple[Path, str], invoke: Invoke) -> None:
    model = str(trained[0] / "start")
    words = ["sft", "--env", ENV, "--model", model, "--set", "sft.steps=3", "--set", "sft.demonstrations=20"]
    assert "--out FOLDER" in invoke(*words).stderr
    result = invoke(*words, "--out", "warm")
    assert result.exit_code == 0, result.output
    assert Path("warm/model.safetensors").read_bytes() != (trained[0] / "start/model.safetensors").read_bytes()
    assert invoke(*words, "--out", "warm").exit_code == 2
    result = invoke("eval", "./warm", "--env", ENV, "--tasks", "2", "--samples", "1")
    assert result.exit_code == 0, result.output
    assert "2 dev tasks" in result.output


def test_sft_takes_a_recipe_and_what_is_given_goes_before_it(trained: tuple[Path, str], invoke: Invoke) -> None:
    model = trained[0] / "start"
    Path("mine.yaml").write_text(f"env: {ENV}\nalgo: ppo\nmodel: {model}\nsft: {{steps: 3, demonstrations: 20}}\n")
    result = invoke("sft", "--recipe", "mine.yaml", "--set", "sft.steps=2", "--out", "warm")
    assert result.exit_code == 0, result.output
    assert f"environment  {ENV}," in result.output
    assert "fitting: 2 of 2 steps" in result.output
    assert "playing demonstrations: 20 of 20" in result.output
    Path("wrong.yaml").write_text("sft: {stepps: 3}\n")
    result = invoke("sft", "--env", ENV, "--recipe", "wrong.yaml", "--out", "other")
    assert result.exit_code == 2
    assert "recipe wrong.yaml: sft.stepps: unknown setting" in result.stderr
