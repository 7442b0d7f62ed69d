"""The panels of the leaderboard: fixed files, beside this module, that no submission can replace.

Invariant: a panel's file never changes; a change of tasks, data or rewards is a panel of another name.
``make`` writes the file of a panel whose data is on this machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import gymnasium

from sandgym import ENV_IDS
from sandgym.core import SandboxError
from sandgym.panels import Panel, make_panel

FOLDER_NAME = re.compile(r"\d{4}-\d{2}-\d{2}-[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
"""Of a submission: its date, and words in small letters."""


class Definition(NamedTuple):
    """What a panel is made from.

    Attributes:
        folder: short name of the environment, under which submissions lie.
        kwargs: arguments of ``gymnasium.make``.
        tasks: how many there must be, so that partial data makes no panel.
        data: what must be on the machine, in words.
    """

    folder: str
    kwargs: Mapping[str, Any]
    tasks: int
    data: str


_OFFICIAL = {"data": "official"}
DEFINITIONS: Mapping[str, Definition] = MappingProxyType(
    {
        "webshop/test": Definition("webshop", {"split": "test"}, 200, "bundled"),
        "webshop/official-1000-dev": Definition(
            "webshop", {**_OFFICIAL, "split": "dev"}, 1000, "official, 1,000 products (sandgym data, --size 1000)"
        ),
        "webshop/official-1000-test": Definition(
            "webshop", {**_OFFICIAL, "split": "test"}, 500, "official, 1,000 products (sandgym data, --size 1000)"
        ),
        "webshop/official-human-test": Definition(
            "webshop",
            {**_OFFICIAL, "split": "test", "goals": "human"},
            500,
            "official, all products (sandgym data, --size full)",
        ),
        "alfworld/test": Definition("alfworld", {"split": "test"}, 100, "bundled"),
        "alfworld/official-valid-seen": Definition(
            "alfworld", {**_OFFICIAL, "split": "valid_seen"}, 140, "official (sandgym data)"
        ),
        "alfworld/official-valid-unseen": Definition(
            "alfworld", {**_OFFICIAL, "split": "valid_unseen"}, 134, "official (sandgym data)"
        ),
        "swebench/test": Definition("swebench", {"split": "test"}, 70, "bundled"),
        "swebench/official-verified": Definition(
            "swebench", {**_OFFICIAL, "split": "test"}, 500, "official (sandgym data), and its images"
        ),
    }
)


def names() -> list[str]:
    """Panels whose file is here, in the order of ``DEFINITIONS``."""
    return [name for name in DEFINITIONS if _file(name).is_file()]


def load(name: str) -> Panel:
    """A panel of the leaderboard.

    Raises:
        LookupError: there is no such panel; the message lists those there are.
    """
    if name not in names():
        command = f"; its data makes it: sandgym leaderboard panel {name}" if name in DEFINITIONS else ""
        raise LookupError(f"the leaderboard has no panel {name!r}{command}; it has {', '.join(names())}")
    return Panel.from_json(_file(name).read_text(encoding="utf-8"))


def make(name: str, **overrides: Any) -> Panel:
    """A panel from the data on this machine.

    Args:
        name: in ``DEFINITIONS``.
        overrides: arguments of the environment that leave the tasks as they are, such as ``data``, a folder
            that holds what ``data="official"`` would open.

    Raises:
        LookupError: an unknown name.
        ValueError: the data holds another number of tasks than the panel has.
        SandboxError: the data is not here.
    """
    if name not in DEFINITIONS:
        raise LookupError(f"no panel {name!r} is defined; defined: {', '.join(DEFINITIONS)}")
    definition = DEFINITIONS[name]
    try:
        env = gymnasium.make(ENV_IDS[definition.folder], **{**definition.kwargs, **overrides})
    except SandboxError as error:
        raise SandboxError(f"panel {name} needs its data, {definition.data}: {error}") from error
    panel = make_panel(env, name=name)
    if len(panel.task_ids) != definition.tasks:
        raise ValueError(
            f"panel {name} has {definition.tasks} tasks and this data {len(panel.task_ids)}: "
            f"it needs the whole data set, {definition.data}"
        )
    return Panel(**{**vars(panel), "kwargs": dict(definition.kwargs)})


def folder_of(name: str) -> str:
    """Short name of a panel's environment, the folder of its submissions."""
    return DEFINITIONS[name].folder


def write(panel: Panel, folder: Path) -> Path:
    """Write a panel's file into the folder ``panels`` of a leaderboard.

    Raises:
        FileExistsError: there is another panel of this name.
    """
    path = folder / "panels" / _file_name(panel.name)
    text = panel.to_json()
    if path.is_file() and path.read_text(encoding="utf-8") != text:
        raise FileExistsError(f"{path} is another panel of this name; a panel never changes")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _file_name(name: str) -> str:
    return name.replace("/", "-") + ".json"


def _file(name: str) -> Any:
    return resources.files("leaderboard").joinpath("panels", _file_name(name))
