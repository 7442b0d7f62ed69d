"""Training runs end to end: all algorithms on WebShop, stopping, crashing, a real ``kill -9``."""

import contextlib
import dataclasses
import errno
import json
import math
import os
import shutil
from pathlib import Path

import pytest
import yaml
from letters import LettersEnv
from sizes import SHOP, SMALL
from torch.utils.tensorboard import SummaryWriter

from algos.checkpoint import CheckpointError, checkpoints
from algos.config import TrainConfig
from algos.evaluate import EvaluationConfig
from algos.learner import OptimizerConfig
from algos.ledger import Ledger
from algos.policy import Policy
from algos.registry import ALGORITHMS
from algos.rollout import RolloutConfig
from algos.runfolder import RunFolder
from algos.sft import SFTConfig
from algos.train import Stopped, Trainer, evaluate_policy
from benchmarks.kill_resume import Moment, killed, left_alone

OPTIONS = {
    "ppo": {"episodes": 3, "entropy_coefficient": 0.01},
    "rloo": {"episodes": 3, "entropy_coefficient": 0.01},
    "grpo": {"episodes": 3, "entropy_coefficient": 0.01, "kl_coefficient": 0.05, "minibatches": 2},
    "bpo": {"roots": 2, "entropy_coefficient": 0.01, "initial_threshold": 4.0},
}
UPDATE_EVENTS = ("rollout", "learning", "update", "saving", "saved")
TIMES = ("env_seconds", "rollout_seconds", "learn_seconds")


def shop_config(algo: str, **changes) -> TrainConfig:
    """A run of seconds: random policies say nothing that the shop understands, the entropy bonus teaches."""
    settings = {
        "env": "sandgym/WebShop-v0",
        "env_options": {"max_steps": 3},
        "algo": algo,
        "algo_options": OPTIONS[algo],
        "updates": 2,
        "tasks_per_update": 2,
        "max_turn_tokens": 6,
        "eval_tasks": 2,
        "checkpoint_every": 1,
        "evaluation": EvaluationConfig(samples=2, max_turn_tokens=6),
        "rollout": RolloutConfig(max_invalid_actions=None),
        "optimizer": OptimizerConfig(lr=1e-3, micro_batch_tokens=2000),
        "sft": SFTConfig(demonstrations=20),
        "tiny": SHOP,
        "warm_start": False,
    }
    return TrainConfig(**(settings | changes))


def letters_config(algo: str, **changes) -> TrainConfig:
    """A run in which a random policy earns something."""
    options = OPTIONS[algo] if algo != "bpo" else OPTIONS[algo] | {"children": 2}
    settings = {
        "env": "tests/Letters-v0",
        "env_options": {},
        "algo_options": options,
        "updates": 4,
        "tasks_per_update": 3,
        "eval_tasks": 3,
        "checkpoint_every": 2,
        "tiny": SMALL,
        "sft": SFTConfig(demonstrations=10),
    }
    return shop_config(algo, **(settings | changes))


def start(config: TrainConfig, path: Path, listener=None) -> RunFolder:
    folder = RunFolder.create(path, config)
    Trainer(config, folder, listener).run()
    return folder


def resume(path: Path) -> RunFolder:
    folder, config = RunFolder.open(path)
    Trainer(config, folder).run()
    return folder


def numbers(folder: RunFolder) -> list[dict]:
    """The metrics without what a clock wrote."""
    return [{k: v for k, v in row.items() if not k.endswith(TIMES)} for row in folder.metrics()]


def spent(folder: RunFolder) -> dict:
    ledger = json.loads((folder.path / "ledger.json").read_text())
    return {k: v for k, v in ledger.items() if k not in TIMES}


def same(one: RunFolder, other: RunFolder) -> None:
    for row, expected in zip(numbers(one), numbers(other), strict=True):
        assert {k: (v, expected.get(k)) for k, v in row.items() if v != expected.get(k)} == {}
        assert row == expected
    assert one.evaluations() == other.evaluations()
    assert spent(one) == spent(other)
    newest = [Policy.load(checkpoints(f.checkpoints)[-1]).model.state_dict() for f in (one, other)]
    assert all(weight.equal(newest[1][name]) for name, weight in newest[0].items())


