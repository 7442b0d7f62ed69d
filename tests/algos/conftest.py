"""Fixtures: small real policies, the bundled WebShop, a small environment of letters."""

import os
from pathlib import Path

import gymnasium
import pytest
import torch
from letters import TEXTS, LettersEnv
from policies import sharpened
from sizes import SHOP, SMALL

import sandgym  # noqa: F401  registers the environments
from algos.demonstrations import demonstrate
from algos.policy import Policy
from algos.tiny import build_model, build_tokenizer


@pytest.fixture(scope="session", autouse=True)
def data_root(tmp_path_factory) -> Path:
    """One data root, and so one bundled catalogue, for all tests of this folder."""
    torch.set_num_threads(1)
    before = os.environ.get("SANDGYM_DATA")
    root = tmp_path_factory.mktemp("data")
    os.environ["SANDGYM_DATA"] = str(root)
    yield root
    if before is None:
        del os.environ["SANDGYM_DATA"]
    else:
        os.environ["SANDGYM_DATA"] = before


@pytest.fixture(scope="session")
def letters_tokenizer():
    return build_tokenizer(TEXTS, SMALL, lowercase=False)


@pytest.fixture
def policy(letters_tokenizer) -> Policy:
    """A random policy whose choices are far from uniform; fresh for each test."""
    return Policy.of(sharpened(build_model(letters_tokenizer, SMALL, 5)), letters_tokenizer)


@pytest.fixture
def letters() -> LettersEnv:
    return LettersEnv()


@pytest.fixture(scope="session")
def shop(data_root):
    return gymnasium.make("sandgym/WebShop-v0", max_steps=4)


@pytest.fixture(scope="session")
def shop_demonstrations(shop):
    return demonstrate(shop, list(shop.unwrapped.task_ids), 30, 0.2, 0)


@pytest.fixture(scope="session")
def shop_tokenizer(shop_demonstrations):
    return build_tokenizer((text for d in shop_demonstrations for text in d.texts()), SHOP, lowercase=True)


@pytest.fixture
def shop_policy(shop_tokenizer) -> Policy:
    return Policy.of(sharpened(build_model(shop_tokenizer, SHOP, 5)), shop_tokenizer)


@pytest.fixture
def double_precision(policy, shop_policy):
    """So that differences are mistakes and not rounding, which the sharpened weights amplify."""
    policy.model.double()
    shop_policy.model.double()
