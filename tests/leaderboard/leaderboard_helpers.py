"""Making submissions, and changing them as somebody would who wants a better place."""

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from leaderboard import chain
from leaderboard.players import player
from leaderboard.record import Key, open_panel, record
from leaderboard.schema import Code, Compute, Disclosure, Method, Model, Run, Sampling, Shown
from leaderboard.submit import Facts, write
from sandgym.panels import Panel

Episodes = list[dict[str, Any]]


def facts(name: str, seeds: tuple[int, ...] = (3, 8), samples: int = 1, track: str = "open") -> Facts:
    """What a submission says besides its episodes."""
    return Facts(
        shown=Shown(),
        method=Method(name=name, algorithm="", description="Plays."),
        model=Model(name="none"),
        runs=tuple(Run(evaluation_seed=seed) for seed in seeds),
        sampling=Sampling(samples=samples),
        track=track,
        config=None,
        compute=Compute(training={}, evaluation={}),
        code=Code(version="0"),
        disclosure=Disclosure(overlap="none", note=""),
        contact="somebody",
    )


def submission_of(
    name: str, panel: Panel, folder: Path, seeds: tuple[int, ...], samples: int = 1, track: str = "open"
) -> Path:
    """The submission of a player that needs no model."""
    env = open_panel(panel, Shown())
    keys = [
        Key(task, place, seed, sample)
        for seed in seeds
        for sample in range(samples)
        for place, task in enumerate(panel.task_ids)
    ]
    episodes = [record(env, panel, key, player(name, env, key)) for key in keys]
    write(folder, panel, facts(name, seeds, samples, track), episodes)
    return folder


def copy_of(folder: Path, target: Path) -> Path:
    shutil.copytree(folder, target)
    return target


def episodes_of(folder: Path) -> Episodes:
    return [json.loads(line) for line in gzip.decompress((folder / "episodes.jsonl.gz").read_bytes()).splitlines()]


def write_raw(folder: Path, content: bytes) -> None:
    """Put a file of episodes in place and its hash into ``submission.yaml``."""
    (folder / "episodes.jsonl.gz").write_bytes(content)
    describe(folder, episodes_sha256=hashlib.sha256(content).hexdigest())


def write_lines(folder: Path, lines: list[bytes]) -> None:
    write_raw(folder, gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0))


def write_episodes(folder: Path, episodes: Episodes, totals: bool = True) -> None:
    """Write episodes, and all that follows from them but their chains, as a careful liar would."""
    if totals:
        for episode in episodes:
            episode["total"] = float(sum(step["reward"] for step in episode["steps"]))
        means = {key: round(sum(e[key] for e in episodes) / len(episodes), 9) for key in ("success", "score")}
        describe(folder, claims={"episodes": len(episodes), **{key: float(value) for key, value in means.items()}})
    write_lines(folder, [json.dumps(episode, separators=(",", ":")).encode() for episode in episodes])


def describe(folder: Path, **changes: Any) -> None:
    """Change ``submission.yaml``; a dictionary changes the keys that it has."""
    path = folder / "submission.yaml"
    document = yaml.safe_load(path.read_text())
    for key, value in changes.items():
        document[key] = {**document[key], **value} if isinstance(value, dict) else value
    path.write_text(yaml.safe_dump(document, sort_keys=False))


def rechain(episode: dict[str, Any], panel_hash: str) -> None:
    """Make the hash chain anew, as anybody can."""
    link = chain.root(panel_hash, episode["task"], episode["seed"], episode["sample"])
    for step in episode["steps"]:
        link = chain.link(link, step["action"], step["reward"], step["observation"], step["digest"])
        step["chain"] = chain.short(link)


def tamper(folder: Path, change: Callable[[Episodes], Any], panel: Panel | None = None) -> None:
    """Change episodes and what follows from them; with a panel, their chains too."""
    episodes = episodes_of(folder)
    change(episodes)
    if panel is not None:
        for episode in episodes:
            rechain(episode, panel.content_hash)
    write_episodes(folder, episodes)
