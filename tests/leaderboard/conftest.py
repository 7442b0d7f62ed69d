"""Submissions to look at and to tamper with, of small panels of the bundled tasks."""

from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
from leaderboard_helpers import copy_of, submission_of

from leaderboard import panels
from sandgym import ENV_IDS
from sandgym.panels import Panel, make_panel

SIZES = {"webshop": 12, "alfworld": 4}


@pytest.fixture(autouse=True, scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What was verified before is not remembered here, and what is verified here is forgotten."""
    kept = pytest.MonkeyPatch()
    kept.setenv("SANDGYM_DATA", str(tmp_path_factory.mktemp("data")))
    yield
    kept.undo()


@pytest.fixture(scope="session")
def small_panels(environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Panel]]:
    """The first test tasks of an environment, each a panel ``<environment>/few`` that can be submitted to."""
    folder = tmp_path_factory.mktemp("panels")
    kept = pytest.MonkeyPatch()
    made, definitions = {}, dict(panels.DEFINITIONS)
    for name, size in SIZES.items():
        env = gymnasium.make(ENV_IDS[name], split="test")
        tasks = env.unwrapped.task_ids[:size]
        panel = made[name] = make_panel(env, tasks, f"{name}/few")
        definitions[panel.name] = panels.Definition(name, {"split": "test"}, size, "bundled")
        (folder / f"{name}-few.json").write_text(panel.to_json())
    there = panels._file
    kept.setattr(panels, "DEFINITIONS", definitions)
    kept.setattr(panels, "_file", lambda n: folder / panels._file_name(n) if n.endswith("/few") else there(n))
    yield made
    kept.undo()


@pytest.fixture(scope="session")
def played(small_panels: dict[str, Panel], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A submission of chance to each small panel, of two seeds."""
    base = tmp_path_factory.mktemp("played")
    return {name: submission_of("random", panel, base / name, seeds=(3, 8)) for name, panel in small_panels.items()}


@pytest.fixture
def shop(played: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the submission to the small panel of WebShop."""
    return copy_of(played["webshop"], tmp_path / "shop")
