"""How a command fails: one red line that says what to do, and an exit code.

Invariant: a wrong command line exits with 2, a failure with 1, an interrupted command
with 130; a traceback is shown with ``--debug`` only.
"""

from __future__ import annotations

import sys
from typing import Any

import gymnasium
import typer
from rich.console import Console
from typer.core import TyperGroup

EXTRAS = {
    "train": (
        *("torch", "transformers", "tokenizers", "safetensors", "peft", "gguf", "yaml", "matplotlib", "tensorboard"),
        "scipy",
    ),
    "leaderboard": ("pydantic", "yaml"),
    "vllm": ("vllm",),
    "docker": ("docker",),
    "nouns": ("spacy",),
    "swebench": ("pyarrow",),
}
"""Modules that each optional extra of the package brings."""

_EXPECTED = (ValueError, TypeError, LookupError, OSError, NotImplementedError)


class UsageError(Exception):
    """The command line asks for something that there is not."""


class CommandError(Exception):
    """The command could not do what it was asked; the message says why and what to do."""


class Commands(TyperGroup):
    """The top level of the command, which turns every error into a line and an exit code."""

    def main(self, args: Any = None, *, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        """Run the command line; see the module."""
        given = list(sys.argv[1:] if args is None else args)
        debug = "--debug" in given
        given = [word for word in given if word != "--debug"]
        try:
            code = super().main(given, standalone_mode=False, **extra)
        except Exception as error:
            if debug and not _is_usage(error):
                raise
            code = report(error)
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def report(error: Exception) -> int:
    """Print an error as one line; returns the exit code."""
    text, code = _explain(error)
    if text:  # a bare `sandgym` has printed its help and has nothing to add
        print_error(text)
    return code


def print_error(text: str) -> None:
    """One red line on standard error."""
    _print_line(f"error: {text}", "bold red")


def print_stopped(text: str) -> None:
    """One line on standard error that says how to go on; nothing has failed."""
    _print_line(f"stopped; {text}", "bold yellow")


def _print_line(text: str, style: str) -> None:
    line = " ".join(text.split())
    Console(stderr=True, highlight=False).print(line, style=style, markup=False, soft_wrap=True)


def _explain(error: Exception) -> tuple[str, int]:
    if isinstance(error, UsageError):
        return str(error), 2
    if isinstance(error, typer.Abort):
        return "stopped", 130
    if _is_usage(error):
        context = getattr(error, "ctx", None)
        hint = f"; see `{context.command_path} --help`" if context is not None else ""
        message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
        return message and message + hint, error.exit_code  # type: ignore[attr-defined]
    if isinstance(error, ModuleNotFoundError):
        missing = (error.name or "").partition(".")[0]
        extra = next((name for name, modules in EXTRAS.items() if missing in modules), None)
        if extra is not None:
            return f'this needs {missing}, which is not installed: pip install "sandgym[{extra}]"', 1
    if isinstance(error, CommandError | gymnasium.error.Error):
        return str(error), 1
    message = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, _EXPECTED) and message:
        return f"{message} (--debug shows the traceback)", 1
    return f"{type(error).__name__}: {message} (this was not expected; --debug shows the traceback)", 1


def _is_usage(error: Exception) -> bool:
    """Whether it is the parser's own error; the class has moved between versions of Typer."""
    return isinstance(error, UsageError) or (hasattr(error, "format_message") and hasattr(error, "exit_code"))
