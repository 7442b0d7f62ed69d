"""What `sandgym train` gains on the bundled data: success and score before and after, a run an algorithm and seed.

    python benchmarks/main_job.py --env webshop --algo bpo --algo rloo --seed 0 --seed 1 --seed 2

Runs that are in the folder already are read, not run again. With ``--set`` and a name for such runs, variants of an
algorithm stand beside it:

    python benchmarks/main_job.py --env webshop --name bpo-shrunk --set algo_options.baseline=shrunk

Writes ``benchmarks/results/main_job_ENV.json``, where rows of other names and seeds stay, and prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run, collect, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="webshop", help="short name of an environment (default: webshop)")
    parser.add_argument("--algo", action="append", help="bpo, rloo, grpo or ppo; may be repeated (default: bpo)")
    parser.add_argument("--seed", action="append", type=int, help="may be repeated (default: 0)")
    parser.add_argument("--folder", type=Path, default=Path("runs/main_job"), help="where the runs live")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; may be repeated")
    parser.add_argument("--name", help="of runs with --set (default: the algorithm's)")
    arguments = parser.parse_args()
    path = RESULTS / f"main_job_{arguments.env}.json"
    rows = {(row["name"], row["seed"]): row for row in json.loads(path.read_text(encoding="utf-8"))}
    for algo in arguments.algo or ["bpo"]:
        for seed in arguments.seed or [0]:
            name = arguments.name or algo
            folder = arguments.folder / f"{arguments.env}-{name}-{seed}"
            rows[name, seed] = {"name": name, **result(folder, arguments.env, algo, seed, arguments.set)}
    path.write_text(json.dumps(list(rows.values()), indent=1) + "\n", encoding="utf-8")
    print(table(list(rows.values())))


def result(folder: Path, env: str, algo: str, seed: int, settings: list[str]) -> dict[str, Any]:
    """Evaluations and ledger of one run; the run is made or resumed when it is not finished."""
    evaluation = folder / "evaluation.json"
    if not evaluation.is_file() or "after" not in json.loads(evaluation.read_text(encoding="utf-8")):
        words = ["--resume", str(folder)] if folder.is_dir() else ["--algo", algo, "--env", env]
        if not folder.is_dir():
            words += ["--seed", str(seed), "--out", str(folder)]
            words += [word for setting in settings for word in ("--set", setting)]
        subprocess.run([sys.executable, "-m", "cli.main", "train", *words], check=True)
    return {
        "algo": algo,
        "settings": settings,
        "seed": seed,
        **json.loads(evaluation.read_text(encoding="utf-8")),
        "ledger": json.loads((folder / "ledger.json").read_text(encoding="utf-8")),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Success in percent with 95 % intervals, sampled and greedy, before and after."""
    lines = [
        "| algorithm | seed | sampled, before | sampled, after | greedy, before | greedy, after |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [percent(row[when][how]["success"]) for how in ("sampled", "greedy") for when in ("before", "after")]
        lines.append(f"| `{row['name']}` | {row['seed']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def percent(statistic: dict[str, float]) -> str:
    """A mean with its interval."""
    return f"{100 * statistic['mean']:.1f} ({100 * statistic['low']:.1f} to {100 * statistic['high']:.1f})"


if __name__ == "__main__":
    main()
