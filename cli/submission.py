"""Submissions to the leaderboard from what ``sandgym eval`` has played.

Invariant: what is written was played again here, action by action, and earned what the evaluation says.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import subprocess
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.errors import CommandError, UsageError
from sandgym.core import SandboxError

if TYPE_CHECKING:
    from algos.config import TrainConfig
    from algos.evaluate import Evaluation
    from algos.policy import Policy
    from algos.runfolder import RunFolder
    from leaderboard.record import Act, Key
    from leaderboard.schema import Code, Episode, Shown
    from leaderboard.submit import Facts
    from sandgym.panels import Panel

_TRIES = 3
Progress = Callable[[int, int], None]


def leaderboard_panel(name: str) -> Panel:
    """A panel that submissions can be made for.

    Raises:
        UsageError: there is no such panel on the leaderboard.
    """
    from leaderboard import panels

    try:
        return panels.load(name)
    except LookupError as error:
        raise UsageError(str(error.args[0])) from error


def check_out(out: Path) -> None:
    """Refuse a folder for a submission that holds something, before anything is played."""
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UsageError(f"{out} is not an empty folder; choose another, or a name that ends in .json")


def write_policy(
    out: Path,
    panel: Panel,
    config: TrainConfig,
    policy: Policy,
    path: Path,
    folder: RunFolder | None,
    result: Evaluation,
    ledger: Mapping[str, float],
    progress: Progress,
) -> None:
    """Write the submission of a policy's evaluation.

    Args:
        out: folder of the submission.
        panel: that was played.
        config: what was asked for.
        policy: who played.
        path: its folder, or a hub id.
        folder: its run, if it is of one.
        result: what it did.
        ledger: what its evaluation took.
        progress: called with (episodes recorded, episodes in all).

    Raises:
        CommandError: the infrastructure failed in an episode, or the recording differs from the evaluation.
    """
    from algos.actions import episode_actions
    from leaderboard.schema import Shown
    from leaderboard.submit import write

    visible = Shown(observation_mode=config.env_options.get("observation_mode"))
    if any(not actions for samples in result.actions for actions in samples):
        raise CommandError("some episodes failed on this machine, and a submission has all of them; run this again")

    def act(env: Any, key: Key) -> Act:
        said = result.actions[key.place][key.sample]
        answer = episode_actions(said, policy.prompts, env.unwrapped.instructions)
        return lambda observation, info: answer(observation)

    episodes = []
    samples = result.success.shape[1]
    for key, episode in _recorded(panel, visible, config, (config.evaluation.seed,), samples, act, progress):
        played = (bool(result.success[key.place, key.sample]), float(result.score[key.place, key.sample]))
        if (episode.success, episode.score) != played:
            raise CommandError(
                f"task {key.task}, sample {key.sample} earned {played} in the evaluation and "
                f"{(episode.success, episode.score)} again; {config.env} is not deterministic here"
            )
        episodes.append(episode)
    write(out, panel, _policy_facts(panel, visible, config, policy, path, folder, result, ledger), episodes)


def write_player(out: Path, panel: Panel, name: str, env_options: Mapping[str, Any], samples: int, seed: int,
                 progress: Progress) -> None:  # fmt: skip
    """Write the submission of a player that needs no model (see ``leaderboard.players``)."""
    from leaderboard.players import player
    from leaderboard.schema import Compute, Disclosure, Method, Model, Run, Sampling, Shown
    from leaderboard.submit import CONTACT, Facts, write

    visible = Shown(observation_mode=env_options.get("observation_mode"))
    act: Callable[[Any, Key], Act] = lambda env, key: player(name, env, key)  # noqa: E731
    config = _Played(dict(env_options))
    episodes = [episode for _, episode in _recorded(panel, visible, config, (seed,), samples, act, progress)]
    steps = sum(len(episode.steps) for episode in episodes)
    described = {
        "expert": "The environment's own demonstrator, which may look inside the environment.",
        "random": "Any admissible action, each as likely; some words of the page where a search is due.",
    }
    facts = Facts(
        shown=visible,
        method=Method(name=name, algorithm="", description=described[name]),
        model=Model(name="none"),
        runs=(Run(evaluation_seed=seed),),
        sampling=Sampling(samples=samples),
        track="reference",
        config=None,
        compute=Compute(training={}, evaluation={"episodes": float(len(episodes)), "env_steps": float(steps)}),
        code=_code(),
        disclosure=Disclosure(overlap="none", note="Nothing was learned."),
        contact=CONTACT,
    )
    write(out, panel, facts, episodes)


@dataclasses.dataclass(frozen=True)
class _Played:
    """The settings that a recording needs of a player without a model."""

    env_options: dict[str, Any]


def _recorded(
    panel: Panel,
    visible: Shown,
    config: TrainConfig | _Played,
    seeds: tuple[int, ...],
    samples: int,
    act: Callable[[Any, Key], Act],
    progress: Progress,
) -> Iterator[tuple[Key, Episode]]:
    """Episodes in the order of the file."""
    from leaderboard.record import Key, open_panel, record

    elsewhere = ("split", "max_steps", "observation_mode")
    env = open_panel(panel, visible, **{k: v for k, v in config.env_options.items() if k not in elsewhere})
    keys = [
        Key(task, place, seed, sample)
        for seed in seeds
        for sample in range(samples)
        for place, task in enumerate(panel.task_ids)
    ]
    try:
        for number, key in enumerate(keys, 1):
            yield key, _tried(lambda key=key: record(env, panel, key, act(env, key)))  # type: ignore[misc]
            progress(number, len(keys))
    finally:
        env.close()


def _tried(play: Callable[[], Episode]) -> Episode:
    """An episode, played again when this machine fails."""
    for _ in range(_TRIES - 1):
        try:
            return play()
        except SandboxError:
            continue
    return play()


def _policy_facts(
    panel: Panel,
    visible: Shown,
    config: TrainConfig,
    policy: Policy,
    path: Path,
    folder: RunFolder | None,
    result: Evaluation,
    ledger: Mapping[str, float],
) -> Facts:
    from leaderboard.schema import Compute, Method, Model, Run, Sampling
    from leaderboard.submit import CONTACT, Facts

    learned = folder is not None and path != folder.start_policy
    name = Path(config.model).name or config.model
    words = config.algo if learned else "warm start" if folder is not None else ""
    settings = _plain(dataclasses.asdict(config)) if folder is not None else None
    return Facts(
        shown=visible,
        method=Method(
            name=", ".join(filter(None, (name, words))), algorithm=config.algo if learned else "", description=""
        ),
        model=Model(
            name=name,
            revision=getattr(policy.model.config, "_commit_hash", None),
            adapter_sha256=_hash_files(path, "adapter_model*.safetensors"),
        ),
        runs=(
            Run(
                evaluation_seed=config.evaluation.seed,
                training_seed=config.seed if learned else None,
                weights_sha256=_hash_files(path, "model*.safetensors"),
            ),
        ),
        sampling=Sampling(
            samples=result.success.shape[1],
            temperature=float(result.temperature),
            top_p=config.evaluation.top_p if result.temperature and config.evaluation.top_p < 1 else None,
            top_k=config.evaluation.top_k or None if result.temperature else None,
            max_turn_tokens=config.evaluation.max_turn_tokens,
        ),
        track="open",
        config=settings,
        compute=Compute(
            training=_counted(json.loads((folder.path / "ledger.json").read_text())) if folder and learned else {},
            evaluation=_counted(ledger),
        ),
        code=_code(),
        disclosure=_disclosure(panel, config, folder),
        contact=CONTACT,
    )


def _disclosure(panel: Panel, config: TrainConfig, folder: RunFolder | None) -> Any:
    from leaderboard.schema import Disclosure

    if folder is None:
        return Disclosure(overlap="unknown", note="What the model was trained on is not known here.")
    same_data = config.env_options.get("data", "bundled") == panel.kwargs.get("data", "bundled")
    used = (config.train_split, config.eval_split)
    if same_data and panel.kwargs.get("split") in used:
        return Disclosure(overlap="some", note=f"Trained or tuned on the panel's own split {panel.kwargs['split']}.")
    if same_data:
        return Disclosure(overlap="none", note=f"Trained on split {used[0]}, tuned on split {used[1]} of this data.")
    return Disclosure(overlap="unknown", note="Trained on another data set than the panel's.")


def _counted(ledger: Mapping[str, float]) -> dict[str, float]:
    return {name: round(float(value), 3) for name, value in ledger.items() if math.isfinite(value)}


def _plain(value: Any) -> Any:
    """Settings as YAML and JSON hold them; of a path on this machine, only its last name."""
    if isinstance(value, dict):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, Path) or (isinstance(value, str) and value.startswith(("/", "~", "."))):
        return Path(value).name
    return value


def _hash_files(folder: Path, pattern: str) -> str | None:
    """SHA-256 of the files of a pattern, one after the other by name; none where there are none."""
    digest, found = hashlib.sha256(), sorted(folder.glob(pattern)) if folder.is_dir() else []
    for path in found:
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    return digest.hexdigest() if found else None


def _code() -> Code:
    """The version of the code, and its commit where it lies in a repository."""
    from leaderboard.schema import Code

    try:
        version = metadata.version("sandgym")
    except metadata.PackageNotFoundError:
        version = "source"
    root = Path(__file__).resolve().parents[1]
    commit = _git(root, "rev-parse", "HEAD") if (root / ".git").exists() else None
    if not commit or len(commit) != 40:
        return Code(version=version)
    return Code(version=version, commit=commit, modified=bool(_git(root, "status", "--porcelain", "-uno")))


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
