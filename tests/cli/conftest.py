"""Where the commands run, and a run to look at."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import HERE, SMALL, Invoke, run


@pytest.fixture(autouse=True, scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands find the test's environment, and keep their policies out of the user's folder."""
    kept = pytest.MonkeyPatch()
    kept.syspath_prepend(str(HERE))
    kept.setenv("COLUMNS", "120")
    kept.setenv("TERMINAL_WIDTH", "120")
    kept.setenv("SANDGYM_DATA", str(tmp_path_factory.mktemp("data")))
    yield
    kept.undo()


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Runs a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return run


@pytest.fixture(scope="session")
def trained(environment: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished run of two updates, and what the command printed."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    result = run("train", "--algo", "bpo", *SMALL, "--updates", "2", "--out", str(folder))
    assert result.exit_code == 0, result.output
    return folder, result.output
