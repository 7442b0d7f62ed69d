"""Commands run in this process, and in one of their own; a run to look at."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app

HERE = Path(__file__).parent
ENV = "alphabet_env:test/Alphabet-v0"
SMALL = [
    *("--env", ENV, "--tasks", "3", "--set", "eval_tasks=4", "--set", "evaluation.samples=2"),
    *("--set", "tiny.hidden=32", "--set", "tiny.layers=1", "--set", "tiny.heads=2", "--set", "tiny.intermediate=64"),
    *("--set", "tiny.context=512", "--set", "tiny.vocabulary=300", "--set", "max_turn_tokens=6"),
    *("--set", "evaluation.max_turn_tokens=6", "--set", "sft.steps=5", "--set", "sft.demonstrations=40"),
    *("--set", "sft.batch_tokens=600"),
]
Invoke = Callable[..., Any]


@pytest.fixture(autouse=True, scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands find the test's environment, and keep their policies out of the user's folder."""
    kept = pytest.MonkeyPatch()
    kept.syspath_prepend(str(HERE))
    kept.setenv("COLUMNS", "120")
    kept.setenv("TERMINAL_WIDTH", "120")
    kept.setenv("SANDGYM_DATA", str(tmp_path_factory.mktemp("data")))
    yield
    kept.undo()


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Runs a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return run


def run(*words: str, stdin: str | None = None) -> Any:
    return CliRunner().invoke(app, list(words), input=stdin)


def start(*words: str, cwd: Path) -> "subprocess.Popen[str]":
    """A command in a process of its own, with pipes for what it prints."""
    root = str(HERE.parents[1])
    paths = os.pathsep.join([root, str(HERE), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "cli.main", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="session")
def trained(environment: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished run of two updates, and what the command printed."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    result = run("train", "--algo", "bpo", *SMALL, "--updates", "2", "--out", str(folder))
    assert result.exit_code == 0, result.output
    return folder, result.output
