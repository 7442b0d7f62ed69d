"""Measuring ALFWorld: steps, resets, memory and the price of a snapshot, beside TextWorld.

Invariant: what a process keeps (games, caches) never flatters a figure that is about a
fresh one; those are measured in processes of their own. Figures of the original are
measured in the same run where there is an interpreter that has it, else recorded ones.
"""

from __future__ import annotations

import importlib.util
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from sandgym.bench.measurement import (
    REPEATS,
    Measurement,
    contract,
    import_seconds,
    in_fresh_process,
    in_words,
    repeated,
    resident_megabytes,
)

Trace = tuple[str, tuple[str, ...]]
"""A task id, and the commands to play."""

_MODULE = "sandgym.bench.alfworld"  # whatever name it runs under
_EPISODES = 100
_STEPS = 30  # of an episode
_COUNT = 10_000
_REFERENCE_EPISODES = 8
_REFERENCE_STEPS = 10
_RECORDED = {"step": 74.0, "reset": 820.0, "memory": 7.0}  # of TextWorld 1.7.0 on a core of a cloud machine


def measure_alfworld(
    data: str = "bundled", repeats: int = REPEATS, reference_python: str | None = None, count: int = _COUNT
) -> list[Measurement]:
    """All figures of ALFWorld on the training games of a data set.

    Args:
        data: as in ``gymnasium.make("sandgym/ALFWorld-v0", data=...)``; a packed data set
            has no game files, so the figures of files and of TextWorld are left out.
        repeats: of each measurement.
        reference_python: interpreter that has ``textworld`` and ``alfworld``; by default
            this one, if it has them.
        count: how many environments live at once, and how many resets may let memory grow.

    Raises:
        gymnasium.error.Error: TextWorld failed.
    """
    from sandgym.alfworld.pack import GamePack, build_pack
    from sandgym.alfworld.tasks import GameFolder
    from sandgym.alfworld.world import load_world

    store = load_world(data).store
    assert isinstance(store, GamePack | GameFolder)
    traces = random_traces(make_alfworld(data))
    with tempfile.TemporaryDirectory() as folder:
        reference: dict[str, list[float]] = {}
        if isinstance(store, GamePack):
            pack, sources = str(store.path), {"pack": data}
        else:
            pack = str(build_pack(store.root, folder))
            sources = {"file": data, "pack": pack}
            reference = _reference(traces, store.game_file, reference_python)
        fresh = {
            source: [in_fresh_process(_MODULE, "speed", where, traces) for _ in range(min(3, repeats))]
            for source, where in sources.items()
        }
        where = next(iter(sources.values()))
        memory = [in_fresh_process(_MODULE, "memory", where, traces, count) for _ in range(min(3, repeats))]
        return [
            *_speed_rows(fresh, pack, traces, reference, repeats),
            *contract(_midway(make_alfworld(pack), traces[0]), repeats),
            *_start_rows(fresh, pack, repeats),
            *_memory_rows(memory, reference, count),
            *_reference_rows(reference),
        ]


def make_alfworld(data: str) -> Any:
    """The environment that is measured: training games, no early end."""
    import gymnasium

    import sandgym  # noqa: F401  registers it

    return gymnasium.make("sandgym/ALFWorld-v0", data=data, split="train", max_steps=10_000).unwrapped


def random_traces(env: Any, episodes: int = _EPISODES, seed: int = 0) -> list[Trace]:
    """Episodes of admissible commands at random, each of another game as long as there are enough."""
    rng = random.Random(seed)
    traces = []
    for task in rng.sample(range(len(env.task_ids)), min(episodes, len(env.task_ids))):
        _, info = env.reset(options={"task": task})
        commands: list[str] = []
        over = False
        while not over and len(commands) < _STEPS:
            commands.append(rng.choice(info["admissible_actions"]))
            _, _, over, _, info = env.step(commands[-1])
        traces.append((env.task_ids[task], tuple(commands)))
    return traces


def _speed_rows(
    fresh: dict[str, list[dict[str, float]]],
    pack: str,
    traces: Sequence[Trace],
    reference: dict[str, list[float]],
    repeats: int,
) -> list[Measurement]:
    """Steps and resets; ``fresh`` is by source of the games."""
    env = make_alfworld(pack)
    first = _of(next(iter(fresh.values())), "step")
    again = repeated(repeats, lambda: _replay(env, traces)["step"])
    rows = [
        Measurement("step, first replay in a fresh process", first, "µs", _beside("step", "ms", first, 1e3, reference)),
        Measurement("step, replayed again", again, "µs", _beside("step", "ms", again, 1e3, reference)),
    ]
    for source, results in fresh.items():
        reset = _of(results, "reset")
        original = _beside("reset", "ms", reset, 1.0, reference)
        rows.append(Measurement(f"reset to a game not seen yet, from the {source}", reset, "ms", original))
    return rows


