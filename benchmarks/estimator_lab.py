"""Bias and variance of the policy-gradient estimators on problems whose gradients are known.

    python benchmarks/estimator_lab.py [--trees 400] [--replicates 4] [--method NAME ...] [--family NAME ...]

Every method is measured on every family by default; the six main ones with ``--trees 160 --replicates 3`` take five
minutes on one core. Writes
``benchmarks/results/estimator_lab.json`` and ``docs/estimator_lab.png`` and prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from algos.lab.estimate import LabConfig, run_lab
from algos.lab.methods import MAIN, METHODS
from algos.lab.problems import FAMILIES
from algos.lab.report import draw, markdown, rows

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", choices=list(FAMILIES), help="may be repeated (default: all)")
    parser.add_argument("--method", action="append", choices=list(METHODS), help="may be repeated (default: all)")
    parser.add_argument("--trees", type=int, default=400, help="in each replicate (default: 400)")
    parser.add_argument("--replicates", type=int, default=4, help="independent repetitions (default: 4)")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/estimator_lab.json", help="JSON file")
    arguments = parser.parse_args()
    config = LabConfig(arguments.replicates, arguments.trees)
    measured = []
    for family in arguments.family or FAMILIES:
        methods = arguments.method or list(METHODS)
        measured += run_lab([family], methods, config)
        print(family, "done", file=sys.stderr, flush=True)
        arguments.out.write_text(json.dumps(rows(measured), indent=1) + "\n", encoding="utf-8")
    shown = [m for m in measured if m.method in MAIN]
    draw(shown, ROOT / "docs/estimator_lab.png")
    print(markdown(measured))


if __name__ == "__main__":
    main()
