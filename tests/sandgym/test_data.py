"""Downloads against a local server, and what is said about data sets."""

import contextlib
import http.server
import json
import shutil
import threading
import urllib.parse

import pytest

from sandgym import data
from sandgym.core import SandboxError
from sandgym.webshop.generate import write_catalogue

BODY = json.dumps([{"asin": f"B{number:09d}"} for number in range(20_000)]).encode()
CONFIRM = """<html><form id="download-form" action="/confirmed" method="get">
<input type="hidden" name="id" value="abc"><input type="hidden" name="uuid" value="1-2"></form></html>"""


class Server(http.server.ThreadingHTTPServer):
    """Serves ``files`` by path; ``cuts`` are the bytes after which connections break, one each."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.cuts, self.ranges, self.queries = {}, [], [], []
        self.honours_ranges, self.tells_length = True, True

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        self.server.queries.append((path, dict(urllib.parse.parse_qsl(query))))
        self.server.ranges.append(self.headers.get("Range"))
        if path not in self.server.files:
            self.send_error(404)
            return
        kind, body = self.server.files[path]
        start = int((self.headers.get("Range") or "bytes=0-")[6:-1]) if self.server.honours_ranges else 0
        if start >= len(body) > 0:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Type", kind)
        if self.server.tells_length:
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut = self.server.cuts.pop(0) if self.server.cuts else len(body)
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body[start : start + cut])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with Server() as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


@pytest.fixture
def target(tmp_path):
    return tmp_path / "items.json"


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


def offer(server, path="/f", body=BODY, kind="application/json"):
    server.files[path] = (kind, body)
    return server.url + path


def left(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "root")


def test_a_file_arrives_whole_and_progress_is_told(server, target):
    seen = []
    data.fetch(offer(server), target, progress=lambda *told: seen.append(told))
    assert target.read_bytes() == BODY
    assert seen[0] == ("items.json", 0, len(BODY))
    assert seen[-1] == ("items.json", len(BODY), len(BODY))
    assert left(target.parent) == ["items.json"]


def test_a_file_of_unknown_length_arrives_whole(server, target):
    server.tells_length = False
    data.fetch(offer(server), target)
    assert target.read_bytes() == BODY


def test_cut_connections_are_continued_where_they_broke(server, target):
    server.cuts = [1000, 5000]
    data.fetch(offer(server), target)
    assert target.read_bytes() == BODY
    assert server.ranges == [None, "bytes=1000-", "bytes=6000-"]


def test_a_part_of_an_earlier_run_is_continued(server, target):
    target.with_name("items.json.part").write_bytes(BODY[:12_345])
    data.fetch(offer(server), target)
    assert target.read_bytes() == BODY
    assert server.ranges == ["bytes=12345-"]


def test_a_server_without_ranges_sends_all_again(server, target):
    server.honours_ranges = False
    target.with_name("items.json.part").write_bytes(b"xxxx")
    data.fetch(offer(server), target)
    assert target.read_bytes() == BODY


def test_a_part_that_is_complete_or_too_long(server, target):
    part = target.with_name("items.json.part")
    for content in (BODY, BODY + b"x"):
        part.write_bytes(content)
        data.fetch(offer(server), target)
        assert target.read_bytes() == BODY
        assert not part.exists()


def test_a_connection_that_never_recovers_keeps_what_came(server, target):
    server.cuts = [1000, *[0] * 20]
    with pytest.raises(SandboxError, match=r"items.json from 127.0.0.1.*the same command again.* 1,000 bytes"):
        data.fetch(offer(server), target)
    assert target.with_name("items.json.part").read_bytes() == BODY[:1000]
    assert not target.exists()


def test_no_server_at_all(target):
    with Server() as gone:
        url = gone.url
    with pytest.raises(SandboxError, match=r"cannot download items.json from 127.0.0.1.*check the network"):
        data.fetch(url, target)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html; charset=utf-8", b"<html>Quota exceeded</html>"),
        ("application/octet-stream", b"<html>Quota exceeded</html>"),
        ("application/json", BODY[:-1]),
        ("application/json", b""),
    ],
)
def test_what_is_not_the_file_is_not_kept(server, target, kind, body):
    url = offer(server, body=body, kind=kind)
    with pytest.raises(SandboxError, match=r"cannot download items.json.*(in a browser|check the network)"):
        data.fetch(url, target)
    assert not target.exists()


def test_a_file_that_is_gone(server, target):
    with pytest.raises(SandboxError, match=r"the server answered 404 Not Found.*save the file as .*items\.json"):
        data.fetch(server.url + "/gone", target)


def test_the_confirmation_page_is_passed(server, target):
    offer(server, "/confirmed")
    data.fetch(offer(server, body=CONFIRM.encode(), kind="text/html"), target)
    assert target.read_bytes() == BODY
    assert server.queries[-1] == ("/confirmed", {"id": "abc", "uuid": "1-2"})


def test_a_confirmation_that_leads_to_itself_ends(server, target):
    offer(server, "/confirmed", CONFIRM.encode(), "text/html")
    with pytest.raises(SandboxError, match="a web page instead of the file"):
        data.fetch(offer(server, body=CONFIRM.encode(), kind="text/html"), target)
    assert len(server.queries) == 2


def test_a_wrong_checksum_is_refused(server, target):
    with pytest.raises(SandboxError, match=r"has the checksum [0-9a-f]{64} instead of 00"):
        data.fetch(offer(server), target, sha256="00")
    assert left(target.parent) == []


def test_a_full_disk_is_told_before_anything_is_written(server, target, monkeypatch):
    full = shutil.disk_usage("/")._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(SandboxError, match=r"disk of .* is full .*SANDGYM_DATA"):
        data.fetch(offer(server), target)
    assert left(target.parent) == []


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
