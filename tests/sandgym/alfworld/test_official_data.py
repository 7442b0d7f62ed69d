"""The official games from download to play: a mirror on this machine serves real ones."""

import dataclasses
import io
import zipfile

import pytest
from local_server import offer, running

from sandgym import data
from sandgym.alfworld.world import load_world
from sandgym.core import SandboxError


@pytest.fixture(scope="module")
def archive(real_folder):
    """Every 20th of the sample's games, zipped as the publisher does."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(real_folder.rglob("game.tw-pddl"))[::20]:
            out.write(path, path.relative_to(real_folder))
    return packed.getvalue()


def test_download_build_and_play(archive, tmp_path, monkeypatch):
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path))
    data_set = data.DATA_SETS["alfworld"]
    (file,) = data_set.sizes["full"]
    sizes = {"full": (dataclasses.replace(file, sha256=None),)}  # the archive is a part of the official one
    monkeypatch.setitem(data.DATA_SETS, "alfworld", dataclasses.replace(data_set, sizes=sizes))
    with pytest.raises(SandboxError, match=r"alfworld data is missing in .*run `sandgym data download alfworld`"):
        load_world("official")
    with running() as server:
        offer(server, f"/{file.name}", archive, "application/zip")
        raw = data.download("alfworld", mirror=server.url)
    with pytest.raises(SandboxError, match=r"alfworld data is downloaded in .*run `sandgym data build alfworld`"):
        load_world("official")
    done = []
    built = data.build("alfworld", progress=done.append)
    assert done[-1] == 20
    assert data.official("alfworld") == built
    assert next(s for s in data.status() if s.name == "alfworld").state == "built"
    packed, folder = load_world("official"), load_world(raw)
    for split in ("train", "dev", "test"):
        assert packed.split(split).ids == folder.split(split).ids
        assert packed.split(split).key == folder.split(split).key
    task = packed.split("test").ids[0]
    assert packed.game(task).record() == folder.game(task).record()
    assert packed.game(task).task.startswith("Your task is to: ")


def test_a_folder_that_is_already_here_is_built(archive, tmp_path, monkeypatch):
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path / "root"))
    zipfile.ZipFile(io.BytesIO(archive)).extractall(tmp_path / "copy")
    here = tmp_path / "here"
    assert data.build("alfworld", source=tmp_path / "copy", out=here) == here
    assert len(load_world(here).split("valid_unseen").ids) > 0
    assert data.build("alfworld", source=tmp_path / "copy" / "json_2.1.1") == data.built_folder("alfworld")
    assert load_world("official").split("train").key == load_world(here).split("train").key
