"""What is committed: panels, schema, submissions and pages agree with the code and with each other."""

from __future__ import annotations

import json
import lzma
import shutil
import tarfile
from pathlib import Path

import pytest

from leaderboard import panels
from leaderboard.record import open_panel
from leaderboard.records import decode
from leaderboard.render import rendered
from leaderboard.replay import replay
from leaderboard.results import load_references, results, submissions
from leaderboard.schema import Submission, export_json_schema
from leaderboard.submission import read
from leaderboard.verify import Options, verify, without_replay
from sandgym.core import SandboxError
from sandgym.panels import bundled_panels, load_panel

ROOT = Path(__file__).resolve().parents[2] / "leaderboard"
SHARED = ROOT.parents[1] / "shared" / "data"
SUBMISSIONS = submissions(ROOT)
IN_MEMORY = [path for path in SUBMISSIONS if path.parent.name != "swebench"]
SANDBOXED = [path for path in SUBMISSIONS if path.parent.name == "swebench"]
SOME = 3  # episodes in sandboxes that are replayed here; the workflow for pull requests replays all


@pytest.fixture(autouse=True)
def committed_panels_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the small panels that other tests have made by then."""
    there = {name: each for name, each in panels.DEFINITIONS.items() if "/few" not in name}
    monkeypatch.setattr(panels, "DEFINITIONS", there)


def test_the_schema_is_the_models() -> None:
    assert (ROOT / "schema.json").read_text(encoding="utf-8") == export_json_schema()


@pytest.mark.parametrize("name", panels.names())
def test_panels_are_whole(name: str) -> None:
    panel = panels.load(name)
    assert panel.name == name
    assert len(panel.task_ids) == panels.DEFINITIONS[name].tasks
    assert dict(panel.kwargs) == dict(panels.DEFINITIONS[name].kwargs)
    if name in bundled_panels():
        assert panel == load_panel(name)


@pytest.mark.parametrize("name", [name for name in panels.names() if "official" not in name])
def test_panels_of_bundled_data_are_what_that_data_makes(name: str) -> None:
    assert panels.make(name) == panels.load(name)


def test_official_panels_are_what_the_official_files_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sandgym import data

    if not SHARED.is_dir():
        pytest.skip(f"the official files are not in {SHARED}")
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path / "data"))
    shop = tmp_path / "shop"
    shop.mkdir()
    for path in (SHARED / "webshop").glob("*.json.xz"):
        shutil.copy(path, shop)
    nouns = lzma.decompress((SHARED / "webshop" / "golden" / "name_nouns_3.8.0.json.xz").read_bytes())
    (shop / "nouns.json").write_bytes(nouns)
    data.build("webshop", "1000", source=shop)
    with tarfile.open(SHARED / "alfworld" / "json_2.1.1_sample.tar.xz") as archive:
        archive.extractall(tmp_path / "games", filter="data")
    data.build("alfworld", source=tmp_path / "games")
    here = [name for name in panels.names() if "official" in name]
    assert len(here) == 4
    for name in here:
        assert panels.make(name) == panels.load(name)


@pytest.mark.parametrize("path", IN_MEMORY, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_submissions_are_verified(path: Path) -> None:
    panel = read(path).panel
    if panel.kwargs.get("data") == "official":
        try:
            panel.make_env()
        except SandboxError as error:
            pytest.skip(f"the official data is not here: {error}")
    verified = verify(path, Options(jobs=1, fresh=True))
    assert verified.replayed == verified.folder.submission.claims.episodes
    assert verified.folder.submission.panel.name.startswith(f"{path.parent.name}/")


@pytest.mark.parametrize("path", SANDBOXED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_submissions_in_sandboxes_are_verified_in_part(path: Path) -> None:
    folder = without_replay(path).folder
    try:
        env = open_panel(folder.panel, folder.submission.shown)
        for line, (_, place, _, _) in zip(list(folder.lines())[:SOME], folder.expected(), strict=False):
            assert replay(env, folder.panel, decode(line), place) == []
        env.close()
    except SandboxError as error:
        pytest.skip(f"no sandbox works here: {error}")


def test_the_pages_are_a_fresh_computation() -> None:
    found = results([without_replay(path) for path in SUBMISSIONS], load_references(ROOT))
    assert json.loads((ROOT / "results.json").read_text(encoding="utf-8")) == found
    for name, text in rendered(found).items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name} is old: sandgym leaderboard render"


def test_references_exist() -> None:
    there = {f"{path.parent.name}/{path.name}" for path in SUBMISSIONS}
    for panel, reference in load_references(ROOT).items():
        assert panel in panels.names()
        assert reference in there


def test_submissions_are_small() -> None:
    for path in SUBMISSIONS:
        assert sum(file.stat().st_size for file in path.iterdir()) < 2**20
        assert isinstance(read(path).submission, Submission)
