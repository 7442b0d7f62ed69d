"""Commands run in this process, and in one of their own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