@pytest.mark.parametrize("algo", sorted(ALGORITHMS))
def test_a_run_on_webshop_from_end_to_end(algo, tmp_path):
    events: list[str] = []
    config = shop_config(algo)
    folder = start(config, tmp_path / "run", lambda event, data: events.append(event))
    rows = folder.metrics()
    assert [row["update"] for row in rows] == [1, 2]
    for row in rows:
        assert all(math.isfinite(value) for value in row.values()), row
        assert row["grad_norm"] > 0
        assert row["spent/episodes"] >= 4
        assert row["lr"] > 0
    assert ("branches_per_root" in rows[0]) == (algo == "bpo")
    evaluations = folder.evaluations()
    assert set(evaluations) == {"before", "after"}
    for summary in evaluations.values():
        assert (summary["greedy"]["samples"], summary["sampled"]["samples"]) == (1, 2)
        assert 0 <= summary["sampled"]["score"]["mean"] <= 1
    names = {p.name for p in folder.path.iterdir()}
    assert names == {
        "config.yaml",
        "metrics.jsonl",
        "tensorboard",
        "ledger.json",
        "evaluation.json",
        "start",
        "checkpoints",
        "curve.png",
    }
    assert set(events) == {"demonstrations", "evaluating", "evaluated", *UPDATE_EVENTS}
    assert spent(folder)["updates"] == 2
    assert Ledger.from_dict(json.loads((folder.path / "ledger.json").read_text())).generated_tokens > 0
    first, last = (Policy.load(folder.policy(which)).model.state_dict() for which in ("start", "latest"))
    assert any(not first[name].equal(last[name]) for name in first)
    again = {n: r.summary() for n, r in evaluate_policy(config, Policy.load(folder.policy())).items()}
    assert again == evaluations["after"], "evaluating the folder gives the same numbers"


@pytest.mark.parametrize("algo", sorted(ALGORITHMS))
def test_a_crashed_run_goes_on_with_the_same_numbers(algo, tmp_path):
    """Cut back to the checkpoint after update 2: the rows after it, half a row, are made again."""
    whole = start(letters_config(algo), tmp_path / "whole")
    assert len({json.dumps(row.get("return")) for row in numbers(whole)}) > 1
    shutil.copytree(whole.path, tmp_path / "crashed")
    shutil.rmtree(tmp_path / "crashed" / "checkpoints" / "update-000004")
    metrics = tmp_path / "crashed" / "metrics.jsonl"
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:3]) + '{"update": 4, "succ')
    evaluation = tmp_path / "crashed" / "evaluation.json"
    evaluation.write_text(json.dumps({"before": json.loads(evaluation.read_text())["before"]}))
    same(resume(tmp_path / "crashed"), whole)


def test_a_webshop_run_killed_in_every_phase_goes_on_with_the_same_numbers(tmp_path):
    """SIGKILL in a rollout, in learning and while a checkpoint is written; nothing is lost but the update at hand."""
    config = shop_config("bpo", updates=6)
    whole, broken = (RunFolder.create(tmp_path / name, config) for name in ("whole", "broken"))
    seconds = left_alone(whole.path)
    kills = killed(
        broken.path, [Moment("learning", 1, 0.5), Moment("saving", 2, 0.4), Moment("rollout", 4, 0.5)], seconds
    )
    assert len(kills) == 3
    assert all(kill.completed - kill.resumed_from in (0, 1) for kill in kills), kills
    same(broken, whole)


def test_a_damaged_checkpoint_costs_the_updates_since_the_one_before(tmp_path, caplog):
    config = letters_config("rloo", eval_every=3, checkpoint_every=1)
    whole = start(config, tmp_path / "whole")
    shutil.copytree(whole.path, tmp_path / "damaged")
    damaged = RunFolder(tmp_path / "damaged")
    os.truncate(damaged.policy() / "model.safetensors", 1000)
    updates = []
    Trainer(config, damaged, lambda event, data: event == "update" and updates.append(data["update"])).run()
    assert updates == [4]
    assert "update-000004 is damaged" in caplog.text
    same(damaged, whole)


