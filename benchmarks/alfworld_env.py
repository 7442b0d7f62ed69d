"""Speed and memory of ALFWorld beside TextWorld's: what ``sandgym bench env alfworld`` prints.

    python -m benchmarks.alfworld_env [--data FOLDER] [--reference-python PYTHON] [--results OUT.json]

``PYTHON`` is an interpreter with ``textworld`` and ``alfworld``, such as that of a virtual environment; it plays
some of the same games and commands in the same run. Without it TextWorld's figures are recorded ones.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console

from sandgym.bench.alfworld import measure_alfworld
from sandgym.bench.measurement import REPEATS, as_document, table


def main() -> None:
    """Measure, print a table, and write the numbers where asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default="bundled", help="'bundled', 'official' or a folder")
    parser.add_argument("--reference-python", help="interpreter that has textworld and alfworld")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--results", type=Path, help="JSON file to write")
    args = parser.parse_args()
    measurements = measure_alfworld(args.data, args.repeats, args.reference_python)
    games = args.data if args.data in ("bundled", "official") else "games of a folder"
    Console().print(table(measurements, f"sandgym/ALFWorld-v0, {games}"))
    if args.results:
        args.results.write_text(json.dumps(as_document(measurements, games=games), indent=1) + "\n")


if __name__ == "__main__":
    main()
