"""Environments by the names that people type."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Sequence
from typing import Any

import gymnasium

import sandgym
from cli.errors import UsageError

DATA_WORDS = {
    "bundled": "bundled: generated, no download",
    "official": "official data set",
}


def environment_id(name: str) -> str:
    """The Gymnasium id of ``webshop``, of any registered id, or of ``module:Id``.

    Raises:
        UsageError: there is no such environment; lists the known names.
    """
    if name in sandgym.ENV_IDS:
        return sandgym.ENV_IDS[name]
    module, _, registered = name.rpartition(":")
    try:
        if module:
            importlib.import_module(module)
        gymnasium.spec(registered)
    except ImportError as error:
        raise UsageError(f"cannot import {module!r} of the environment {name!r}: {error}") from error
    except gymnasium.error.Error as error:
        known = ", ".join(sorted(sandgym.ENV_IDS))
        raise UsageError(
            f"unknown environment {name!r} ({error}); known: {known}, any Gymnasium id such as CartPole-v1, "
            "and module:Id for one that a module registers"
        ) from error
    return name


def short_name(env_id: str) -> str:
    """``webshop`` for ``sandgym/WebShop-v0``; other ids in a form that a folder can have."""
    names = {registered: name for name, registered in sandgym.ENV_IDS.items()}
    return names.get(env_id, env_id.replace("/", "-").replace(":", "-").lower())


def make(env_id: str, options: dict[str, Any]) -> Any:
    """``gymnasium.make`` whose complaint about an argument names the environment.

    Raises:
        UsageError: an argument that the environment does not have or take.
    """
    try:
        return gymnasium.make(env_id, **options)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{short_name(env_id)}: {error}") from error


def describe_data(env: Any) -> str:
    """Which data an environment plays, in words; empty where it does not say."""
    _, info = env.reset(seed=0)
    data = str(info.get("data", ""))
    return DATA_WORDS.get(data, data)


def keyword_arguments(given: Sequence[str]) -> dict[str, Any]:
    """Arguments of ``gymnasium.make`` from ``key=value`` words; values are Python literals or plain text.

    Raises:
        UsageError: a word without ``=``.
    """
    parsed = {}
    for word in given:
        key, equals, text = word.partition("=")
        if not (key and equals):
            raise UsageError(f"--kwargs takes key=value, not {word!r}; for example --kwargs max_steps=20")
        parsed[key] = literal(text)
    return parsed


def literal(text: str) -> Any:
    """A Python literal (``20``, ``0.5``, ``True``, ``None``), ``true`` or ``false``, or else the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
