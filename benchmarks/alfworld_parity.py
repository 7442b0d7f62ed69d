"""Plays the same commands in TextWorld and in sandgym, and compares all that is seen.

    python -m benchmarks.alfworld_parity [--games FOLDER] [--limit N] [--generated N] [--results OUT.json]

Games are those of a folder in the official layout, and freshly generated ones. Each is played twice in TextWorld,
set up as ALFWorld sets it up: random commands of which a fifth is drawn from nonsense and from what was possible
elsewhere, and its walkthrough with looks and examinations in between. After the reset and after every command the
observation, the list of admissible commands, score, done and won must be equal.

TextWorld is taken from ``--textworld-python``; without it, a virtual environment with it is made in the user's
cache folder (about 500 MB, once), which the script says before it does.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandgym.alfworld.env import ALFWorldEnv
from sandgym.alfworld.gamefile import TASK_TYPES
from sandgym.alfworld.generate import write_games
from sandgym.alfworld.world import load_world

REQUIREMENTS = ("textworld==1.7.0", "fast-downward-textworld==20.6.4", "alfworld==0.4.2")
RECORDER = Path(__file__).with_name("alfworld_textworld.py")
FIELDS = ("observation", "admissible", "score", "done", "won")
SHOWN = 5


@dataclasses.dataclass
class Comparison:
    """What was compared, and what differed.

    Attributes:
        counts: games, episodes, frames, commands, inadmissible commands, wins, and games of each task type.
        differences: field -> frames in which it differs.
        examples: the first differences.
    """

    counts: Counter[str] = dataclasses.field(default_factory=Counter)
    differences: Counter[str] = dataclasses.field(default_factory=Counter)
    examples: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def add(self, episode: dict[str, Any], task_id: str, frame: int, expected: dict[str, Any], got: Any) -> None:
        """Compare one frame."""
        for field in FIELDS:
            if expected[field] != got[field]:
                self.differences[field] += 1
                if len(self.examples) < SHOWN:
                    commands = [f["command"] for f in episode["frames"][1 : frame + 1]]
                    self.examples.append(
                        {
                            "task": task_id,
                            "commands": commands,
                            "field": field,
                            "textworld": expected[field],
                            "sandgym": got[field],
                        }
                    )


def find_games(folder: Path, limit: int | None) -> dict[str, str]:
    """Game file -> task id of the games of a folder; with a limit, evenly chosen from all of them."""
    store = load_world(folder).store
    ids = [task_id for split in store.splits for task_id in store.ids(split)]
    if limit and limit < len(ids):
        ids = [ids[index * len(ids) // limit] for index in range(limit)]
    return {store.game_file(task_id): task_id for task_id in ids}


def record(python: Path, game_files: list[str], seed: int, steps: int) -> Iterator[dict[str, Any]]:
    """Episodes as TextWorld played them.

    Raises:
        RuntimeError: the recorder failed, or ended early.
    """
    command = [str(python), str(RECORDER), str(seed), str(steps)]
    with (
        tempfile.TemporaryFile("w+") as names,
        subprocess.Popen(command, stdin=names, stdout=subprocess.PIPE, text=True) as process,
    ):
        names.write("".join(f"{name}\n" for name in game_files))
        names.seek(0)
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")


def replay(env: ALFWorldEnv, task_id: str, episode: dict[str, Any], comparison: Comparison) -> None:
    """Play an episode's commands in sandgym, and compare each frame."""
    observation, info = env.reset(options={"task": task_id})
    done = False
    for number, frame in enumerate(episode["frames"]):
        if number:
            comparison.counts["commands"] += 1
            comparison.counts["inadmissible commands"] += (
                frame["command"].strip() not in episode["frames"][number - 1]["admissible"]
            )
            if done:
                comparison.differences["end"] += 1
                return
            observation, _, terminated, truncated, info = env.step(frame["command"])
            done = terminated or truncated
        got = {
            "observation": observation,
            "admissible": list(info["admissible_commands"]),
            "score": info["score"],
            "done": done,
            "won": info["won"],
        }
        comparison.add(episode, task_id, number, frame, got)
        comparison.counts["frames"] += 1
    comparison.counts["episodes"] += 1
    comparison.counts["wins"] += episode["frames"][-1]["won"]


