"""A run's settings and folder, as the command line names them.

Invariant: a wrong setting is found before anything is written.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from cli.environments import make, short_name
from cli.errors import UsageError
from cli.presets import preset
from cli.recipes import Recipe
from cli.settings import nested

if TYPE_CHECKING:
    from algos.config import TrainConfig
    from algos.runfolder import RunFolder

RUNS = Path("runs")
OPEN = ("env_options", "train_options")  # groups that take any key
_NEEDED = {
    "snapshot": "the contract; see `sandgym check`",
    "fork": "the contract",
    "task_ids": "its tasks, in a fixed order",
    "instructions": "the rules in words",
}


def configuration(algo: str, env_id: str, pairs: dict[str, str]) -> TrainConfig:
    """The run's settings from dotted keys and texts, over the environment's preset.

    Raises:
        UsageError: an unknown algorithm or key, or a value that does not fit.
    """
    from algos.config import TrainConfig, from_mapping
    from algos.registry import ALGORITHMS
    from algos.tiny import is_tiny

    if algo not in ALGORITHMS:
        raise UsageError(f"unknown algorithm {algo!r}; known: {', '.join(sorted(ALGORITHMS))}")
    for key, flag in (("algo", "--algo"), ("env", "--env")):
        if key in pairs:
            raise UsageError(f"choose the {key} with {flag}, not with --set {key}")
    kind = ALGORITHMS[algo].Config
    model = pairs.get("model", "tiny")
    adapter = pairs.get("lora.rank", "0") != "0" or (Path(model).expanduser() / "adapter_config.json").is_file()
    settings = preset(env_id, algo, pairs, is_tiny(model), adapter)
    values = nested(TrainConfig, settings, {"algo_options": kind, **dict.fromkeys(OPEN)})
    values.setdefault("device", _default_device(values.get("model", "tiny")))
    try:
        config: TrainConfig = from_mapping(TrainConfig, {"env": env_id, "algo": algo, **values}, "settings")
        config.algorithm()
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    return dataclasses.replace(config, model=model_source(config.model))


def resolved(algo: str, env_id: str, pairs: dict[str, str], recipe: Recipe | None) -> TrainConfig:
    """The run's settings: what the user gave, the recipe, the environment's preset, the defaults, in this order.

    Raises:
        UsageError: a setting that there is not; names the recipe where it comes from there.
    """
    if recipe is None:
        return configuration(algo, env_id, pairs)
    from_recipe = recipe.pairs(env_id, algo)
    try:
        return configuration(algo, env_id, from_recipe | pairs)
    except UsageError as error:
        key = str(error).removeprefix("--set ").partition(":")[0].partition(" ")[0]
        if key in from_recipe and key not in pairs:
            raise UsageError(f"recipe {recipe.name}: {str(error).removeprefix('--set ')}") from error
        raise


def model_source(model: str) -> str:
    """A model as the command line names it, as a path where it is one.

    Raises:
        UsageError: a path leads nowhere.
    """
    from algos.pretrained import PACKAGED, is_gguf

    path = Path(model).expanduser()
    if model in PACKAGED or model == "tiny":
        return model
    if is_gguf(model):
        if not path.is_file():
            raise UsageError(f"there is no model file {model}")
    elif model.startswith((".", "/", "~")) and not path.is_dir():
        raise UsageError(f"there is no model folder {model}")
    return str(path) if path.exists() else model


def open_run(path: Path) -> tuple[RunFolder, TrainConfig]:
    """An existing run.

    Raises:
        UsageError: there is none.
    """
    from algos.runfolder import RunFolder

    try:
        return RunFolder.open(path)
    except FileNotFoundError as error:
        there = sorted(str(found.parent) for found in RUNS.glob("*/config.yaml"))
        raise UsageError(f"{error}; runs here: {', '.join(there) or 'none'}") from error


def new_run(config: TrainConfig, out: Path | None) -> RunFolder:
    """A folder for a new run: ``out``, or the next free one in ``runs/``.

    Raises:
        UsageError: ``out`` holds a run.
    """
    from algos.runfolder import RunFolder

    if out is not None:
        try:
            return RunFolder.create(out, config)
        except FileExistsError as error:
            raise UsageError(str(error)) from error
    stem, number = f"{short_name(config.env)}-{config.algo}-{config.seed}", 1
    while True:
        path = RUNS / f"{stem}-{number}"
        try:
            path.mkdir(parents=True)  # claims the number against a run that starts at the same time
        except FileExistsError:
            number += 1
            continue
        return RunFolder.create(path, config)


def _default_device(model: str) -> str:
    import torch

    return "cuda" if model != "tiny" and torch.cuda.is_available() else "cpu"


def remove_if_empty(folder: RunFolder, fresh: bool) -> None:
    """A new run that failed before it had a policy leaves no folder behind."""
    if fresh and [path.name for path in folder.path.iterdir()] == ["config.yaml"]:
        (folder.path / "config.yaml").unlink()
        folder.path.rmdir()


def quiet_transformers(model: str) -> None:
    """No progress bars for models that are on this disk; a download keeps its own."""
    from transformers.utils import logging

    if model in ("tiny", "smollm2") or Path(model).exists():
        logging.disable_progress_bar()


def check_environment(config: TrainConfig) -> None:
    """Refuse an environment that cannot be trained on before anything is written."""
    env = make(config.env, config.env_options)
    lacking = [f"{name} ({what})" for name, what in _NEEDED.items() if not hasattr(env.unwrapped, name)]
    if lacking:
        raise UsageError(f"{config.env} cannot be trained on: it has no {', '.join(lacking)}")
    for arguments in (config.training_arguments(), config.evaluation_arguments()):
        make(config.env, arguments)
