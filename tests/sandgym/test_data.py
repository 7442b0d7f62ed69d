"""What is said about data sets, and getting and building them from a local server."""

import dataclasses
import hashlib
import io
import shutil
import zipfile

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
    """Serve a catalogue under the names of the official files; returns the mirror's address."""
    for file in data.DATA_SETS["webshop"].sizes[size]:
        offer(server, f"/files/{file.name}", (folder / file.name.replace("_1000", "")).read_bytes())
    return server.url + "/files"


def test_download_build_and_status(server, root, tmp_path):
    source = write_catalogue(tmp_path / "source", products=24)
    mirror = publish(server, source)

    def state():
        return {s.size: (s.state, s.command) for s in data.status() if s.name == "webshop"}

    fetch_it = "sandgym data download webshop --size "
    assert state() == {"1000": ("missing", fetch_it + "1000"), "full": ("missing", fetch_it + "full")}
    with pytest.raises(SandboxError, match=f"is missing in .*run `{fetch_it}1000`"):
        data.official("webshop")
    with pytest.raises(SandboxError, match=f"is missing; run `{fetch_it}1000` first"):
        data.build("webshop")

    folder = data.download("webshop", mirror=mirror)
    assert folder == root / "webshop" / "official-1000" / "raw"
    assert (folder / "items_shuffle_1000.json").read_bytes() == (source / "items_shuffle.json").read_bytes()
    assert state()["1000"] == ("downloaded", "sandgym data build webshop --size 1000")
    with pytest.raises(SandboxError, match=r"is downloaded in .*run `sandgym data build webshop --size 1000`"):
        data.official("webshop", "1000")
    requests = len(server.queries)
    data.download("webshop", mirror=mirror)
    assert len(server.queries) == requests

    shutil.copy(source / "nouns.json", folder)
    built = data.build("webshop")
    assert data.official("webshop") == data.official("webshop", "1000") == built
    assert state()["1000"] == ("built", "")
    assert next(s for s in data.status() if s.state == "built").bytes > len(
        (source / "items_shuffle.json").read_bytes()
    )


def test_an_interrupted_download_is_partial(server, tmp_path):
    mirror = publish(server, write_catalogue(tmp_path / "source", products=24))
    del server.files["/files/items_ins_v2_1000.json"]
    with pytest.raises(SandboxError, match=r"items_ins_v2_1000\.json.*404"):
        data.download("webshop", mirror=mirror)
    assert {s.size: s.state for s in data.status() if s.name == "webshop"} == {"1000": "partial", "full": "missing"}


def test_other_data_than_before_is_refused(server, tmp_path):
    mirror = publish(server, write_catalogue(tmp_path / "source", products=24))
    folder = data.download("webshop", mirror=mirror)
    name = "items_shuffle_1000.json"
    (folder / name).unlink()
    offer(server, f"/files/{name}")
    with pytest.raises(SandboxError, match=f"{name} has the checksum"):
        data.download("webshop", mirror=mirror)
    (folder / name).write_bytes(BODY)
    with pytest.raises(SandboxError, match=f"{name} has changed since it was downloaded"):
        data.download("webshop", mirror=mirror)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(TypeError, match="unknown data set 'shop'; known: alfworld, swebench, webshop"):
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


# Archives.