def compare(folder: Path, limit: int | None, python: Path, seed: int, steps: int, title: str) -> Comparison:
    """Record the games of a folder in TextWorld and replay them in sandgym."""
    games = find_games(folder, limit)
    comparison = Comparison()
    envs: dict[str, ALFWorldEnv] = {}
    played: set[str] = set()
    for episode in record(python, list(games), seed, steps):
        task_id = games[episode["game"]]
        split = task_id.partition("/")[0]
        env = envs.setdefault(split, ALFWorldEnv(data=folder, split=split, max_steps=steps))
        replay(env, task_id, episode, comparison)
        if task_id not in played:
            played.add(task_id)
            comparison.counts["games"] += 1
            comparison.counts[task_id.split("/")[1].partition("-")[0]] += 1
        print(f"\r{title}: {len(played)} of {len(games)} games", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if played != set(games.values()):
        raise RuntimeError(f"TextWorld played {len(played)} of {len(games)} games")
    return comparison


def textworld_python(given: Path | None) -> Path:
    """The interpreter that has TextWorld; without a given one, that of an environment which is made on first use."""
    if given:
        return given
    import platformdirs

    home = Path(platformdirs.user_cache_dir("sandgym", appauthor=False)) / "-".join(REQUIREMENTS).replace("==", "-")
    python = home / "bin" / "python"
    finished = home / "finished"
    if not finished.is_file():
        print(f"making a virtual environment in {home} and installing {' '.join(REQUIREMENTS)} into it")
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        finished.touch()
    return python


def _report(title: str, comparison: Comparison) -> dict[str, Any]:
    counts, differences = comparison.counts, comparison.differences
    print(
        f"{title}: {counts['games']} games, {counts['episodes']} episodes ({counts['wins']} won), "
        f"{counts['frames']} frames, {counts['commands']} commands "
        f"({counts['inadmissible commands']} not admissible): {sum(differences.values())} differences"
    )
    for example in comparison.examples:
        print(json.dumps(example, indent=1))
    return {"counts": dict(counts), "differences": {field: differences[field] for field in (*FIELDS, "end")}}


def main() -> None:
    """Compare, print counts and differences, write results; exit status 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--games", type=Path, help="folder of games in the official layout")
    parser.add_argument("--limit", type=int, help="how many of its games, evenly chosen; default: all")
    parser.add_argument("--generated", type=int, default=60, help="how many freshly generated games")
    parser.add_argument("--seed", type=int, default=1, help="of generated games and of random commands")
    parser.add_argument("--steps", type=int, default=50, help="most commands an episode")
    parser.add_argument("--textworld-python", type=Path, help="interpreter with textworld and alfworld")
    parser.add_argument("--results", type=Path, help="JSON file to write")
    args = parser.parse_args()
    python = textworld_python(args.textworld_python)
    reports = {}
    with tempfile.TemporaryDirectory() as folder:
        sources: list[tuple[str, Path, int | None]] = []
        if args.generated:
            third = args.generated // 3
            write_games(folder, {"train": args.generated - 2 * third, "dev": third, "test": third}, args.seed)
            sources.append(("generated games", Path(folder), None))
        if args.games:
            sources.append(("given games", args.games, args.limit))
        for title, source, limit in sources:
            comparison = compare(source, limit, python, args.seed, args.steps, title)
            reports[title] = _report(title, comparison)
    if args.results:
        results = {
            "textworld": list(REQUIREMENTS) if args.textworld_python is None else _versions(python),
            "python": platform.python_version(),
            "seed": args.seed,
            "steps": args.steps,
            "task_types": list(TASK_TYPES.values()),
            "sets": reports,
        }
        args.results.write_text(json.dumps(results, indent=1) + "\n")
    if any(sum(report["differences"].values()) for report in reports.values()):
        sys.exit(1)


def _versions(python: Path) -> list[str]:
    names = [requirement.partition("==")[0] for requirement in REQUIREMENTS]
    code = f"from importlib.metadata import version\nfor n in {names!r}: print(n + '==' + version(n))"
    return subprocess.run([str(python), "-c", code], check=True, capture_output=True, text=True).stdout.split()


if __name__ == "__main__":
    main()
