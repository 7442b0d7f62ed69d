"""``sandgym train``: what it prints and writes, how it stops and goes on."""

import json
import os
import re
import signal
from pathlib import Path

import pytest
import yaml
from commands import ENV, SMALL, Invoke, run, start

from algos.config import TrainConfig
from algos.runfolder import RunFolder
from algos.train import Trainer
from cli.console import console
from cli.live import Lines
from cli.progress import RunProgress
from cli.train import interruptible


def test_run_folder_holds_everything(trained: tuple[Path, str]) -> None:
    folder, _ = trained
    for name in ("config.yaml", "metrics.jsonl", "ledger.json", "evaluation.json", "curve.png", "start/config.json"):
        assert (folder / name).stat().st_size > 0
    assert any((folder / "tensorboard").iterdir())
    assert [p.name for p in (folder / "checkpoints").iterdir()] == ["update-000002"]
    config = yaml.safe_load((folder / "config.yaml").read_text())
    assert (config["env"], config["tasks_per_update"], config["tiny"]["hidden"]) == (ENV, 3, 32)


def test_output_says_what_happens(trained: tuple[Path, str]) -> None:
    folder, output = trained
    ledger = json.loads((folder / "ledger.json").read_text())
    for expected in (
        f"bpo on {ENV}, seed 0, in {folder}",
        "bundled: generated, no download",
        "playing demonstrations: 40 of 40",
        "warm start on demonstrations: 5 of 5",
        "evaluating before RL: 12 of 12",  # 4 tasks, greedy and 2 samples
        "update 2/2",
        "entropy",
        "branches",
        "ties",
        f"{ledger['episodes']} episodes",
        f"sandgym eval {folder}",
    ):
        assert expected in output


def test_table_shows_the_recorded_numbers_and_the_gain(trained: tuple[Path, str]) -> None:
    folder, output = trained
    recorded = json.loads((folder / "evaluation.json").read_text())
    for way in ("greedy", "sampled"):
        assert recorded["before"][way]["score"]["mean"] > 0  # else equal numbers would prove nothing
        for measure in ("success", "score"):
            before, after = (recorded[when][way][measure] for when in ("before", "after"))
            cells = [f"{100 * s['mean']:.1f} [{100 * s['low']:.1f}, {100 * s['high']:.1f}]" for s in (before, after)]
            gain = f"{100 * (after['mean'] - before['mean']):+.1f}"
            row = rf"{measure} +│ +{re.escape(cells[0])} +│ +{re.escape(cells[1])} +│ +{re.escape(gain)}"
            assert re.search(row, output)
    assert "sampled, temperature 1, 2 a task" in output


def test_default_folders_are_numbered(invoke: Invoke, tmp_path: Path) -> None:
    quick = [*SMALL, "--updates", "0", "--seed", "7", "--algo", "rloo"]
    assert invoke("train", *quick).exit_code == invoke("train", *quick).exit_code == 0
    names = sorted(p.name for p in (tmp_path / "runs").iterdir())
    assert names == ["alphabet_env-test-alphabet-v0-rloo-7-1", "alphabet_env-test-alphabet-v0-rloo-7-2"]


