"""Edits of a text file as short shell commands, and patches applied to text.

Invariant: the commands turn the one text into the other with GNU sed, whatever characters are in it.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Sequence

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_TOKEN = re.compile(r"<=|>=|==|!=|\+=|-=|\*=|//=|//|\*\*|\w+|\s+|.")


def patched(text: str, patch: str) -> str:
    """A text after the hunks of a patch of one file, whose contexts must fit exactly.

    Raises:
        ValueError: the patch is of another text.
    """
    old, new, at = text.splitlines(keepends=True), list[str](), 0
    first = patch.find("@@ -")
    for line in patch[first:].splitlines(keepends=True) if first >= 0 else ():
        if hunk := _HUNK.match(line):
            start = int(hunk[1]) - (hunk[2] != "0")
            new += old[at:start]
            at = start
        elif line[0] == "+":
            new.append(line[1:])
        elif line[0] in " -":
            if old[at : at + 1] != [line[1:]]:
                raise ValueError(f"the patch does not fit: it has {line[1:]!r} at line {at + 1}")
            new += old[at : at + 1] if line[0] == " " else []
            at += 1
    return "".join([*new, *old[at:]])


def sed_command(path: str, before: str, after: str) -> str:
    """One sed command that turns a file's text into another; empty where they are equal.

    A line that stays a line is changed by ``s``, the least of it that names the place; whole lines
    are appended, deleted or replaced. Both texts end with a line end.
    """
    old, new = before.splitlines(), after.splitlines()
    scripts = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "replace" and i2 - i1 == j2 - j1:
            pairs = zip(old[i1:i2], new[j1:j2], strict=True)
            scripts += [f"{i1 + n}{substitution(*pair)}" for n, pair in enumerate(pairs, start=1)]
        elif tag == "replace":
            scripts += _replaced(i1, i2, new[j1:j2])
        elif tag == "delete":
            scripts.append(f"{_range(i1, i2)}d")
        elif tag == "insert":
            scripts.append(_inserted(i1, new[j1:j2]))
    if not scripts:
        return ""
    if len(scripts) == 1:
        return f"sed -i {_quoted(scripts[0])} {shlex.quote(path)}"
    return f"sed -i {' '.join(f'-e {_quoted(script)}' for script in scripts)} {shlex.quote(path)}"


def line_command(path: str, number: int, line: str) -> str:
    """One sed command that makes a line say something else, in its indentation; as legible as the line allows.

    Args:
        path: of the file, relative to the working directory.
        number: of the line, from 1; there is more than spaces in it.
        line: the new line without its indentation.
    """
    mark = next(mark for mark in "|/#~\x01" if mark not in line)
    script = f"{number}s{mark}[^ ].*{mark}{_escaped(line, '&')}{mark}"
    return f"sed -i {_quoted(script)} ./{shlex.quote(path)}"


def substitution(old: str, new: str) -> str:
    """The sed command ``s`` for one line."""
    left, right = _TOKEN.findall(old), _TOKEN.findall(new)
    start = _common(left, right)
    end = _common(left[start:][::-1], right[start:][::-1])
    stop, new_stop = len(left) - end, len(right) - end
    for extra in range(len(left) + 1):
        for more in range(extra + 1):  # to the right first
            first, last = start - more, stop + extra - more
            if first >= 0 and last <= len(left):
                part = "".join(left[first:last])
                if part.strip() and old.find(part) == len("".join(left[:first])):
                    return _s(part, "".join(right[first : new_stop + extra - more]))
    return _s(old, new) if old else f"s/^/{_escaped(new, '&/')}/"


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """How many first items are equal."""
    return next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def _s(old: str, new: str) -> str:
    mark = next(mark for mark in "/|,#!~\x01" if mark not in old + new)
    return f"s{mark}{_escaped(old, '.*[]^$')}{mark}{_escaped(new, '&')}{mark}"


def _escaped(text: str, special: str) -> str:
    return "".join(f"\\{char}" if char in special + "\\" else char for char in text)


def _replaced(start: int, stop: int, lines: Sequence[str]) -> list[str]:
    """Scripts that put lines in the place of others; a text of ``c`` cannot begin with an empty line."""
    if lines[0]:
        return [f"{_range(start, stop)}c\\{_lines(lines)}"]
    rest = [f"{_range(start, stop - 1)}d"] if stop - start > 1 else []
    return [*rest, f"{stop}s/.*/{_replacement(lines)}/"]


def _inserted(after: int, lines: Sequence[str]) -> str:
    """The script that puts lines behind a line; a text of ``a`` or ``i`` cannot begin with an empty line."""
    if lines[0]:
        return f"{after}a\\{_lines(lines)}" if after else f"1i\\{_lines(lines)}"
    return f"{after}s/$/\\n{_replacement(lines)}/" if after else f"1s/^/{_replacement(lines)}\\n/"


def _replacement(lines: Sequence[str]) -> str:
    """Lines as the replacement of ``s``."""
    return r"\n".join(_escaped(line, "&/") for line in lines)


def _lines(lines: Sequence[str]) -> str:
    """Lines as sed's text argument in one line of shell."""
    return r"\n".join(line.replace("\\", r"\\") for line in lines)


def _range(start: int, stop: int) -> str:
    return str(stop) if stop - start == 1 else f"{start + 1},{stop}"


def _quoted(script: str) -> str:
    """A script in single quotes, which sed's scripts look best in."""
    return "'" + script.replace("'", "'\\''") + "'"
