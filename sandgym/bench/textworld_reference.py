"""What TextWorld takes for the same games and commands; runs in an interpreter that has it.

Invariant: nothing of sandgym is imported, since that interpreter need not have it. The
games are set up as ALFWorld does, without its batches and processes, which would add to
the time. Times are CPU time of the process.

Standard input: a JSON list of ``[game file, [commands]]``. Standard output: a JSON object
with a list for each figure, of one value for each game.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import time
from typing import Any


def main() -> None:
    """Measure and print."""
    episodes = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        figures = measure(episodes)
    print(json.dumps(figures))


def measure(episodes: list[tuple[str, list[str]]]) -> dict[str, list[float]]:
    """Milliseconds of a reset and a step, and megabytes of a live environment, for each game."""
    textworld = importlib.import_module("textworld")
    wrappers = importlib.import_module("alfworld.agents.environment.alfred_tw_env")
    figures: dict[str, list[float]] = {"reset": [], "step": [], "memory": []}
    alive: list[Any] = []
    for game_file, commands in episodes:
        infos = textworld.EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])
        before, start = _resident_megabytes(), time.process_time()
        env = textworld.start(game_file, infos, wrappers=[wrappers.AlfredDemangler(), wrappers.AlfredInfos])
        env.reset()
        begun = time.process_time()
        for command in commands:
            state, _, _ = env.step(command)
            assert state["admissible_commands"]
        ended = time.process_time()
        alive.append(env)
        figures["reset"].append((begun - start) * 1e3)
        figures["step"].append((ended - begun) * 1e3 / len(commands))
        figures["memory"].append(_resident_megabytes() - before)
    return figures


def _resident_megabytes() -> float:
    with open("/proc/self/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith("VmRSS"))) / 1000


if __name__ == "__main__":
    main()