@pytest.mark.parametrize("algo", ["ppo", "rloo", "grpo"])
def test_other_algorithms_by_one_word(algo: str, invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("train", "--algo", algo, *SMALL, "--updates", "1", "--out", "run")
    assert result.exit_code == 0, result.output
    (row,) = RunFolder(tmp_path / "run").metrics()
    assert row["update"] == 1
    assert row["spent/trained_tokens"] > 0


def test_settings_reach_the_run(invoke: Invoke, tmp_path: Path) -> None:
    words = ["--updates", "0", "--lr", "1e-3", "--temperature", "0.7", "--data", "elsewhere", "--out", "run"]
    more = ["algo_options.roots=2", "optimizer.betas=0.8,0.95", "rollout.max_invalid_actions=none", "warm_start=false"]
    result = invoke("train", *SMALL, *words, *[w for text in more for w in ("--set", text)])
    assert result.exit_code == 0, result.output
    config = TrainConfig.load(tmp_path / "run" / "config.yaml")
    assert config.optimizer.lr == 1e-3
    assert config.optimizer.betas == (0.8, 0.95)
    assert config.temperature == config.evaluation.temperature == 0.7
    assert config.env_options == {"data": "elsewhere"}
    assert config.algo_options["roots"] == 2
    assert config.rollout.max_invalid_actions is None
    assert config.warm_start is False
    assert "sampled, temperature 0.7" in result.output
    assert "elsewhere: learns on train tasks" in result.output


def test_interrupt_saves_and_resume_goes_on(tmp_path: Path) -> None:
    words = ["train", *SMALL, "--updates", "40", "--set", "checkpoint_every=1000", "--out", "run"]
    process = start(*words, cwd=tmp_path)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("update 2/"):
            process.send_signal(signal.SIGINT)
            break
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "this update is finished and saved first" in rest
    assert errors == "stopped; go on with: sandgym train --resume run\n"
    assert "Traceback" not in errors
    folder = RunFolder(tmp_path / "run")
    done = folder.metrics()[-1]["update"]
    assert 2 <= done < 40
    assert [p.name for p in folder.checkpoints.iterdir()] == [f"update-{done:06d}"]

    resumed = start("train", "--resume", "run", cwd=tmp_path)
    output, errors = resumed.communicate(timeout=400)
    assert resumed.returncode == 0, errors
    assert f"update {done + 1}/40" in output
    assert f"update {done}/40" not in output
    assert [row["update"] for row in folder.metrics()] == list(range(1, 41))
    assert set(folder.evaluations()) == {"before", "after"}


def test_second_interrupt_stops_at_once(trained: tuple[Path, str]) -> None:
    folder, config = RunFolder.open(trained[0])
    progress = RunProgress(config.updates)
    shown = Lines(console(), progress)
    trainer = Trainer(config, folder, shown)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interruptible(trainer, shown, progress):  # noqa: PT012  two signals
        os.kill(os.getpid(), signal.SIGINT)
        assert trainer.stop_requested
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_resume_of_a_finished_run_shows_its_table(trained: tuple[Path, str]) -> None:
    folder, output = trained
    result = run("train", "--resume", str(folder))
    assert result.exit_code == 0
    table = output[output.index("┏") : output.index("└")]
    assert table in result.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--algo", "bop"], "unknown algorithm 'bop'; known: bpo, grpo, ppo, rloo"),
        (["--env", "webshp"], "unknown environment 'webshp'"),
        (["--env", "nowhere:Env-v0"], "cannot import 'nowhere'"),
        (["--env", "CartPole-v1"], "CartPole-v1 cannot be trained on: it has no snapshot"),
        (["--set", "optimizer.rl=1"], "unknown setting 'rl'; known: optimizer.lr, optimizer.embedding_lr_factor"),
        (["--set", "algo_options.episodes=3"], "known: algo_options.roots, algo_options.branches"),
        (["--set", "algo_options.selection=best"], "'best' is not one of 'threshold', 'influence', 'uniform'"),
        (["--set", "algo_options.children=1"], "children >= 2"),
        (["--set", "optimizer=1"], "names a group; set one of optimizer.lr"),
        (["--set", "updates=many"], "expected int, not 'many'"),
        (["--set", "updates"], "--set takes key=value"),
        (["--set", "warm_start=maybe"], "expected true or false"),
        (["--set", "optimizer.lr=1", "--lr", "2"], "optimizer.lr is set twice"),
        (["--set", "seed=1", "--set", "seed=2"], "--set seed is given twice"),
        (["--set", "env=webshop"], "--env"),
        (["--set", "env_options.colour=red"], "colour"),
        (["--temperature", "-1"], "temperature must be positive"),
        (["--updates", "-1"], "updates is too small"),
        (["--model", "./nothing"], "there is no model folder ./nothing"),
        (["--resume", "nowhere"], "nowhere is not a run folder"),
        (["--resume", "nowhere", "--updates", "3", "--set", "seed=1"], "leave out --updates, --set"),
        (["--updats", "3"], "No such option"),
    ],
)
def test_bad_command_lines(words: list[str], expected: str, invoke: Invoke, tmp_path: Path) -> None:
    given = words if "--env" in words or "--resume" in words else ["--env", ENV, *words]
    result = invoke("train", *given)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert expected in result.stderr
    assert not (tmp_path / "runs").exists()


def test_folder_with_a_run_is_left_alone(trained: tuple[Path, str]) -> None:
    before = (trained[0] / "config.yaml").read_bytes()
    result = run("train", *SMALL, "--out", str(trained[0]), "--seed", "5")
    assert result.exit_code == 2
    assert f"--resume {trained[0]}" in result.stderr
    assert (trained[0] / "config.yaml").read_bytes() == before


def test_failed_start_leaves_no_folder(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    result = invoke("train", *SMALL, "--model", "model")  # a folder, but no model in it
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert list((tmp_path / "runs").iterdir()) == []
