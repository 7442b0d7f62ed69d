"""How the working folder and the exported variables are carried from one ``bash`` to the next.

Invariant: the command itself reaches ``bash -c`` unchanged. Bash reads ``PROLOGUE`` first,
through ``BASH_ENV``, and writes its state when it exits; a command that replaces the exit
trap, or the shell, leaves the state as it was.
"""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

from sandgym.sandboxes.base import CommandResult
from sandgym.sandboxes.confined.output import CappedOutput

_NOT_KEPT = frozenset({"BASH_ENV", "OLDPWD", "PWD", "SHLVL", "_"})
MOST_STATE = 1 << 20  # bytes: a larger state is not kept

# The names go through a file since a command substitution would cost another process.
PROLOGUE = r"""
unset BASH_ENV
trap '{
builtin set +eu
builtin pwd -P >|"<STATE>.new"
builtin compgen -e >|"<STATE>.names"
builtin mapfile -t SANDBOX_NAMES <"<STATE>.names"
{
  builtin printf "\0"
  for SANDBOX_NAME in "${SANDBOX_NAMES[@]}"; do builtin printf "%s=%s\0" "$SANDBOX_NAME" "${!SANDBOX_NAME-}"; done
} >>"<STATE>.new"
builtin printf "end" >>"<STATE>.new"
} 2>/dev/null' EXIT
"""


class ShellState(NamedTuple):
    """What is carried on: working folder and exported variables."""

    cwd: str
    variables: dict[str, str]


def prologue(state_file: str) -> str:
    """What bash reads first; it will write ``<state_file>.new``.

    Args:
        state_file: path inside the sandbox, without characters that a shell would interpret.
    """
    return PROLOGUE.replace("<STATE>", state_file)


def parse(state: bytes) -> ShellState | None:
    """What a shell wrote; None when it wrote nothing whole."""
    cwd, separator, rest = state.partition(b"\n\0")
    if not separator or not rest.endswith(b"end") or len(state) > MOST_STATE:
        return None
    variables = {}
    for item in rest.removesuffix(b"end").split(b"\0"):
        name, equals, value = item.partition(b"=")
        if equals and os.fsdecode(name) not in _NOT_KEPT:
            variables[os.fsdecode(name)] = os.fsdecode(value)
    return ShellState(os.fsdecode(cwd), variables)


def sendable(command: str) -> str:
    """The command, with what cannot be written in UTF-8 replaced by question marks."""
    try:
        os.fsencode(command)
    except UnicodeEncodeError:
        return command.encode("utf-8", "replace").decode()
    return command


def refusal(command: str, longest: int) -> CommandResult | None:
    """What comes of a command that no shell can be given; None where one can."""
    if "\0" in command:
        return CommandResult(2, "bash: a command cannot contain a null character\n")
    if len(command.encode("utf-8", "replace")) > longest:
        return CommandResult(126, f"bash: the command is longer than {longest} bytes\n")
    return None


def result(status: int, ended: str, background: int, output: CappedOutput) -> CommandResult:
    """The result of a command that ran.

    Args:
        status: of the shell, as ``waitpid`` gives it.
        ended: why it was ended: ``timeout``, ``memory``, ``disk`` or nothing.
        background: processes that it left.
        output: what it wrote.
    """
    code: int | None = os.waitstatus_to_exitcode(status)
    if code is not None and code < 0:
        code = 128 - code
    if ended == "timeout":
        code = None
    elif ended:
        code = 128 + signal.SIGKILL
        output.add(f"\n[the command was ended: it used more {ended} than is allowed]\n".encode())
    text, truncated = output.text()
    return CommandResult(code, text, truncated, ended == "timeout", background)