def _start_rows(fresh: dict[str, list[dict[str, float]]], pack: str, repeats: int) -> list[Measurement]:
    return [
        Measurement("open the pack, all splits", repeated(repeats, lambda: _open_milliseconds(pack)), "ms (wall)"),
        *(
            Measurement(f"load the training games, {source}", _of(results, "load"), "s (wall)")
            for source, results in fresh.items()
        ),
        Measurement("import sandgym", repeated(repeats, import_seconds), "s (wall)"),
    ]


def _memory_rows(memory: list[dict[str, float]], reference: dict[str, list[float]], count: int) -> list[Measurement]:
    live = _of(memory, "live")
    original = _beside("memory", "MB each", [value / count for value in live], 1.0, reference)
    return [
        Measurement(f"memory of {count:,} live environments", live, "MB", original),
        Measurement(f"memory growth over {count:,} resets", _of(memory, "growth"), "MB"),
    ]


def _of(results: list[dict[str, float]], name: str) -> tuple[float, ...]:
    return tuple(result[name] for result in results)


def _midway(env: Any, trace: Trace) -> Any:
    """The environment, in the middle of an episode."""
    task, commands = trace
    env.reset(options={"task": task})
    for command in commands[: len(commands) // 2]:
        env.step(command)
    return env


def _replay(env: Any, traces: Iterable[Trace]) -> dict[str, float]:
    """Mean microseconds of a step with its observation and admissible commands, and milliseconds of a reset."""
    steps = resets = seen = 0
    stepping = resetting = 0.0
    for task, commands in traces:
        start = time.process_time()
        env.reset(options={"task": task})
        begun = time.process_time()
        for command in commands:
            observation, _, _, _, info = env.step(command)
            seen += len(observation) + len(info["admissible_commands"])
        stepping += time.process_time() - begun
        resetting += begun - start
        steps, resets = steps + len(commands), resets + 1
    assert seen
    return {"step": stepping / steps * 1e6, "reset": resetting / resets * 1e3}


def _open_milliseconds(pack: str) -> float:
    from sandgym.alfworld.pack import open_pack

    start = time.perf_counter()
    opened = open_pack(pack)
    assert all(opened.ids(split) is not None for split in opened.splits)
    return (time.perf_counter() - start) * 1e3


def _speed_figures(data: str, traces: Sequence[Trace]) -> dict[str, float]:
    """Figures of a process that has played nothing yet."""
    start = time.perf_counter()
    env = make_alfworld(data)
    return {"load": time.perf_counter() - start, **_replay(env, traces)}


def _memory_figures(data: str, traces: Sequence[Trace], count: int) -> dict[str, float]:
    """Megabytes of ``count`` environments, each somewhere in an episode, and those that ``count`` resets add."""
    before = resident_megabytes()
    alive = []
    for number in range(count):
        task, commands = traces[number % len(traces)]
        env = make_alfworld(data)
        env.reset(options={"task": task})
        for command in commands[: number // len(traces) % (len(commands) + 1)]:
            env.step(command)
        alive.append(env)
    live = resident_megabytes() - before
    start = resident_megabytes()
    for number in range(count):
        env.reset(options={"task": traces[number % len(traces)][0]})
    return {"live": live, "growth": resident_megabytes() - start}


def _reference(traces: Sequence[Trace], game_file: Callable[[str], str], python: str | None) -> dict[str, list[float]]:
    """What TextWorld takes for some of the traces, where an interpreter has it."""
    import gymnasium

    if python is None:
        if not all(importlib.util.find_spec(name) for name in ("textworld", "alfworld")):
            return {}
        python = sys.executable
    played = [(task, commands[:_REFERENCE_STEPS]) for task, commands in traces if len(commands) >= _REFERENCE_STEPS]
    given = [(str(Path(game_file(task)).absolute()), commands) for task, commands in played[:_REFERENCE_EPISODES]]
    script = Path(__file__).with_name("textworld_reference.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as empty:  # where no module of ours is mistaken for one of theirs
        done = subprocess.run(
            [python, "-c", script], input=json.dumps(given), capture_output=True, text=True, cwd=empty, check=False
        )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise gymnasium.error.Error(
            f"{python} could not play the games in TextWorld: {reason}; it needs "
            "`pip install textworld fast-downward-textworld alfworld`"
        )
    return dict(json.loads(done.stdout))


def _reference_rows(reference: dict[str, list[float]]) -> list[Measurement]:
    names = {"step": ("step", "ms"), "reset": ("load and reset", "ms"), "memory": ("a live environment", "MB")}
    return [
        Measurement(f"TextWorld: {names[name][0]}", tuple(values), names[name][1]) for name, values in reference.items()
    ]


def _beside(name: str, unit: str, ours: Sequence[float], scale: float, reference: dict[str, list[float]]) -> str:
    """TextWorld's figure, and how many times ours it is; ``scale`` turns its unit into ours."""
    theirs = statistics.median(reference[name]) if reference else _RECORDED[name]
    times = theirs * scale / max(statistics.median(ours), 1e-9)
    return f"{in_words(theirs)} {unit} ({in_words(times)} times){'' if reference else ', recorded'}"


if __name__ == "__main__":
    wanted, *given = json.load(sys.stdin)
    print(json.dumps(_speed_figures(*given) if wanted == "speed" else _memory_figures(*given)))