def games(*names):
    """A zip with a file at each of the paths; a path that ends in "/" is a folder."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, "" if name.endswith("/") else f"content of {name}" * 99)
    return packed.getvalue()


@pytest.fixture
def offered(server, monkeypatch):
    """Serves an archive as the official ALFWorld file; returns a function that does."""

    def serve(body, sha256=None):
        data_set = data.DATA_SETS["alfworld"]
        (file,) = data_set.sizes["full"]
        file = dataclasses.replace(file, url=offer(server, "/games.zip", body, "application/zip"), sha256=sha256)
        monkeypatch.setitem(data.DATA_SETS, "alfworld", dataclasses.replace(data_set, sizes={"full": (file,)}))
        return file

    return serve


def alfworld_state():
    return next((s.state, s.command) for s in data.status() if s.name == "alfworld")


MEMBERS = ("json_2.1.1/", "json_2.1.1/train/a/game.tw-pddl", "json_2.1.1/b", "readme")


def test_the_official_games_are_pinned():
    (file,) = data.DATA_SETS["alfworld"].sizes["full"]
    assert file.url.startswith("https://github.com/alfworld/alfworld/releases/download/")
    assert file.url.endswith(file.name)
    assert len(file.sha256) == 64


def test_an_archive_is_unpacked_and_stays(offered, server, root):
    body = games(*MEMBERS)
    file = offered(body, hashlib.sha256(body).hexdigest())
    assert alfworld_state() == ("missing", "sandgym data download alfworld")
    with pytest.raises(SandboxError, match="the official alfworld data is missing; run `sandgym data download alf"):
        data.build("alfworld")
    server.cuts = [100]
    told = []
    folder = data.download("alfworld", progress=lambda *said: told.append(said))
    assert folder == root / "alfworld" / "official-full" / "raw"
    assert sorted(path.name for path in folder.iterdir()) == ["checksums.json", "json_2.1.1", file.name]
    unpacked = folder / "json_2.1.1"
    assert sorted(p.relative_to(unpacked).as_posix() for p in unpacked.rglob("*") if p.is_file()) == [
        "b", "train/a/game.tw-pddl",
    ]  # fmt: skip
    assert (unpacked / "b").read_text() == "content of json_2.1.1/b" * 99
    assert (file.name, len(body), len(body)) in told
    total = sum(path.stat().st_size for path in unpacked.rglob("*") if path.is_file())
    assert told[-1] == ("json_2.1.1 (unpacking)", total, total)
    assert alfworld_state() == ("downloaded", "sandgym data build alfworld")


def test_what_was_not_unpacked_is_unpacked_later(offered, server):
    offered(games(*MEMBERS))
    folder = data.download("alfworld")
    shutil.rmtree(folder / "json_2.1.1")
    (folder / "json_2.1.1.part").mkdir()  # as a killed run leaves it
    (folder / "json_2.1.1.part" / "junk").write_text("")
    assert alfworld_state()[0] == "partial"
    requests = len(server.queries)
    data.download("alfworld")
    assert alfworld_state()[0] == "downloaded"
    assert len(server.queries) == requests
    assert not (folder / "json_2.1.1.part").exists()
    assert not list(folder.rglob("junk"))


def test_another_archive_than_the_published_one_is_refused(offered, root):
    offered(games(*MEMBERS), "0" * 64)
    with pytest.raises(SandboxError, match=r"has the checksum [0-9a-f]{64} instead of 0{64}: .*not the one published"):
        data.download("alfworld")
    assert alfworld_state()[0] == "missing"
    folder = data.raw_folder("alfworld")
    (folder / "json_2.1.3_tw-pddl.zip").write_bytes(games(*MEMBERS))  # saved with a browser
    with pytest.raises(SandboxError, match="is not the published file; delete it and run this again"):
        data.download("alfworld")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda body: body[:-30], "not a complete ZIP file"),
        (lambda body: b"<html>rate limit</html>", "not a complete ZIP file"),
        (lambda body: body[:70] + bytes([body[70] ^ 255]) + body[71:], r"not a complete ZIP file \("),
    ],
)
def test_a_damaged_archive_is_not_kept(offered, damage, said):
    offered(damage(games(*MEMBERS)))
    with pytest.raises(SandboxError, match=said + ".*(run the same command again|in a browser)"):
        data.download("alfworld")
    assert list(data.raw_folder("alfworld").iterdir()) == []


@pytest.mark.parametrize("name", ["json_2.1.1/../../evil", "/json_2.1.1/evil", "json_2.1.1\\..\\evil", "C:/evil"])
def test_a_member_that_leads_outside_is_refused(offered, tmp_path, name):
    offered(games("json_2.1.1/a", name))
    with pytest.raises(SandboxError, match="leads outside; delete the file and download it again"):
        data.download("alfworld")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["json_2.1.3_tw-pddl.zip", "checksums.json"]


def test_a_link_in_an_archive_is_refused(offered):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        link = zipfile.ZipInfo("json_2.1.1/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc")
    offered(packed.getvalue())
    with pytest.raises(SandboxError, match="is a link"):
        data.download("alfworld")


def test_an_archive_without_the_folder_is_refused(offered):
    offered(games("other/a", "json_2.1.1/"))
    with pytest.raises(SandboxError, match=r"it holds no folder json_2\.1\.1"):
        data.download("alfworld")


def test_a_disk_too_small_for_the_files_of_an_archive(offered, monkeypatch):
    body = games(*MEMBERS)
    offered(body)
    free = shutil.disk_usage("/")._replace(free=len(body) + 10)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: free)
    with pytest.raises(SandboxError, match=r"unpacks to [\d,]+ bytes .*SANDGYM_DATA.*the same command again"):
        data.download("alfworld")
    assert sorted(path.name for path in data.raw_folder("alfworld").iterdir()) == [
        "checksums.json", "json_2.1.3_tw-pddl.zip",
    ]  # fmt: skip
