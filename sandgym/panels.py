"""Panels: fixed lists of tasks on which results can be compared.

Invariant: a panel pins what its tasks are (a hash of each), the data they live in, the
horizon and the version of the reward; ``verify`` passes only for an environment in which
all of that is the same, so that equal actions earn equal rewards.

Bundled panels are JSON files beside their environment and are loaded by name, such as
``webshop/dev``. ``python -m sandgym.panels webshop`` writes them anew.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Protocol, cast

import gymnasium

from sandgym.core import SnapshottableEnv, digest_of

SPLITS = ("train", "dev", "test")
# Arguments that a panel leaves open: they choose what is shown, are pinned by hashes and horizon,
# or say where and how sandboxes run.
OPEN_ARGUMENTS = frozenset(
    {
        "data",
        "split",
        "max_steps",
        "observation_mode",
        "render_mode",
        "backend",
        "checkouts",
        "unconfined",
        "on_failure",
    }
)
_LISTED = 500  # a longer panel stores one hash of all tasks instead of one for each


class PanelMismatch(gymnasium.error.Error):
    """An environment is not the one that a panel was made for."""


class PanelEnv(Protocol):
    """What an environment tells a panel about itself.

    Attributes:
        max_steps: the horizon, in actions.
        data_hash: hash of the data set, the same on every machine.
        reward_version: changes whenever equal purchases, moves or patches score differently.
    """

    max_steps: int
    reward_version: str

    @property
    def data_hash(self) -> str:
        """See the class."""

    @property
    def task_ids(self) -> Sequence[str]:
        """Task ids of the split, in order."""

    def task_hash(self, task_id: str) -> str:
        """Hash of a task and of what it depends on; ``KeyError`` when it is not in this split."""


@dataclasses.dataclass(frozen=True)
class Panel:
    """A fixed list of tasks.

    Attributes:
        name: such as ``webshop/dev``.
        env_id: Gymnasium id.
        kwargs: arguments of ``gymnasium.make`` besides the horizon.
        task_ids: the tasks, in order.
        task_hashes: a hash of each; empty for a long panel.
        content_hash: one hash of all task ids and their hashes.
        data_hash: of the data set.
        reward_version: of the environment.
        horizon: actions after which an episode is truncated.
    """

    name: str
    env_id: str
    kwargs: Mapping[str, Any]
    task_ids: tuple[str, ...]
    task_hashes: tuple[str, ...]
    content_hash: str
    data_hash: str
    reward_version: str
    horizon: int

    def make_env(self, **overrides: Any) -> gymnasium.Env[Any, Any]:
        """The panel's environment; ``overrides`` are further arguments of ``gymnasium.make``."""
        return gymnasium.make(self.env_id, **{**self.kwargs, "max_steps": self.horizon, **overrides})

    def to_json(self) -> str:
        """The panel as a JSON document; consecutive task ids are stored as a range."""
        document = dataclasses.asdict(self)
        document["task_ids"] = _as_range(self.task_ids) or list(self.task_ids)
        return json.dumps(document, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Panel:
        """The panel of a JSON document.

        Raises:
            ValueError: not a panel; the message names what is missing or wrong.
        """
        document = json.loads(text)
        names = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(document, dict) or set(document) != names:
            raise ValueError(f"a panel has exactly the keys {', '.join(sorted(names))}")
        ids = document["task_ids"]
        if isinstance(ids, dict):
            ids = [f"{ids['prefix']}{number}" for number in range(ids["start"], ids["stop"])]
        if len(document["task_hashes"]) not in (0, len(ids)):
            raise ValueError(
                f"panel {document['name']!r} has {len(ids)} tasks but {len(document['task_hashes'])} hashes"
            )
        return cls(**{**document, "task_ids": tuple(ids), "task_hashes": tuple(document["task_hashes"])})


def make_panel(env: gymnasium.Env[Any, Any], task_ids: Sequence[str] | None = None, name: str = "") -> Panel:
    """The panel of some tasks of an environment, or of its whole split.

    Args:
        env: made by ``gymnasium.make``, which records its id and arguments.
        task_ids: tasks of its split, without repeats; all by default.
        name: of the panel.

    Raises:
        ValueError: no recorded id, no tasks, or a repeated one.
        LookupError: a task is not in the split.
        TypeError: the environment does not describe its tasks (see ``PanelEnv``).
    """
    told = _told(env)
    spec = env.unwrapped.spec
    if spec is None:
        raise ValueError("make the environment with gymnasium.make, so that its id and arguments are known")
    ids = tuple(told.task_ids if task_ids is None else task_ids)
    if not ids or len(set(ids)) != len(ids):
        raise ValueError("a panel needs at least one task, and none twice")
    hashes = tuple(_task_hash(told, task) for task in ids)
    return Panel(
        name=name,
        env_id=spec.id,
        kwargs={key: value for key, value in spec.kwargs.items() if key not in ("max_steps", "render_mode")},
        task_ids=ids,
        task_hashes=hashes if len(ids) <= _LISTED else (),
        content_hash=digest_of(ids, hashes),
        data_hash=told.data_hash,
        reward_version=told.reward_version,
        horizon=told.max_steps,
    )


def load_panel(name: str | Path) -> Panel:
    """A bundled panel by name (``webshop/dev``), or one from a JSON file.

    Raises:
        LookupError: there is no such panel; the message lists the bundled ones.
        ValueError: the file is not a panel.
    """
    if str(name).endswith(".json"):
        try:
            return Panel.from_json(Path(name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise LookupError(f"there is no panel file {name}") from None
    if str(name) not in (known := bundled_panels()):
        raise LookupError(f"no panel {str(name)!r}; known: {', '.join(known)}, or the path of a .json file")
    folder, _, split = str(name).partition("/")
    return Panel.from_json(_folder(folder).joinpath(f"{split}.json").read_text(encoding="utf-8"))


def bundled_panels() -> list[str]:
    """Names of the bundled panels."""
    from sandgym import ENV_IDS

    files = ((folder, split) for folder in sorted(ENV_IDS) for split in SPLITS)
    return [f"{folder}/{split}" for folder, split in files if _folder(folder).joinpath(f"{split}.json").is_file()]


def verify(panel: Panel, env: gymnasium.Env[Any, Any]) -> None:
    """Check that an environment plays a panel's tasks as they were fixed.

    What is shown (``observation_mode``), where the data lies and which split was opened are
    free, as long as the hashes agree and the tasks are there.

    Raises:
        PanelMismatch: the first difference, with both values.
        TypeError: the environment does not describe its tasks (see ``PanelEnv``).
    """
    told, spec = _told(env), env.unwrapped.spec
    _same(panel, "env_id", panel.env_id, spec.id if spec else None)
    _same(panel, "horizon", panel.horizon, told.max_steps)
    _same(panel, "reward_version", panel.reward_version, told.reward_version)
    here = _arguments(env, spec.kwargs if spec else {})
    there = _arguments(env, panel.kwargs)
    for key in sorted({*here, *there} - OPEN_ARGUMENTS):
        _same(panel, f"argument {key}", there.get(key), here.get(key))
    try:
        hashes = tuple(_task_hash(told, task) for task in panel.task_ids)
    except LookupError as error:
        raise PanelMismatch(f"panel {panel.name!r}: {error}") from None
    for task, fixed, found in zip(panel.task_ids, panel.task_hashes, hashes, strict=False):
        _same(panel, f"task {task}", fixed, found)
    _same(panel, "content_hash", panel.content_hash, digest_of(panel.task_ids, hashes))
    _same(panel, "data_hash", panel.data_hash, told.data_hash)


def write_bundled(folder: str) -> list[Path]:
    """Write the panels of an environment's bundled splits into the package; returns their files."""
    from sandgym import ENV_IDS

    written = []
    for split in SPLITS:
        panel = make_panel(gymnasium.make(ENV_IDS[folder], split=split), name=f"{folder}/{split}")
        path = Path(str(_folder(folder).joinpath(f"{split}.json")))
        path.parent.mkdir(exist_ok=True)
        path.write_text(panel.to_json(), encoding="utf-8", newline="\n")
        written.append(path)
    return written


def _folder(name: str) -> Any:
    return resources.files("sandgym").joinpath(name, "panels")


def _told(env: gymnasium.Env[Any, Any]) -> PanelEnv:
    inner = env.unwrapped
    lacking = [key for key in ("data_hash", "reward_version", "task_hash", "task_ids") if not hasattr(inner, key)]
    if lacking or not isinstance(inner, SnapshottableEnv):
        raise TypeError(f"{type(inner).__name__} cannot have panels: it has no {', '.join(lacking) or 'snapshots'}")
    return cast(PanelEnv, inner)


def _task_hash(env: PanelEnv, task_id: str) -> str:
    try:
        return env.task_hash(task_id)
    except KeyError:
        raise LookupError(f"task {task_id!r} is not in this split of {len(env.task_ids)} tasks") from None


def _arguments(env: gymnasium.Env[Any, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that were given, and the defaults of the others."""
    parameters = inspect.signature(type(env.unwrapped)).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
    return {**defaults, **given}


def _same(panel: Panel, what: str, fixed: Any, found: Any) -> None:
    if fixed != found:
        raise PanelMismatch(f"panel {panel.name!r} was made for {what} {fixed!r}, this environment has {found!r}")


def _as_range(task_ids: Sequence[str]) -> dict[str, Any] | None:
    """Prefix and bounds of ids that count up by one; ``None`` for others."""
    prefix = task_ids[0].rstrip("0123456789")
    digits = task_ids[0].removeprefix(prefix)
    start = int(digits) if digits else 0
    counted = [f"{prefix}{number}" for number in range(start, start + len(task_ids))]
    return {"prefix": prefix, "start": start, "stop": start + len(task_ids)} if counted == list(task_ids) else None


if __name__ == "__main__":
    import sys

    for environment in sys.argv[1:]:
        print(*write_bundled(environment), sep="\n")
