"""WebShop at the size of the full catalogue: build, open, search and share 1.18 million products.

    python -m benchmarks.webshop_scale --folder /path/with/10/GB

Generates a catalogue in the official format (deleted afterwards, unless ``--keep``), and
writes what it measured to ``benchmarks/results/webshop_scale.json``. Each figure comes
from a process of its own, so that no other's memory or caches count in it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PRODUCTS = 1_181_436  # of the official full catalogue
QUERIES = 500
RESULTS = Path(__file__).parent / "results" / "webshop_scale.json"


def main() -> None:
    """Run all stages, each in a fresh process, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="scratch space, 10 GB for the full size")
    parser.add_argument("--products", type=int, default=PRODUCTS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--keep", action="store_true", help="keep the generated and the built catalogue")
    parser.add_argument("--stage", choices=sorted(STAGES), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.stage:
        print(json.dumps(STAGES[args.stage](args.folder, args.products)))
        return
    results: dict[str, Any] = {"products": args.products, "machine": _machine()}
    for stage in STAGES:
        command = [sys.executable, "-m", "benchmarks.webshop_scale", "--folder", str(args.folder), "--stage", stage]
        output = subprocess.run([*command, "--products", str(args.products)], check=True, stdout=subprocess.PIPE).stdout
        results[stage] = json.loads(output)
        print(stage, json.dumps(results[stage], indent=1), flush=True)
    args.results.parent.mkdir(parents=True, exist_ok=True)
    args.results.write_text(json.dumps(results, indent=1) + "\n")
    if not args.keep:
        shutil.rmtree(args.folder / "source")
        shutil.rmtree(args.folder / "built")


def generate(folder: Path, products: int) -> dict[str, Any]:
    """Write the catalogue in the official format, unless it is there already."""
    from sandgym.webshop.generate import write_catalogue

    start = time.perf_counter()
    if not (folder / "source" / "splits.json").exists():
        write_catalogue(folder / "source", products=products, seed=0)
    size = sum(path.stat().st_size for path in (folder / "source").iterdir())
    return {"seconds": round(time.perf_counter() - start, 1), "megabytes": round(size / 1e6)}


def build(folder: Path, products: int) -> dict[str, Any]:
    """Build it; memory is the process's peak resident set, mapped files included."""
    from sandgym.webshop.build import build_store

    start, cpu = time.perf_counter(), time.process_time()
    catalogue = build_store(folder / "source", folder / "built")
    assert len(catalogue) == products
    size = sum(path.stat().st_size for path in (folder / "built").rglob("*") if path.is_file())
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "peak_rss_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "megabytes": round(size / 1e6),
        "terms": len(catalogue.search_index.bounds),
        "postings": len(catalogue.search_index.docs),
    }


def open_(folder: Path, products: int) -> dict[str, Any]:
    """Open the catalogue, without and with imports, and read 10,000 products and prices."""
    start = time.perf_counter()
    from sandgym.webshop.store import open_store

    imported = time.perf_counter()
    catalogue = open_store(folder / "built")
    opened = time.perf_counter()
    rng = random.Random(0)
    for position in (rng.randrange(products) for _ in range(10_000)):
        assert catalogue.index(catalogue[position].asin) == position
    read = time.perf_counter()
    import gymnasium

    import sandgym  # noqa: F401  registers the environment

    made = {}
    for goals in ("synthetic", "human"):
        start_making = time.perf_counter()
        gymnasium.make("sandgym/WebShop-v0", data=str(folder / "built"), goals=goals)
        made[goals] = round(time.perf_counter() - start_making, 3)
    return {
        "import_seconds": round(imported - start, 3),
        "open_seconds": round(opened - imported, 3),
        "product_microseconds": round((read - opened) / 10_000 * 1e6, 1),
        "make_environment_seconds": made,
    }


def search(folder: Path, products: int) -> dict[str, Any]:
    """Latency over goal instructions, over what a shopper would type, and over whole titles (ms).

    Wall-clock figures include whatever else the machine does; CPU figures do not.
    """
    from sandgym.webshop.store import open_store

    catalogue = open_store(folder / "built")
    return {name: _latency(catalogue.search_index, queries) for name, queries in _queries(catalogue).items()}


def second_process(folder: Path, products: int) -> dict[str, Any]:
    """Memory that one more process takes while this one uses the same catalogue (MB).

    ``private`` is what would be free if it ended (unique set size), ``proportional``
    counts shared pages by share. Both processes have answered the same queries.
    """
    if "SECOND" in os.environ:
        _use(folder)
        return _memory()
    _use(folder)
    command = [sys.executable, "-m", "benchmarks.webshop_scale", "--folder", str(folder), "--stage", "second_process"]
    child = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, "SECOND": "1"})
    return json.loads(child.stdout)


STAGES = {"generate": generate, "build": build, "open": open_, "search": search, "second_process": second_process}


def _queries(catalogue: Any) -> dict[str, list[str]]:
    goals = json.loads((catalogue.folder / "goals.json").read_text())
    rng = random.Random(0)
    picked = rng.sample(goals, min(QUERIES, len(goals)))
    titles = [catalogue[rng.randrange(len(catalogue))].title for _ in picked]
    return {
        "instruction": [goal["instruction_text"] for goal in picked],
        "typed": [" ".join([*goal["attributes"], goal["query"]]) for goal in picked],
        "title": titles,
    }


def _latency(index: Any, queries: list[str]) -> dict[str, float]:
    """Of a second round over the queries: the first one reads the postings from disk."""
    wall: list[float] = []
    cpu: list[float] = []
    for _ in range(2):
        wall, cpu = [], []
        for query in queries:
            start, start_cpu = time.perf_counter(), time.process_time()
            index.search(query)
            wall.append((time.perf_counter() - start) * 1e3)
            cpu.append((time.process_time() - start_cpu) * 1e3)
    return {
        "queries": len(queries),
        "median_ms": round(statistics.median(wall), 2),
        "p95_ms": round(sorted(wall)[int(len(wall) * 0.95)], 2),
        "max_ms": round(max(wall), 2),
        "median_cpu_ms": round(statistics.median(cpu), 2),
        "p95_cpu_ms": round(sorted(cpu)[int(len(cpu) * 0.95)], 2),
    }


def _use(folder: Path) -> None:
    from sandgym.webshop.store import open_store

    catalogue = open_store(folder / "built")
    for queries in _queries(catalogue).values():
        for query in queries[:100]:
            for position in catalogue.search_index.search(query):
                assert catalogue[position]


def _memory() -> dict[str, float]:
    sizes: dict[str, int] = {}
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split(":")
        sizes[name] = int(value.split()[0])
    private = sizes["Private_Clean"] + sizes["Private_Dirty"]
    return {"private_mb": round(private / 1024, 1), "proportional_mb": round(sizes["Pss"] / 1024, 1)}


def _machine() -> dict[str, Any]:
    return {"cpus": os.cpu_count(), "architecture": platform.machine(), "python": platform.python_version()}


if __name__ == "__main__":
    main()
