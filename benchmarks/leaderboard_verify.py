"""How long a verification takes: every episode of a submission replayed, on two processes.

The panels are the official ones, so their data must be there (`sandgym data`). Each is played by chance, whose
episodes are the longest: nearly every one goes on to the horizon. Nothing is taken from an earlier verification.

    python benchmarks/leaderboard_verify.py [--jobs 2] [--repeats 5]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PANELS = ("webshop/official-1000-test", "alfworld/official-valid-unseen")


def command(*words: str) -> str:
    """Run the command line in a process of its own, as a user does; what it printed."""
    done = subprocess.run([sys.executable, "-m", "cli.main", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def measure(panel: str, jobs: int, repeats: int) -> dict[str, object]:
    """Seconds of whole verifications of one panel, from the start of the process to its end."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "submission")
        command("eval", "random", "--panel", panel, "--out", out)
        seconds = []
        for _ in range(repeats):
            started = time.perf_counter()
            printed = command("leaderboard", "verify", out, "--jobs", str(jobs), "--fresh")
            seconds.append(time.perf_counter() - started)
        size = (Path(out) / "episodes.jsonl.gz").stat().st_size
    return {
        "panel": panel,
        "found": " ".join(printed.split(": ", 1)[1].splitlines()[0].split()),
        "jobs": jobs,
        "seconds": [round(each, 2) for each in seconds],
        "median_seconds": round(statistics.median(seconds), 2),
        "bytes": size,
    }


def main() -> None:
    """Measure and write ``results/leaderboard_verify.json``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    found = [measure(panel, arguments.jobs, arguments.repeats) for panel in PANELS]
    report = {"cpus": os.cpu_count(), "python": platform.python_version(), "panels": found}
    path = Path(__file__).parent / "results" / "leaderboard_verify.json"
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(path.read_text())


if __name__ == "__main__":
    main()
