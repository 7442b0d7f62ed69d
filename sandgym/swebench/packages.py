"""Small Python packages for the bundled tasks: families of packages, and one rendered from a draw.

Invariant: a rendered package is a function of (family, draw). All packages of a family have
the same syntax trees up to names and constants, so that a place in one is a place in all.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
from collections.abc import Mapping
from typing import Any

from sandgym.draws import Draw

_FILE = re.compile(r"^### (\S+)$", re.MULTILINE)
_DOCSTRING = '"""'
_QUOTED = re.compile("``.+?``")
_COMPUTED = re.compile("«(.+?)»")

TRAIN_FAMILIES = (
    "cachebox",
    "calculator",
    "cards",
    "csvtable",
    "graphs",
    "intervals",
    "inventory",
    "ledger",
    "machine",
    "matrix",
    "paragraph",
    "polynomial",
    "pqueue",
    "roman",
    "schedule",
    "semver",
    "snippets",
    "tokenizer",
    "units",
    "urls",
)
TEST_FAMILIES = ("basket", "bowling", "codec", "geometry", "inifile", "loans", "standings")


@dataclasses.dataclass(frozen=True)
class Family:
    """Packages that differ in names and constants.

    Attributes:
        name: of the family.
        summary: one sentence on what the package does.
        sources: path to text, before names and constants are filled in.
        names: identifier or word to what may stand in its place, itself among them.
        constants: name to the values it may have; ``«expression»`` in a source is computed from them.
    """

    name: str
    summary: str
    sources: Mapping[str, str]
    names: Mapping[str, tuple[str, ...]]
    constants: Mapping[str, tuple[Any, ...]]


@dataclasses.dataclass(frozen=True)
class Package:
    """One package.

    Attributes:
        family: name of its family.
        name: under which it is imported.
        files: path below the repository's root to text.
        modules: paths of its own modules that have code, in the order of the family, whatever their names.
        suites: paths of its test modules, in that order.
    """

    family: str
    name: str
    files: Mapping[str, str]
    modules: tuple[str, ...]
    suites: tuple[str, ...]


def describe(
    name: str,
    summary: str,
    text: str,
    names: Mapping[str, tuple[str, ...]],
    constants: Mapping[str, tuple[Any, ...]] | None = None,
) -> Family:
    """A family whose files stand in one text, each below a line ``### path``."""
    parts = _FILE.split(text)[1:]
    sources = {path: body.strip("\n") + "\n" for path, body in zip(parts[::2], parts[1::2], strict=True)}
    return Family(name, summary, sources, names, constants or {})


def family(name: str) -> Family:
    """A family of the library by its name."""
    found = importlib.import_module(f"sandgym.swebench.library.{name}").FAMILY
    assert isinstance(found, Family)
    return found


def _literal(value: Any) -> str:
    """A value as source text; strings in double quotes, as in the rest of the packages."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def render(template: Family, draw: Draw) -> Package:
    """One package of a family.

    A changed name changes the name of its test module or test too: ``test_<name>``. The prose of
    docstrings stays.
    """
    constants = {name: draw.pick(values) for name, values in template.constants.items()}
    chosen = {old: draw.pick(choices) for old, choices in template.names.items()}
    changed = chosen | {f"test_{old}": f"test_{new}" for old, new in chosen.items()}
    pattern = re.compile(rf"\b(?:{'|'.join(sorted(changed, key=len, reverse=True))})\b")

    def rename(text: str) -> str:
        return pattern.sub(lambda match: changed[match[0]], text)

    def fill(text: str) -> str:
        computed = _COMPUTED.sub(lambda match: _literal(eval(match[1], {}, dict(constants))), text)
        parts = computed.split(_DOCSTRING)
        code = [rename(part) for part in parts[::2]]
        words = [_QUOTED.sub(lambda match: rename(match[0]), part) for part in parts[1::2]]
        return _DOCSTRING.join(part for pair in zip(code, [*words, ""], strict=True) for part in pair).removesuffix(
            _DOCSTRING
        )

    folder = next(iter(template.sources)).partition("/")[0]
    folder = next(iter(template.sources)).partition("/")[0]
    name, summary = chosen.get(folder, folder), template.summary
    files = {rename(path): fill(text) for path, text in template.sources.items()}
    suites = tuple(path for path in files if path.startswith("tests/"))
    modules = tuple(path for path in files if path not in suites)
    files[f"{name}/__init__.py"] = f'"""{summary}"""\n'
    files["tests/__init__.py"] = ""
    files["README.md"] = f"# {name}\n\n{summary}\n\nRun the tests with `python -m unittest`.\n"
    files[".gitignore"] = "__pycache__/\n*.pyc\n"
    return Package(template.name, name, dict(sorted(files.items())), modules, suites)
