"""The guide's commands are ones that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.main import app
from leaderboard.records import Limits
from leaderboard.schema import MAX_PASSES
from sandgym.panels import Panel

TEXT = (Path(__file__).resolve().parents[2] / "leaderboard" / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```bash\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
LINES = [line for block in BLOCKS for line in block.splitlines() if line.startswith(".venv/bin/sandgym ")]


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_guide_is_understood(line: str) -> None:
    command: Any = typer.main.get_command(app)
    context, words = None, shlex.split(line)[1:]
    while hasattr(command, "commands"):
        context = command.make_context(words[0], list(words), parent=context)
        command, words = command.commands[words[0]], words[1:]
    command.make_context(command.name, list(words), parent=context)  # raises for what it does not know


def test_the_guide_goes_from_training_to_the_pages() -> None:
    steps = ["train", "eval", "leaderboard submit", "leaderboard render"]
    assert [line.split("sandgym ")[1].startswith(step) for line, step in zip(LINES, steps, strict=False)] == [True] * 4


def test_the_guide_knows_the_limits(small_panels: dict[str, Panel]) -> None:
    for panel in small_panels.values():
        assert f"{Limits.of(panel, 1).action:,} bytes of JSON" in TEXT
    assert f"at most {MAX_PASSES}" in TEXT
