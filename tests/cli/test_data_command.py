"""``sandgym data`` on ALFWorld: a mirror, a folder that is already here, and what is said."""

import dataclasses
import io
import zipfile
from pathlib import Path

import pytest
from commands import run

from sandgym import data
from sandgym.alfworld.generate import write_games


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """Generated games in the official layout."""
    return write_games(tmp_path / "copy", {"train": 3, "test": 2}) / "json_2.1.1"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


def test_a_folder_is_built_and_found(games: Path, root: Path) -> None:
    result = run("data", "build", "alfworld", "--source", str(games.parent))
    assert result.exit_code == 0, result.output
    assert f'built in {root / "alfworld" / "official-full" / "built"}; play it with data="official"' in result.output
    assert "built" in next(line for line in run("data", "status").output.splitlines() if "alfworld" in line)
    elsewhere = games.parent / "pack"
    result = run("data", "build", "alfworld", "--source", str(games), "--out", str(elsewhere))
    assert f'play it with data="{elsewhere}"' in result.output
    assert (elsewhere / "games.pack").read_bytes() == (data.official("alfworld") / "games.pack").read_bytes()


def test_what_is_missing_is_said(root: Path) -> None:
    result = run("data", "build", "alfworld")
    assert result.exit_code == 1
    assert result.stderr == "error: the official alfworld data is missing; run `sandgym data download alfworld` first\n"
    result = run("data", "build", "alfworld", "--source", "nowhere")
    assert result.exit_code == 2
    assert "there is no folder nowhere" in result.stderr
    root.mkdir()
    result = run("data", "build", "alfworld", "--source", str(root))
    assert result.exit_code == 1
    assert "expected <split>/<task>/<trial>/game.tw-pddl" in " ".join(result.stderr.split())
    assert "known: full" in run("data", "download", "alfworld", "--size", "1000").stderr


def test_download_from_a_mirror(games: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in games.rglob("game.tw-pddl"):
            archive.write(path, path.relative_to(games.parent))
    data_set = data.DATA_SETS["alfworld"]
    (file,) = data_set.sizes["full"]
    sizes = {"full": (dataclasses.replace(file, sha256=None),)}
    monkeypatch.setitem(data.DATA_SETS, "alfworld", dataclasses.replace(data_set, sizes=sizes))
    (games.parent / file.name).write_bytes(packed.getvalue())
    result = run("data", "download", "alfworld", "--mirror", games.parent.as_uri())
    assert result.exit_code == 0, result.output
    assert "next: sandgym data build alfworld" in result.output
    assert run("data", "build", "alfworld").exit_code == 0
    assert data.official("alfworld") == root / "alfworld" / "official-full" / "built"