def test_a_run_without_a_sound_checkpoint_is_an_error_that_changes_nothing(tmp_path):
    folder = start(letters_config("rloo", updates=2), tmp_path / "run")
    os.truncate(folder.policy() / "optimizer.pt", 100)
    before = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    with pytest.raises(CheckpointError, match=r"no checkpoint in .* can be used"):
        resume(folder.path)
    assert {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()} == before


def test_a_damaged_start_is_an_error(tmp_path):
    folder = start(letters_config("rloo", updates=1), tmp_path / "run")
    (folder.start_policy / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"start is damaged: config.json .* Put back a copy of it"):
        resume(folder.path)


def test_evaluations_and_metrics_are_cut_back_to_the_checkpoint(tmp_path):
    folder = RunFolder.create(tmp_path / "run", letters_config("rloo"))
    for update in (1, 2, 3, 4):
        (folder.path / "metrics.jsonl").open("a").write(json.dumps({"update": update}) + "\n")
    for when in ("before", "update 2", "update 4", "after"):
        folder.write_evaluation(when, {"when": when})
    folder.start(4, finished=True)
    assert list(folder.evaluations()) == ["before", "update 2", "update 4", "after"]
    folder.start(4, finished=False)
    assert list(folder.evaluations()) == ["before", "update 2", "update 4"]
    folder.start(3, finished=False)
    folder.close()
    assert list(folder.evaluations()) == ["before", "update 2"]
    assert [row["update"] for row in folder.metrics()] == [1, 2, 3]


def test_the_best_policy_is_the_one_that_was_evaluated_best_and_is_kept(tmp_path):
    config = letters_config("rloo", updates=6, eval_every=2, checkpoint_every=1)
    folder = RunFolder.create(tmp_path / "run", config)
    successes = {"before": 0.1, "update 2": 0.6, "update 4": 0.6, "after": 0.3}

    def write(when, summary, success):  # as if the policy had played so
        statistic = dict.fromkeys(("mean", "low", "high"), success)
        sampled = {**summary["sampled"], "success": statistic, "score": statistic}
        folder.write_evaluation(when, {**summary, "sampled": sampled})

    def listen(event, data):
        if event == "evaluated":
            write(data["when"], {way: data[way] for way in ("greedy", "sampled")}, successes[data["when"]])

    Trainer(config, folder, listen).run()
    assert [p.name for p in checkpoints(folder.checkpoints)] == ["update-000002", "update-000005", "update-000006"]
    assert folder.policy("best").name == "update-000002", "the earliest of equals"
    summary = folder.evaluations()["after"]
    write("after", summary, 0.7)
    assert folder.policy("best").name == "update-000006"
    write("before", summary, 0.8)
    assert folder.policy("best").name == "start"
    write("before", summary, float("nan"))
    assert folder.policy("best").name == "update-000006", "an evaluation whose episodes all failed says nothing"
    assert RunFolder(tmp_path / "none").best() is None


def test_a_full_disk_stops_the_run_and_says_how_to_go_on(tmp_path, monkeypatch):
    folder = RunFolder.create(tmp_path / "run", letters_config("rloo", checkpoint_every=1))

    def fail(row):
        raise OSError(errno.ENOSPC, "No space left on device")

    def listen(event, data):
        if event == "saved" and data["update"] == 2:
            monkeypatch.setattr(folder, "write_metrics", fail)

    with pytest.raises(CheckpointError, match=r"No space left.* free some space, then go on with --resume .*run"):
        Trainer(letters_config("rloo", checkpoint_every=1), folder, listen).run()
    same(resume(folder.path), start(letters_config("rloo", checkpoint_every=1), tmp_path / "whole"))


def test_a_run_is_trained_by_one_process_at_a_time(tmp_path):
    config = letters_config("rloo", updates=2)
    refused = []

    def listen(event, data):
        if event == "update":
            with pytest.raises(BlockingIOError, match="another process is training in") as caught:
                resume(tmp_path / "run")
            refused.append(caught)

    folder = start(config, tmp_path / "run", listen)
    assert len(refused) == 2
    assert [row["update"] for row in folder.metrics()] == [1, 2]
    same(resume(tmp_path / "run"), folder)


