"""What is said about data sets, and getting and building them from a local server."""

import shutil

import pytest
from local_server import BODY, offer, running

from sandgym import data
from sandgym.core import SandboxError
from sandgym.webshop.generate import write_catalogue


@pytest.fixture
def server():
    with running() as serving:
        yield serving


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


def publish(server, folder, size="1000"):
    """Serve a catalogue under the ids of the official files."""
    for file in data.DATA_SETS["webshop"][size]:
        name = file.name.replace("_1000", "")
        offer(server, f"/{file.drive_id}", (folder / name).read_bytes())
    return server.url + "/{id}"


def test_download_build_and_status(server, root, tmp_path):
    source = write_catalogue(tmp_path / "source", products=24)
    url = publish(server, source)

    def state():
        return {s.size: (s.state, s.command) for s in data.status()}

    fetch_it = "sandgym data download webshop --size "
    assert state() == {"1000": ("missing", fetch_it + "1000"), "full": ("missing", fetch_it + "full")}
    with pytest.raises(SandboxError, match=f"is missing in .*run `{fetch_it}1000`"):
        data.official("webshop")
    with pytest.raises(SandboxError, match=f"is missing; run `{fetch_it}1000` first"):
        data.build("webshop")

    folder = data.download("webshop", url=url)
    assert folder == root / "webshop" / "official-1000" / "raw"
    assert (folder / "items_shuffle_1000.json").read_bytes() == (source / "items_shuffle.json").read_bytes()
    assert state()["1000"] == ("downloaded", "sandgym data build webshop --size 1000")
    with pytest.raises(SandboxError, match=r"is downloaded in .*run `sandgym data build webshop --size 1000`"):
        data.official("webshop", "1000")
    requests = len(server.queries)
    data.download("webshop", url=url)
    assert len(server.queries) == requests

    shutil.copy(source / "nouns.json", folder)
    built = data.build("webshop")
    assert data.official("webshop") == data.official("webshop", "1000") == built
    assert state()["1000"] == ("built", "")
    assert data.status()[0].bytes > len((source / "items_shuffle.json").read_bytes())


def test_an_interrupted_download_is_partial(server, tmp_path):
    url = publish(server, write_catalogue(tmp_path / "source", products=24))
    del server.files["/" + data.DATA_SETS["webshop"]["1000"][1].drive_id]
    with pytest.raises(SandboxError, match=r"items_ins_v2_1000\.json.*404"):
        data.download("webshop", url=url)
    assert data.status()[0].state == "partial"


def test_other_data_than_before_is_refused(server, tmp_path):
    url = publish(server, write_catalogue(tmp_path / "source", products=24))
    folder = data.download("webshop", url=url)
    name = "items_shuffle_1000.json"
    (folder / name).unlink()
    offer(server, "/" + data.DATA_SETS["webshop"]["1000"][0].drive_id)
    with pytest.raises(SandboxError, match=f"{name} has the checksum"):
        data.download("webshop", url=url)
    (folder / name).write_bytes(BODY)
    with pytest.raises(SandboxError, match=f"{name} has changed since it was downloaded"):
        data.download("webshop", url=url)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(TypeError, match="unknown data set 'shop'; known: webshop"):
        data.download("shop")
    with pytest.raises(TypeError, match="unknown size of webshop '10'; known: 1000, full"):
        data.build("webshop", "10")


def test_the_data_root(monkeypatch, tmp_path):
    assert data.data_root() == tmp_path / "root"
    monkeypatch.setenv("SANDGYM_DATA", "~/here")
    monkeypatch.setenv("HOME", "/home/someone")
    assert str(data.data_root()) == "/home/someone/here"
    monkeypatch.delenv("SANDGYM_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", "/xdg")
    assert data.data_root().name == "sandgym"


def test_a_root_that_cannot_be_written_to(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path / "file"))
    with pytest.raises(SandboxError, match=r"cannot write to .*set SANDGYM_DATA"):
        data.download("webshop")
