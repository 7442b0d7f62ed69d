"""A run that is killed again and again: does each resume go on, and are the numbers those of a run left alone?

    python benchmarks/kill_resume.py --kills 20

Trains a small random policy on WebShop's bundled data twice: once left alone, once killed with SIGKILL at random
moments of rollouts, of learning and of writing checkpoints, and resumed each time. Writes
``benchmarks/results/kill_resume.json``; fails when a number differs or more than ``checkpoint_every`` updates are lost.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

import sandgym  # noqa: F401  registers the environments
from algos.checkpoint import PARTIAL, newest_checkpoint
from algos.config import TrainConfig
from algos.evaluate import EvaluationConfig
from algos.learner import OptimizerConfig
from algos.policy import Policy
from algos.rollout import RolloutConfig
from algos.runfolder import RunFolder
from algos.sft import SFTConfig
from algos.tiny import TinyConfig
from algos.train import Trainer

RESULT = Path(__file__).parent / "results" / "kill_resume.json"
PHASES = ("rollout", "learning", "saving")
TIMES = ("env_seconds", "rollout_seconds", "learn_seconds")
CONFIG = TrainConfig(
    env="sandgym/WebShop-v0",
    env_options={"max_steps": 4},
    algo="bpo",
    algo_options={"roots": 2, "entropy_coefficient": 0.01, "initial_threshold": 4.0},
    updates=30,
    tasks_per_update=3,
    max_turn_tokens=8,
    eval_tasks=4,
    eval_every=7,
    checkpoint_every=1,
    warm_start=False,
    rollout=RolloutConfig(max_invalid_actions=None),
    optimizer=OptimizerConfig(lr=1e-3, micro_batch_tokens=2000),
    evaluation=EvaluationConfig(samples=2, max_turn_tokens=8),
    sft=SFTConfig(demonstrations=20),
    tiny=TinyConfig(vocabulary=500, hidden=32, layers=2, heads=4, kv_heads=2, intermediate=48, context=2048),
)


@dataclass(frozen=True)
class Moment:
    """When to kill: in a phase of an update (or of the first later one that gets there), after a share of its time."""

    phase: str
    update: int
    share: float


@dataclass(frozen=True)
class Kill:
    """What a kill met, and what the resume after it went on from.

    Attributes:
        phase: what the process had last said that it does.
        update: the update that it was at.
        completed: updates whose metrics had been written.
        partial: files of the checkpoint that was being written.
        resumed_from: updates that the resumed run had.
    """

    phase: str
    update: int
    completed: int
    partial: list[str]
    resumed_from: int


def train(path: Path, told: Connection) -> None:
    """Run or resume, in a process of its own, and tell what happens."""
    torch.set_num_threads(1)
    folder, config = RunFolder.open(path)
    events = (*PHASES, "update", "saved")
    Trainer(config, folder, lambda event, data: event in events and told.send((event, data["update"]))).run()
    told.send(("finished", config.updates))


@contextmanager
def process(path: Path) -> Iterator[tuple[Any, Connection]]:
    """A process that trains in a folder, and the end of the pipe at which it tells."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["algos.train", "sandgym"])
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=train, args=(path, theirs), daemon=True)
    child.start()
    theirs.close()
    try:
        yield child, ours
    finally:
        child.kill()
        child.join()


