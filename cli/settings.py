"""``--set key=value`` into the tree of configuration dataclasses, typed by their fields.

Invariant: a value has the type of the field that it goes to, and an unknown key is an
error that lists the keys there are.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from cli.environments import literal
from cli.errors import UsageError

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def assignments(given: Sequence[str]) -> dict[str, str]:
    """Dotted keys and texts of ``key=value`` words.

    Raises:
        UsageError: a word without ``=``, or a key that is given twice.
    """
    pairs: dict[str, str] = {}
    for word in given:
        key, equals, text = word.partition("=")
        if not (key and equals):
            raise UsageError(f"--set takes key=value, not {word!r}; for example --set optimizer.lr=1e-4")
        if key in pairs:
            raise UsageError(f"--set {key} is given twice")
        pairs[key] = text
    return pairs


def nested(kind: type[Any], pairs: Mapping[str, str], open_groups: Mapping[str, type[Any] | None]) -> dict[str, Any]:
    """Dotted keys as a tree of typed values, ready for the dataclass.

    Args:
        kind: dataclass of the root.
        pairs: dotted keys and texts.
        open_groups: dataclasses of the root's dictionary fields; ``None`` for one that takes any key.

    Raises:
        UsageError: an unknown key or a text that is not of the field's type.
    """
    tree: dict[str, Any] = {}
    for key, text in pairs.items():
        *groups, last = key.split(".")
        branch = tree
        for group in groups:
            branch = branch.setdefault(group, {})
        branch[last] = _convert(_hint(kind, key, open_groups), text, key)
    return tree


def _hint(kind: type[Any], key: str, open_groups: Mapping[str, type[Any] | None]) -> Any:
    """The type of the field that a dotted key names; ``Any`` where every key is taken."""
    hint: Any = kind
    seen: list[str] = []
    for part in key.split("."):
        if hint is Any or not dataclasses.is_dataclass(hint):
            raise UsageError(f"--set {key}: {'.'.join(seen)} has no parts")
        hints = typing.get_type_hints(hint)
        if part not in hints:
            raise UsageError(f"--set {key}: unknown setting {part!r}; known: {', '.join(_known(hint, seen))}")
        hint = hints[part]
        if not seen and part in open_groups:
            hint = open_groups[part]
            if hint is None:
                hint = _any_key(key)
                break
        seen.append(part)
    if dataclasses.is_dataclass(hint):
        raise UsageError(f"--set {key} names a group; set one of {', '.join(_known(hint, seen))}")
    return hint


def _any_key(key: str) -> Any:
    if key.count(".") != 1 or key.endswith("."):
        raise UsageError(f"--set {key}: write {key.partition('.')[0]}.NAME=value")
    return Any


def _known(kind: Any, prefix: list[str]) -> list[str]:
    hints = typing.get_type_hints(kind)
    groups = (dataclasses.is_dataclass(hint) or typing.get_origin(hint) is dict for hint in hints.values())
    return [".".join([*prefix, name]) + (".*" if group else "") for name, group in zip(hints, groups, strict=True)]


def _convert(hint: Any, text: str, key: str) -> Any:
    origin, choices = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return literal(text)
    if origin is types.UnionType:
        if text.lower() in ("none", "null"):
            return None
        return _convert(next(choice for choice in choices if choice is not type(None)), text, key)
    if origin is typing.Literal:
        if text not in choices:
            raise UsageError(f"--set {key}: {text!r} is not one of {', '.join(map(repr, choices))}")
        return text
    try:
        if hint is bool:
            return _WORDS[text.lower()]
        if origin is tuple:
            return tuple(_convert(choices[0], part, key) for part in text.strip("()[]").split(","))
        return hint(text)
    except (KeyError, ValueError, TypeError):
        name = "true or false" if hint is bool else getattr(hint, "__name__", str(hint))
        raise UsageError(f"--set {key}: expected {name}, not {text!r}") from None
