"""Configurations: what is written is what is read; errors name the key."""

import dataclasses

import pytest
import yaml

from algos.config import TrainConfig, from_mapping
from algos.learner import OptimizerConfig
from algos.registry import ALGORITHMS

BASE = {"env": "sandgym/WebShop-v0", "algo": "bpo"}


@pytest.mark.parametrize("algo", sorted(ALGORITHMS))
def test_a_saved_configuration_is_resolved_and_comes_back(tmp_path, algo):
    config = TrainConfig(**{**BASE, "algo": algo}, optimizer=OptimizerConfig(lr=1e-5), env_options={"max_steps": 3})
    config.save(tmp_path / "config.yaml")
    written = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert set(written) == {f.name for f in dataclasses.fields(TrainConfig)}
    loaded = TrainConfig.load(tmp_path / "config.yaml")
    assert loaded.algorithm().config == config.algorithm().config
    assert dataclasses.replace(loaded, algo_options={}) == config
    loaded.save(tmp_path / "again.yaml")
    assert (tmp_path / "again.yaml").read_text() == (tmp_path / "config.yaml").read_text()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"udpates": 3}, r"run: unknown setting udpates; known: env, algo"),
        ({"optimizer": {"rate": 1.0}}, r"run\.optimizer: unknown setting rate; known: lr"),
        ({"updates": "many"}, r"run\.updates: expected int, not 'many'"),
        ({"updates": True}, r"run\.updates: expected int, not True"),
        ({"updates": 1.5}, r"run\.updates: expected int, not 1\.5"),
        ({"temperature": "hot"}, r"run\.temperature: expected float, not 'hot'"),
        ({"temperature": True}, r"run\.temperature: expected float, not True"),
        ({"warm_start": 1}, r"run\.warm_start: expected bool, not 1"),
        ({"env_options": [1]}, r"run\.env_options: expected dict"),
        ({"rollout": 3}, r"run\.rollout: expected settings by name, not int"),
        ({"rollout": {"max_invalid_actions": "two"}}, r"run\.rollout\.max_invalid_actions: expected int, not 'two'"),
        ({"optimizer": {"betas": 0.9}}, r"run\.optimizer\.betas: expected tuple, not 0\.9"),
        ({"optimizer": {"betas": [0.9, "x"]}}, r"run\.optimizer\.betas\[1\]: expected float, not 'x'"),
        ({"optimizer": {"betas": [0.9]}}, r"run\.optimizer\.betas: expected 2 values"),
        ({"algo": "sarsa"}, r"unknown algorithm 'sarsa'; known: bpo, grpo, ppo, rloo"),
        ({"updates": -1}, r"updates is too small: -1"),
        ({"tasks_per_update": 0}, r"tasks_per_update is too small: 0"),
        ({"temperature": 0.0}, r"temperature must be positive"),
    ],
)
def test_errors_name_the_key(changes, message):
    with pytest.raises(ValueError, match=message):
        from_mapping(TrainConfig, BASE | changes, "run")


def test_a_missing_setting_is_named():
    with pytest.raises(ValueError, match=r"run: env must be given"):
        from_mapping(TrainConfig, {"algo": "bpo"}, "run")


@pytest.mark.parametrize("text", ["", "- 1\n", "just text\n"])
def test_a_file_that_is_no_configuration_is_an_error(tmp_path, text):
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"config\.yaml: expected settings by name"):
        TrainConfig.load(tmp_path / "config.yaml")


def test_algorithm_options_are_checked():
    with pytest.raises(ValueError, match=r"bpo: unknown setting root; known: roots"):
        TrainConfig(**BASE, algo_options={"root": 3}).algorithm()
    with pytest.raises(ValueError, match=r"bpo\.selection: 'best' is not one of 'threshold', 'influence', 'uniform'"):
        TrainConfig(**BASE, algo_options={"selection": "best"}).algorithm()


def test_whole_numbers_and_none_are_taken_where_they_fit():
    config = from_mapping(TrainConfig, {**BASE, "temperature": 1, "rollout": {"max_invalid_actions": None}}, "run")
    assert config.temperature == 1.0
    assert isinstance(config.temperature, float)
    assert config.rollout.max_invalid_actions is None
    assert from_mapping(OptimizerConfig, {"betas": [0, 0.5]}, "o").betas == (0.0, 0.5)