def left_alone(path: Path) -> dict[str, float]:
    """Train to the end; returns the median seconds of each phase."""
    seconds: dict[str, list[float]] = {phase: [] for phase in PHASES}
    with process(path) as (_, told):
        last, since = "", time.perf_counter()
        while last != "finished":
            event, _ = told.recv()
            now = time.perf_counter()
            if event != last and last in seconds:
                seconds[last].append(now - since)
            if event != last:
                last, since = event, now
    return {phase: sorted(times)[len(times) // 2] for phase, times in seconds.items()}


def killed(path: Path, moments: Sequence[Moment], seconds: dict[str, float]) -> list[Kill]:
    """Train to the end in spite of a kill at each moment."""
    kills: list[Kill] = []
    met: tuple[str, int, int, list[str]] | None = None
    for moment in [*moments, None]:
        with process(path) as (child, told):
            event, update, completed = _until(told, moment, met, kills)
            if moment is None:
                return kills
            time.sleep(moment.share * seconds[moment.phase])
            child.kill()
            child.join()
            heard = [(event, update), *_rest(told)]
            completed = max([completed, *(u for e, u in heard if e == "update")])
        partial = [file.name for left in path.glob(f"checkpoints/{PARTIAL}*") for file in left.iterdir()]
        met = (*heard[-1], completed, sorted(partial))
    raise AssertionError("not reached")


def _until(told: Connection, moment: Moment | None, met: Any, kills: list[Kill]) -> tuple[str, int, int]:
    """Listen until the moment has come, or to the end; notes where the run after the last kill goes on."""
    completed, first = 0, True
    while True:
        event, update = told.recv()
        if first:
            completed, first = update - 1, False
            if met is not None:
                kills.append(Kill(*met, resumed_from=update - 1))
        completed = update if event == "update" else completed
        if event == "finished":
            if moment is not None:
                raise RuntimeError(f"the run ended before {moment}")
            return event, update, completed
        if moment is not None and event == moment.phase and update >= moment.update:
            return event, update, completed


def _rest(told: Connection) -> Iterator[tuple[str, int]]:
    """What was told until the kill."""
    try:
        while told.poll():
            yield told.recv()
    except EOFError:
        return


def random_moments(kills: int, updates: int, seed: int) -> list[Moment]:
    """Each phase equally often, in random order, all along the run, a random way into the phase."""
    rng = random.Random(seed)
    phases = [PHASES[i % len(PHASES)] for i in range(kills)]
    rng.shuffle(phases)
    at = [1 + int((i + rng.random()) * (updates - 4) / kills) for i in range(kills)]
    return [Moment(phase, update, rng.random()) for phase, update in zip(phases, at, strict=True)]


def differences(one: RunFolder, other: RunFolder) -> list[str]:
    """Where two runs are not the same, times aside: metrics, evaluations, what was spent, weights."""
    found = []
    rows, expected = (
        [{k: v for k, v in r.items() if not k.endswith(TIMES)} for r in f.metrics()] for f in (one, other)
    )
    found += [f"metrics of update {e['update']}" for r, e in zip(rows, expected, strict=False) if r != e]
    found += ["number of updates"] if len(rows) != len(expected) else []
    found += ["evaluations"] if one.evaluations() != other.evaluations() else []
    spent = [json.loads((f.path / "ledger.json").read_text(encoding="utf-8")) for f in (one, other)]
    found += ["ledger"] if any(spent[0][k] != spent[1][k] for k in spent[1] if k not in TIMES) else []
    newest = [newest_checkpoint(f.checkpoints) for f in (one, other)]
    states = [Policy.load(path).model.state_dict() for path in newest if path is not None]
    found += [f"weight {name}" for name, weight in states[0].items() if not weight.equal(states[1][name])]
    return found


def main() -> None:
    """Train twice, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="default: 20")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default: 0)")
    arguments = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        whole = RunFolder.create(Path(place) / "whole", CONFIG)
        seconds = left_alone(whole.path)
        broken = RunFolder.create(Path(place) / "broken", CONFIG)
        kills = killed(broken.path, random_moments(arguments.kills, CONFIG.updates, arguments.seed), seconds)
        found = differences(broken, whole)
    lost = [kill.completed - kill.resumed_from for kill in kills]
    result = {
        "date": date.today().isoformat(),
        "env": CONFIG.env,
        "algo": CONFIG.algo,
        "updates": CONFIG.updates,
        "checkpoint_every": CONFIG.checkpoint_every,
        "seconds_of_phase": seconds,
        "kills": [asdict(kill) for kill in kills],
        "kills_by_phase": {
            phase: sum(kill.phase == phase for kill in kills) for phase in sorted({k.phase for k in kills})
        },
        "kills_with_a_partial_checkpoint": sum(bool(kill.partial) for kill in kills),
        "most_updates_lost": max(lost),
        "differences_from_the_run_left_alone": found,
        "seconds": time.perf_counter() - began,
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({key: value for key, value in result.items() if key != "kills"}, indent=1))
    if found or max(lost) > CONFIG.checkpoint_every:
        raise SystemExit("the killed run is not the run that was left alone")


if __name__ == "__main__":
    main()
