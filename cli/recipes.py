"""Recipes: settings of runs in YAML files, by the keys of ``config.yaml``.

Invariant: what a user gives goes before a recipe, a recipe before the environment's preset. In a recipe,
``environments`` has further settings by the environment's name. A run's ``config.yaml`` is a recipe, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.environments import environment_id, short_name
from cli.errors import UsageError

FOLDER = Path(__file__).parents[1] / "recipes"


@dataclass(frozen=True)
class Recipe:
    """A recipe's settings, as dotted keys and texts.

    Attributes:
        name: as it was asked for.
        algo: the algorithm that its ``algo_options`` are for, if it names one.
        env: the environment that it is for, if it names one.
        settings: for any environment.
        environments: further ones by the environment's short name; empty: the recipe is for any environment.
    """

    name: str
    algo: str | None
    env: str | None
    settings: dict[str, str]
    environments: dict[str, dict[str, str]]

    def pairs(self, env_id: str, algo: str) -> dict[str, str]:
        """Dotted keys and texts for an environment and an algorithm.

        ``algo_options`` are left out where the algorithm is not the recipe's.

        Raises:
            UsageError: the recipe is for other environments.
        """
        env = short_name(env_id)
        if self.environments and env not in self.environments:
            raise UsageError(f"recipe {self.name} is for {', '.join(self.environments)}, not for {env}")
        found = self.settings | self.environments.get(env, {})
        other = self.algo is not None and algo != self.algo
        return {key: text for key, text in found.items() if not (other and key.startswith("algo_options."))}


def names() -> list[str]:
    """Recipes that come with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


RECIPE_HELP = (
    f"Settings from a YAML file, such as a run's config.yaml, or one of {', '.join(names())}; other options go before "
    "it."
)


def load(name: str) -> Recipe:
    """A recipe of the package by its name, or any YAML file.

    Raises:
        UsageError: there is none, or the file is not one.
    """
    import yaml

    path = Path(name).expanduser()
    if not path.is_file():
        path = FOLDER / f"{name}.yaml"
    if not path.is_file():
        raise UsageError(f"there is no recipe {name!r}: give a YAML file or one of {', '.join(names())}")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"recipe {path} cannot be read: {error}") from error
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise UsageError(f"recipe {path}: expected settings by name")
    sections = values.pop("environments", None) or {}
    if not isinstance(sections, dict) or not all(s is None or isinstance(s, dict) for s in sections.values()):
        raise UsageError(f"recipe {path}: environments must have settings by the environment's name")
    algo, env = values.pop("algo", None), values.pop("env", None)
    environments = {short_name(environment_id(str(env))): _flat(section or {}) for env, section in sections.items()}
    return Recipe(name, algo, env, _flat(values), environments)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A tree of settings as dotted keys and texts, as ``--set`` takes them."""
    flat: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = _text(value)
    return flat


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(_text(item) for item in value)
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
