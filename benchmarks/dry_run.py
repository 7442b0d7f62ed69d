"""What `sandgym train --dry-run` says beside what a run takes: memory and seconds of each phase.

    python benchmarks/dry_run.py --set updates=2 --set eval_tasks=48

Estimates a run of `tiny` and then makes it, both with the given settings and each in a process of its own; warm-start
`tiny` first (`sandgym sft`), or its episodes are not those of the estimate. Writes ``benchmarks/results/dry_run.json``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

RESULT = Path(__file__).parent / "results" / "dry_run.json"
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
PHASES = {
    "demonstrations": "warm start",
    "sft": "warm start",
    "evaluating": "evaluation",
    "rollout": "rollout",
    "learning": "learning",
}


def measured(words: list[str]) -> dict[str, Any]:
    """Peak memory, and mean seconds, of each phase of a real run in this process."""
    from algos.runfolder import RunFolder
    from algos.train import Trainer

    peaks: dict[str, float] = {}
    seconds: dict[str, list[float]] = {}
    phase, since = "", time.perf_counter()

    def enter(new: str) -> None:
        nonlocal phase, since
        now = time.perf_counter()
        if phase:
            peaks[phase] = max(peaks.get(phase, 0.0), _peak())
        if new != phase:
            seconds.setdefault(phase, []).append(now - since)
            phase, since = new, now
        CLEAR.write_text("5", encoding="ascii")  # the peak starts anew

    def listen(event: str, data: dict[str, Any]) -> None:
        enter(PHASES.get(event, "between"))

    with tempfile.TemporaryDirectory() as place:
        config = _config(words)
        folder = RunFolder.create(Path(place) / "run", config)
        Trainer(config, folder, listen).run()
        enter("end")
        rows = folder.metrics()
    mean = {name: sum(times) / len(times) for name, times in seconds.items() if name in PHASES.values()}
    for name, column in (("rollout", "spent/rollout_seconds"), ("learning", "spent/learn_seconds")):
        mean[name] = sum(row[column] for row in rows) / len(rows)  # the events come within a phase
    return {"memory": {name: peaks[name] for name in mean}, "seconds": mean}


def estimated(words: list[str]) -> dict[str, Any]:
    """The estimate's memory and seconds of each phase."""
    from algos.estimate import memory, seconds
    from algos.probe import probe
    from cli.environments import make
    from cli.estimate import process_memory

    config = _config(words)
    env = make(config.env, config.training_arguments())
    env.reset(seed=0)
    process = process_memory()
    found = probe(config, env)
    parts = memory(found.size, found.work, config, process, found.warm)
    times = seconds(found.work, found.speed, config, found.warm)
    return {
        "memory": {name: sum(part.values()) for name, part in parts.items()},
        "seconds": {name: each for name, (_, each) in times.items()},
        "parts": parts,
        "notes": found.notes,
    }


def _config(words: list[str]) -> Any:
    from cli.runs import configuration
    from cli.settings import assignments

    pairs = assignments(words)
    return configuration(pairs.pop("algo", "bpo"), "sandgym/WebShop-v0", pairs)


def _peak() -> float:
    """Peak resident bytes since it was last reset (Linux)."""
    line = next(line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
    return float(line.split()[1]) * 1024


def main() -> None:
    """Estimate, run, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; repeatable")
    parser.add_argument("--only", choices=("estimated", "measured"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    ways: dict[str, Callable[[list[str]], dict[str, Any]]] = {"estimated": estimated, "measured": measured}
    if arguments.only:
        print(json.dumps(ways[arguments.only](arguments.set)))
        return
    result: dict[str, Any] = {"date": date.today().isoformat(), "settings": arguments.set}
    for way in ways:
        words = [word for given in arguments.set for word in ("--set", given)]
        command = [sys.executable, __file__, "--only", way, *words]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        result[way] = json.loads(done.stdout.splitlines()[-1])
    result["ratio"] = {
        what: {n: v / result["measured"][what][n] for n, v in result["estimated"][what].items()}
        for what in ("memory", "seconds")
    }
    peaks = [max(result[way]["memory"].values()) for way in ways]
    result["ratio"]["peak"] = peaks[0] / peaks[1]
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