def test_a_stopped_run_is_saved_and_goes_on(tmp_path):
    config = letters_config("rloo", checkpoint_every=10)
    whole = start(config, tmp_path / "whole")
    folder = RunFolder.create(tmp_path / "stopped", config)

    def listen(event, data):
        trainer.stop_requested |= event == "update" and data["update"] == 3

    trainer = Trainer(config, folder, listen)
    with pytest.raises(Stopped):
        trainer.run()
    assert [p.name for p in checkpoints(folder.checkpoints)] == ["update-000003"]
    same(resume(folder.path), whole)


def test_a_run_stopped_in_its_warm_start_leaves_nothing_half_done_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path / "data"))
    sft = SFTConfig(demonstrations=10, steps=4, batch_tokens=200, drill_steps=1)
    config = letters_config("rloo", updates=1, warm_start=True, sft=sft)
    folder = RunFolder.create(tmp_path / "run", config)

    def listen(event, data):
        trainer.stop_requested |= event == "sft" and data["step"] == 2

    trainer = Trainer(config, folder, listen)
    with pytest.raises(Stopped):
        trainer.run()
    assert [p.name for p in folder.path.iterdir()] == ["config.yaml"]
    assert [row["update"] for row in resume(folder.path).metrics()] == [1]


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_closes_its_event_file_and_environments(fails, tmp_path, monkeypatch):
    closed: list[str] = []
    monkeypatch.setattr(
        SummaryWriter, "close", lambda self, close=SummaryWriter.close: [closed.append("events"), close(self)]
    )
    monkeypatch.setattr(LettersEnv, "close", lambda self: closed.append(self.world))

    def listen(event, data):
        if fails and event == "update":
            raise RuntimeError("a listener broke")

    config = letters_config("rloo", updates=1)
    folder = RunFolder.create(tmp_path / "run", config)
    with pytest.raises(RuntimeError, match="broke") if fails else contextlib.nullcontext():
        Trainer(config, folder, listen).run()
    assert closed[-2:] == ["events", "letters train 5"]
    assert closed.count("events") == 1
    folder.close()


def test_evaluations_between_updates_survive_a_stop(tmp_path):
    config = letters_config("rloo", eval_every=2, checkpoint_every=2)
    whole = start(config, tmp_path / "whole")
    assert list(whole.evaluations()) == ["before", "update 2", "after"]
    folder = RunFolder.create(tmp_path / "stopped", config)

    def listen(event, data):
        trainer.stop_requested |= event == "saved"

    trainer = Trainer(config, folder, listen)
    with pytest.raises(Stopped):
        trainer.run()
    assert resume(folder.path).evaluations() == whole.evaluations()


def test_a_finished_run_resumed_changes_nothing(tmp_path):
    folder = start(letters_config("rloo", updates=2), tmp_path / "run")
    before = numbers(folder), folder.evaluations(), spent(folder)
    resume(folder.path)
    assert (numbers(folder), folder.evaluations(), spent(folder)) == before


def test_learning_raises_the_return(tmp_path):
    """With a margin: a run of 40 updates on the letters ends well above where it began."""
    config = letters_config("rloo", updates=40, checkpoint_every=40, algo_options={"episodes": 8})
    config = dataclasses.replace(config, optimizer=OptimizerConfig(lr=1e-2, final_lr_factor=0.5))
    returns = [row["return"] for row in start(config, tmp_path / "run").metrics()]
    assert sum(returns[-5:]) / 5 > sum(returns[:5]) / 5 + 0.1


def test_a_second_run_in_the_same_folder_is_refused(tmp_path):
    RunFolder.create(tmp_path, letters_config("rloo"))
    with pytest.raises(FileExistsError, match="holds a run already; go on with --resume"):
        RunFolder.create(tmp_path, letters_config("ppo"))
    assert yaml.safe_load((tmp_path / "config.yaml").read_text())["algo"] == "rloo"


def test_a_folder_without_a_run_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a run folder: it has no config"):
        RunFolder.open(tmp_path)
    folder = RunFolder.create(tmp_path / "run", letters_config("rloo"))
    with pytest.raises(FileNotFoundError, match=r"no policy 'latest' in .*; it has: none"):
        folder.policy()
