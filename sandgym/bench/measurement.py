"""What a measurement is, and what those of every environment have in common.

Invariant: times are CPU time of this process unless the name of the figure says
otherwise, and every repeat is kept.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

REPEATS = 7


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One figure.

    Attributes:
        name: what was measured.
        values: of each repeat, in ``unit``.
        unit: of the values.
        original: the same figure of the original implementation, in words; empty where
            there is none.
    """

    name: str
    values: tuple[float, ...]
    unit: str
    original: str = ""

    @property
    def median(self) -> float:
        """Middle repeat."""
        return statistics.median(self.values)


def repeated(repeats: int, measure: Callable[[], float]) -> tuple[float, ...]:
    """What ``measure`` gives each time."""
    return tuple(measure() for _ in range(repeats))


def microseconds(act: Callable[[], Any], times: int, each: int = 1) -> float:
    """CPU time of a call, or of each of the ``each`` things that it makes."""
    start = time.process_time()
    for _ in range(times):
        act()
    return (time.process_time() - start) / (times * each) * 1e6


def contract(env: Any, repeats: int, count: int = 20_000) -> list[Measurement]:
    """Microseconds of a snapshot, a restore and each fork, at the state where an environment is."""
    saved = env.snapshot()

    def figure(name: str, act: Callable[[], Any], times: int, each: int = 1) -> Measurement:
        return Measurement(name, repeated(repeats, lambda: microseconds(act, times, each)), "µs", "none")

    return [
        figure("snapshot", env.snapshot, count),
        figure("restore", lambda: env.restore(saved), count),
        figure("fork, each of 16", lambda: env.fork(16), count // 16, 16),
    ]


def import_seconds() -> float:
    """Wall-clock seconds of ``import sandgym`` in a new process."""
    code = "import time; t = time.perf_counter(); import sandgym; print(time.perf_counter() - t)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE).stdout)


def in_fresh_process(module: str, *arguments: Any, python: str = sys.executable) -> dict[str, float]:
    """What ``python -m module`` prints as JSON, given the arguments as a JSON list on its standard input."""
    command = [python, "-m", module]
    given = json.dumps(arguments).encode()
    return dict(json.loads(subprocess.run(command, check=True, input=given, stdout=subprocess.PIPE).stdout))


def resident_megabytes() -> float:
    """Resident set of this process (MB); its peak where the system does not tell the present one."""
    status = Path("/proc/self/status")
    if status.exists():
        kilobytes = next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(kilobytes) / 1000
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def table(measurements: Sequence[Measurement], title: str) -> Any:
    """The figures as a Rich table, with the range over the repeats."""
    from rich.table import Table

    out = Table("figure", "median", "range", "unit", "original", title=title)
    for m in measurements:
        out.add_row(
            m.name, in_words(m.median), f"{in_words(min(m.values))} - {in_words(max(m.values))}", m.unit, m.original
        )
    return out


def in_words(value: float) -> str:
    """A figure with about three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def as_document(measurements: Sequence[Measurement], **about: Any) -> dict[str, Any]:
    """The figures, what they are about and the machine, for a JSON file."""
    machine = {"cpus": os.cpu_count(), "architecture": platform.machine(), "python": platform.python_version()}
    rows = [{**dataclasses.asdict(m), "median": m.median} for m in measurements]
    return {**about, "machine": machine, "measurements": rows}
