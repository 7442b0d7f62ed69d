"""Recipes: those of the package load for every environment that they name; precedence; files of one's own."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import ENV, SMALL, Invoke

from algos.config import TrainConfig
from algos.registry import ALGORITHMS
from cli.environments import environment_id
from cli.errors import UsageError
from cli.recipes import FOLDER, load, names
from cli.runs import check_environment, resolved
from sandgym import ENV_IDS

WANTED = {
    "1-gpu-1.5b-lora": {"webshop", "alfworld", "swebench"},
    "8-gpu-7b": {"webshop", "alfworld", "swebench"},
    "cpu-smollm2": {"webshop", "alfworld"},
    "cpu-tiny": {"webshop", "alfworld", "swebench"},
    "paper": {"webshop", "alfworld", "swebench"},
    "verl-agent": {"webshop", "alfworld"},
}
ALL = [(name, env) for name, environments in WANTED.items() for env in sorted(environments)]


def settings(recipe: str, env: str, algo: str | None = None, **given: str) -> TrainConfig:
    loaded = load(recipe)
    pairs = {key.replace("__", "."): text for key, text in given.items()}
    return resolved(algo or loaded.algo or "bpo", environment_id(env), pairs, loaded)


def leaves(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in tree.items():
        found |= leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found


def test_the_package_has_these_recipes() -> None:
    assert names() == sorted(WANTED)
    assert {name: set(load(name).environments) for name in names()} == WANTED


def test_a_wheel_has_them() -> None:
    settings = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert "recipes" in settings["packages"]["find"]["include"]
    assert settings["package-data"]["recipes"] == ["*.yaml"]


@pytest.mark.parametrize(("recipe", "env"), ALL)
def test_every_setting_of_a_recipe_reaches_the_run(recipe: str, env: str, tmp_path: Path) -> None:
    written = yaml.safe_load((FOLDER / f"{recipe}.yaml").read_text())
    sections = written.pop("environments")
    config = settings(recipe, env)
    check_environment(config)
    config.save(tmp_path / "config.yaml")
    reached = leaves(yaml.safe_load((tmp_path / "config.yaml").read_text()))
    expected = leaves(written) | leaves(sections[env] or {})
    assert config.env == ENV_IDS[env]
    for key, value in expected.items():
        if key.startswith(("env_options", "train_options")):
            group, _, name = key.partition(".")
            assert getattr(config, group)[name] == value
        elif value == "none":
            assert reached[key] is None
        else:
            assert reached[key] == (type(reached[key])(value) if isinstance(value, str) else value), key


@pytest.mark.parametrize("recipe", sorted(WANTED))
def test_recipes_name_their_sources(recipe: str) -> None:
    text = (FOLDER / f"{recipe}.yaml").read_text()
    assert text.startswith("# ")
    assert "ource" in text or "arXiv" in text


def test_known_settings_of_others() -> None:
    paper = {env: settings("paper", env) for env in WANTED["paper"]}
    assert {c.optimizer.lr for c in paper.values()} == {2e-6}
    assert {c.algorithm().loss.kl_coefficient for c in paper.values()} == {0.05}
    assert sorted(c.env_options["max_steps"] for c in paper.values()) == [25, 40, 50]
    agent = {env: settings("verl-agent", env) for env in WANTED["verl-agent"]}
    assert {c.optimizer.lr for c in agent.values()} == {1e-6}
    assert {c.algorithm().loss.kl_coefficient for c in agent.values()} == {0.01}
    assert {c.algorithm().plan().roots for c in agent.values()} == {8}
    assert {env: c.env_options["max_steps"] for env, c in agent.items()} == {"webshop": 15, "alfworld": 50}


def test_what_is_given_goes_before_a_recipe_and_a_recipe_before_the_preset(tmp_path: Path) -> None:
    recipe = tmp_path / "mine.yaml"
    recipe.write_text("algo: rloo\nupdates: 7\noptimizer: {lr: 2e-5, betas: [0.8, 0.9]}\nwarm_start: false\n")
    preset = resolved("rloo", ENV_IDS["alfworld"], {}, None)
    assert (preset.updates, preset.optimizer.lr, preset.tiny.hidden) == (80, 6e-4, 96)
    config = settings(str(recipe), "alfworld")
    assert (config.updates, config.optimizer.lr, config.optimizer.betas) == (7, 2e-5, (0.8, 0.9))
    assert (config.tiny.hidden, config.warm_start, config.algo) == (96, False, "rloo")
    config = settings(str(recipe), "alfworld", updates="3", optimizer__lr="1e-3")
    assert (config.updates, config.optimizer.lr, config.optimizer.betas) == (3, 1e-3, (0.8, 0.9))


def test_an_environments_section_goes_before_the_rest(tmp_path: Path) -> None:
    recipe = tmp_path / "mine.yaml"
    recipe.write_text("updates: 7\nseed: 3\nenvironments: {webshop: {updates: 9}, sandgym/ALFWorld-v0: }\n")
    assert [settings(str(recipe), env).updates for env in ("webshop", "alfworld")] == [9, 7]
    assert settings(str(recipe), "webshop").seed == 3


def test_options_of_another_algorithm_are_left_out() -> None:
    config = settings("verl-agent", "webshop", algo="rloo")
    assert config.algo_options == {}
    assert config.optimizer.lr == 1e-6
    assert set(ALGORITHMS) >= {"rloo", "grpo"}


def test_a_runs_settings_are_a_recipe(trained: tuple[Path, str], tmp_path: Path) -> None:
    path = trained[0] / "config.yaml"
    recipe = load(str(path))
    assert (recipe.algo, recipe.env) == ("bpo", ENV)
    again = resolved(recipe.algo or "", environment_id(ENV), {}, recipe)
    again.save(tmp_path / "config.yaml")
    assert yaml.safe_load((tmp_path / "config.yaml").read_text()) == yaml.safe_load(path.read_text())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("optimizer: {rl: 1}", "recipe {path}: optimizer.rl: unknown setting 'rl'; known: optimizer.lr"),
        ("updates: many", "recipe {path}: updates: expected int, not 'many'"),
        ("algo_options: {episodes: 3}", "recipe {path}: algo_options.episodes: unknown setting 'episodes'"),
        ("just words", "recipe {path}: expected settings by name"),
        ("a: [", "recipe {path} cannot be read"),
        ("environments: [webshop]", "recipe {path}: environments must have settings by the environment's name"),
        ("environments: {alfworld: }", "recipe {path} is for alfworld, not for webshop"),
        ("environments: {alfwrld: }", "unknown environment 'alfwrld'"),
    ],
)
def test_bad_recipes(text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        settings(str(path), "webshop")
    assert str(caught.value).startswith(expected.format(path=path))


def test_the_command_takes_a_recipe(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("algo: rloo\nupdates: 3\nseed: 4\ncheckpoint_every: 9\n")
    result = invoke("train", *SMALL, "--recipe", "mine.yaml", "--updates", "0", "--out", "run")
    assert result.exit_code == 0, result.output
    config = TrainConfig.load(tmp_path / "run" / "config.yaml")
    assert (config.algo, config.updates, config.seed, config.checkpoint_every) == ("rloo", 0, 4, 9)
    result = invoke("train", "--recipe", "cpu-tinny")
    assert result.exit_code == 2
    assert f"there is no recipe 'cpu-tinny': give a YAML file or one of {', '.join(sorted(WANTED))}" in result.stderr
    result = invoke("train", "--recipe", "cpu-tiny", "--resume", "run")
    assert "leave out --recipe" in result.stderr
