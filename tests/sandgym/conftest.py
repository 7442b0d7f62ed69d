"""Small environments for the tests of the contract."""

import pytest
from corridor import CorridorEnv
from ladder import LadderEnv


@pytest.fixture
def ladder() -> LadderEnv:
    return LadderEnv()


@pytest.fixture
def corridor() -> CorridorEnv:
    return CorridorEnv()
