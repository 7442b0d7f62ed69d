"""Submissions to look at and to tamper with, of small panels of the bundled tasks."""

from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium
import pytest
from leaderboard_helpers import copy_of, submission_of

from leaderboard import panels
from sandgym import ENV_IDS
from sandgym.panels import Panel, make_panel

Few = Callable[..., Panel]
SIZES = {"webshop": 12, "alfworld": 4}


@pytest.fixture(autouse=True, scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What was verified before is not known here, and what is verified here is forgotten."""
    kept = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("remembered")
    kept.setattr("leaderboard.parts.data_root", lambda: folder)
    yield
    kept.undo()


@pytest.fixture(scope="session")
def few(environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Few]:
    """Makes panels, by default ``<environment>/few``, of the first test tasks, which can be submitted to."""
    folder = tmp_path_factory.mktemp("panels")
    kept = pytest.MonkeyPatch()
    there = panels._file
    kept.setattr(panels, "DEFINITIONS", dict(panels.DEFINITIONS))
    kept.setattr(panels, "_file", lambda n: folder / panels._file_name(n) if "/few" in n else there(n))

    def make(name: str, size: int, called: str = "few") -> Panel:
        env = gymnasium.make(ENV_IDS[name], split="test")
        panel = make_panel(env, env.unwrapped.task_ids[:size], f"{name}/{called}")  # type: ignore[attr-defined]
        panels.DEFINITIONS[panel.name] = panels.Definition(name, {"split": "test"}, size, "bundled")  # type: ignore[index]
        (folder / f"{name}-{called}.json").write_text(panel.to_json())
        return panel

    yield make
    kept.undo()


@pytest.fixture(scope="session")
def small_panels(few: Few) -> dict[str, Panel]:
    """Small panels of the environments that live in memory."""
    return {name: few(name, size) for name, size in SIZES.items()}


@pytest.fixture(scope="session")
def played(small_panels: dict[str, Panel], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A submission of chance to each small panel, of two seeds."""
    base = tmp_path_factory.mktemp("played")
    return {name: submission_of("random", panel, base / name, seeds=(3, 8)) for name, panel in small_panels.items()}


@pytest.fixture
def shop(played: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the submission to the small panel of WebShop."""
    return copy_of(played["webshop"], tmp_path / "shop")
