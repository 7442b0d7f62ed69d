"""Speed and memory of WebShop beside the original's: what ``sandgym bench env webshop`` prints.

    python -m benchmarks.webshop_env [--data PATH] [--traces traces.json.xz] [--results OUT.json]

The original's figures were recorded on its text environment with the same 1000 products.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console

from sandgym.bench.measurement import REPEATS, as_document, table
from sandgym.bench.webshop import measure_webshop, read_traces


def main() -> None:
    """Measure, print a table, and write the numbers where asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default="bundled", help="'bundled', 'official' or a folder")
    parser.add_argument("--traces", type=Path, help="episodes to replay; default: random ones")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--results", type=Path, help="JSON file to write")
    args = parser.parse_args()
    traces = read_traces(args.traces) if args.traces else None
    measurements = measure_webshop(args.data, traces, args.repeats)
    source = "recorded episodes" if args.traces else "random episodes"
    Console().print(table(measurements, f"sandgym/WebShop-v0, {source}"))
    if args.results:
        results = as_document(measurements, episodes=source)
        args.results.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
