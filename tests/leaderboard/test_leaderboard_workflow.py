"""The check of pull requests runs no code of theirs, and finds what they change."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from leaderboard_helpers import describe
from typer.testing import CliRunner

from cli.main import app

FILE = Path(__file__).resolve().parents[2] / ".github" / "workflows" / "leaderboard.yml"
WORKFLOW: dict[Any, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
JOBS = WORKFLOW["jobs"]


def test_every_job_has_the_least_rights() -> None:
    assert WORKFLOW["permissions"] == {}
    assert {name: job["permissions"] for name, job in JOBS.items()} == {
        "verify": {"contents": "read"},
        "comment": {"pull-requests": "write"},
        "all": {"contents": "read"},
    }
    assert "secrets" not in FILE.read_text(encoding="utf-8")


def test_scripts_take_nothing_from_the_pull_request_but_its_number() -> None:
    scripts = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]
    assert scripts
    assert not [script for script in scripts if "${{" in script]
    used = set(re.findall(r"github\.event\.pull_request\.[\w.]+", FILE.read_text(encoding="utf-8")))
    assert used == {f"github.event.pull_request.{what}" for what in ("number", "head.repo.full_name", "head.sha")}


def test_only_the_base_branch_is_installed_and_run() -> None:
    steps = JOBS["verify"]["steps"]
    own, theirs = (step["with"] for step in steps if "checkout" in step.get("uses", ""))
    assert not {"repository", "ref", "path"} & set(own)
    assert theirs["path"] == "proposed"
    assert all(each["persist-credentials"] is False for each in (own, theirs))
    for step in steps:
        assert "working-directory" not in step
        if "proposed" in step.get("run", ""):
            assert step["run"].startswith("sandgym leaderboard verify --fresh --root proposed/leaderboard --since ")
    assert not [step for step in JOBS["comment"]["steps"] if "checkout" in step.get("uses", "")]


@pytest.fixture
def roots(tmp_path: Path, played: dict[str, Path]) -> tuple[Path, Path]:
    """Two equal leaderboards of two submissions: the present one and the proposed one."""
    base = tmp_path / "base"
    (base / "panels").mkdir(parents=True)
    for name in ("2026-01-01-one", "2026-01-02-two"):
        shutil.copytree(played["webshop"], base / "submissions" / "webshop" / name)
    return base, Path(shutil.copytree(base, tmp_path / "proposed"))


def check(roots: tuple[Path, Path], table: Path) -> Any:
    base, proposed = map(str, roots)
    words = ("leaderboard", "verify", "--root", proposed, "--since", base, "--jobs", "1", "--table", str(table))
    return CliRunner().invoke(app, list(words))


def test_only_what_has_changed_is_verified(roots: tuple[Path, Path], tmp_path: Path) -> None:
    table = tmp_path / "table.md"
    result = check(roots, table)
    assert result.exit_code == 0, result.output
    assert table.read_text() == "No submission is changed.\n"
    place = roots[1] / "submissions" / "webshop"
    (place / "2026-01-01-one" / "README.md").write_text("Other words.")
    shutil.copytree(place / "2026-01-02-two", place / "2026-01-03-three")
    describe(place / "2026-01-03-three", claims={"success": 1.0})
    result = check(roots, table)
    assert result.exit_code == 1
    assert "refused: 1 of 2" in result.stderr
    one, three = table.read_text().splitlines()[2:]
    assert "2026-01-01-one" in one
    assert "verified" in one
    assert "2026-01-03-three" in three
    assert "refused" in three


def test_what_is_removed_or_out_of_place_is_refused(roots: tuple[Path, Path], tmp_path: Path) -> None:
    table = tmp_path / "table.md"
    place = roots[1] / "submissions"
    (place / "webshop" / "@everyone").mkdir()
    result = check(roots, table)
    assert result.exit_code == 1
    assert "is not named" in table.read_text()
    assert "@" not in table.read_text()
    (place / "webshop" / "@everyone").rmdir()
    shutil.rmtree(place / "webshop" / "2026-01-02-two")
    assert check(roots, table).exit_code == 1
    assert "webshop/2026-01-02-two is removed" in table.read_text().replace("&#47;", "/").replace("&#45;", "-")
    shutil.rmtree(place)
    place.symlink_to(roots[0] / "submissions")
    assert check(roots, table).exit_code == 1
    assert "is no link" in table.read_text()
