"""What saving, restoring and forking a sandbox costs, beside copying its folder and replaying its commands.

    python -m benchmarks.sandboxes [--tree FOLDER] [--repeats N] [--results OUT.json]

The tree is a checkout of Django 5.0, from its source archive, or, where no index of packages answers, a generated
one of as many files and bytes. Seven files are edited. Times are on the wall clock, in one run: each repeat measures
everything once, so that whatever else the machine does hits all alike.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from sandgym.bench.measurement import Measurement, as_document, table
from sandgym.sandboxes import FolderImage, Sandbox, available, open_sandbox, reaper

FILES, BYTES = 6_648, 81_000_000  # of the checkout
EDITED = 7
FORKS = 4
ACTIONS = 30
GIT = "git -c user.name=bench -c user.email=bench@example.org -c init.defaultBranch=main -c gc.auto=0"
T = TypeVar("T")
Samples = dict[str, list[float]]


def django(folder: Path) -> Path | None:
    """The source archive of Django 5.0, unpacked; None where it cannot be had."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
               "--no-build-isolation", "--dest", str(folder), "Django==5.0"]  # fmt: skip
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return None
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def generated(folder: Path) -> Path:
    """A tree with as many files and bytes as a checkout of Django 5.0 has."""
    draw = random.Random(0)
    root = folder / "generated"
    for number in range(FILES):
        file = root / f"p{number % 40}/q{number % 17}/module_{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"".join(b"x%d = %d\n" % (i, draw.random() * 1e9) for i in range(BYTES // FILES // 18)))
    return root


def commit(root: Path) -> None:
    """Make the tree a repository of one commit, packed as a clone is."""
    subprocess.run(
        f"{GIT} init -q && {GIT} add -A && {GIT} commit -qm base && {GIT} gc -q", shell=True, cwd=root, check=True
    )


def actions(files: list[str]) -> list[str]:
    """Thirty commands as an agent gives them: looking, editing, running; each edited file once or more."""
    kinds = (
        "ls -la $(dirname {0})",
        "grep -n def {0} | head -20",
        "sed -n 1,80p {0}",
        "echo '# edited' >> {0}",
        "python3 -m py_compile {0}",
        "git diff --stat",
        "grep -rln import $(dirname {0}) | head",
    )
    return [kinds[number % len(kinds)].format(files[number % len(files)]) for number in range(ACTIONS)]


class Clock:
    """Collects samples, in milliseconds."""

    def __init__(self) -> None:
        self.samples: Samples = defaultdict(list)

    def take(self, name: str, act: Callable[[], T], each: int = 1) -> T:
        """Time a call that does ``each`` things."""
        start = time.perf_counter()
        result = act()
        self.samples[name].append((time.perf_counter() - start) * 1e3 / each)
        return result


def edit(sandbox: Sandbox, files: list[str], text: str) -> None:
    """Change every given file from inside."""
    result = sandbox.run("; ".join(f"echo '# {text}' >> '{file}'" for file in files))
    assert result.returncode == 0, result.output


def measure_backend(clock: Clock, backend: str, sandbox: Sandbox, files: list[str], repeat: int) -> None:
    """One repeat of one backend; the sandbox is as new before and after."""
    start = sandbox.snapshot()
    edit(sandbox, files, f"edit {repeat}")
    saved = clock.take(f"{backend}: snapshot", sandbox.snapshot)
    clock.take(f"{backend}: digest of the snapshot", lambda: saved.digest)
    clock.samples[f"{backend}: bytes of the snapshot, kB"].append(saved.bytes / 1e3)
    clock.take(f"{backend}: run true", lambda: sandbox.run("true"))
    edit(sandbox, files, "to be undone")
    reaper.wait_for_removals()
    clock.take(f"{backend}: restore", lambda: sandbox.restore(saved))
    if backend != "docker":  # whose engine removes containers by itself
        clock.take(f"{backend}: removal of what was there, in the background", reaper.wait_for_removals)
    clock.take(f"{backend}: run true, first after a restore", lambda: sandbox.run("true"))
    forks = clock.take(f"{backend}: fork, of {FORKS}", lambda: sandbox.fork(FORKS), each=FORKS)
    for fork in forks:
        fork.close()
    sandbox.restore(start)
    clock.take(f"{backend}: replay of {ACTIONS} actions", lambda: [sandbox.run(each) for each in actions(files)])
    sandbox.restore(start)


def measure_copy(clock: Clock, root: Path, folder: Path) -> None:
    """One repeat of copying the folder, as a snapshot and as a restore."""
    target = folder / "copied"
    clock.take("cp -a: snapshot", lambda: subprocess.run(["cp", "-a", root, target], check=True))
    clock.take(
        "cp -a: restore, with the removal of what was there",
        lambda: (shutil.rmtree(target), subprocess.run(["cp", "-a", root, target], check=True)),
    )
    clock.samples["cp -a: bytes of the snapshot, kB"].append(
        sum(path.lstat().st_blocks * 512 for path in target.rglob("*")) / 1e3
    )
    shutil.rmtree(target)


def measure(root: Path, folder: Path, repeats: int) -> list[Measurement]:
    """All figures of every backend that works on this machine."""
    clock = Clock()
    named = subprocess.run(["git", "ls-files", "*.py"], cwd=root, capture_output=True, text=True, check=True)
    files = sorted(random.Random(0).sample(named.stdout.split(), EDITED))
    works = [name for name, said in available().items() if said == "ok"]
    image = FolderImage(root)
    sandboxes = {name: clock.take(f"{name}: first sandbox", lambda b=name: open_sandbox(image, b)) for name in works}
    for name in works:
        clock.take(f"{name}: next sandbox", lambda b=name: open_sandbox(image, b)).close()
    for repeat in range(repeats):
        clock.take("bash -c true, not confined", lambda: subprocess.run(["bash", "-c", "true"], check=True))
        for name, sandbox in sandboxes.items():
            measure_backend(clock, name, sandbox, files, repeat)
        if repeat < 3:
            measure_copy(clock, root, folder)
    for sandbox in sandboxes.values():
        sandbox.close()
    for name in works:
        replay, restore = clock.samples[f"{name}: replay of {ACTIONS} actions"], clock.samples[f"{name}: restore"]
        clock.samples[f"{name}: replay / restore, times"] = [a / b for a, b in zip(replay, restore, strict=True)]
    return [_figure(name, values) for name, values in clock.samples.items()]


def _figure(name: str, values: list[float]) -> Measurement:
    what, _, unit = name.rpartition(", ")
    return Measurement(what, tuple(values), unit) if unit in ("kB", "times") else Measurement(name, tuple(values), "ms")


def main() -> None:
    """Measure, print a table, and write the numbers where asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tree", type=Path, help="folder to measure with, instead of Django; it is copied")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--results", type=Path, help="JSON file to write")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = shutil.copytree(args.tree, folder / "tree", symlinks=True) if args.tree else django(folder)
        what = "Django 5.0" if root and not args.tree else "a given tree" if root else "a generated tree"
        root = root or generated(folder)
        commit(root)
        found = [path for path in root.rglob("*") if path.is_file()]
        about = {"tree": what, "files": len(found), "bytes": sum(path.stat().st_size for path in found)}
        measurements = measure(root, folder, args.repeats)
    Console().print(
        table(measurements, f"sandboxes of {what}: {about['files']:,} files, {about['bytes'] / 1e6:.0f} MB")
    )
    if args.results:
        args.results.write_text(json.dumps(as_document(measurements, **about), indent=1) + "\n")


if __name__ == "__main__":
    main()
