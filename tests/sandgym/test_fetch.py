"""Downloads of one file against a local server: cuts, pages instead of data, wrong data, no space."""

import shutil

import pytest
from local_server import BODY, Server, offer, running

from sandgym.core import SandboxError
from sandgym.fetch import fetch

CONFIRM = """<html><form id="download-form" action="/confirmed" method="get">
<input type="hidden" name="id" value="abc"><input type="hidden" name="uuid" value="1-2"></form></html>"""


@pytest.fixture
def server():
    with running() as serving:
        yield serving


@pytest.fixture
def target(tmp_path):
    return tmp_path / "items.json"


def left(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "root")


def test_a_file_arrives_whole_and_progress_is_told(server, target):
    seen = []
    fetch(offer(server), target, progress=lambda *told: seen.append(told))
    assert target.read_bytes() == BODY
    assert seen[0] == ("items.json", 0, len(BODY))
    assert seen[-1] == ("items.json", len(BODY), len(BODY))
    assert left(target.parent) == ["items.json"]


def test_a_file_of_unknown_length_arrives_whole(server, target):
    server.tells_length = False
    fetch(offer(server), target)
    assert target.read_bytes() == BODY


def test_cut_connections_are_continued_where_they_broke(server, target):
    server.cuts = [1000, 5000]
    fetch(offer(server), target)
    assert target.read_bytes() == BODY
    assert server.ranges == [None, "bytes=1000-", "bytes=6000-"]


def test_a_part_of_an_earlier_run_is_continued(server, target):
    target.with_name("items.json.part").write_bytes(BODY[:12_345])
    fetch(offer(server), target)
    assert target.read_bytes() == BODY
    assert server.ranges == ["bytes=12345-"]


def test_a_server_without_ranges_sends_all_again(server, target):
    server.honours_ranges = False
    target.with_name("items.json.part").write_bytes(b"xxxx")
    fetch(offer(server), target)
    assert target.read_bytes() == BODY


def test_a_part_that_is_complete_or_too_long(server, target):
    part = target.with_name("items.json.part")
    for content in (BODY, BODY + b"x"):
        part.write_bytes(content)
        fetch(offer(server), target)
        assert target.read_bytes() == BODY
        assert not part.exists()


def test_a_connection_that_never_recovers_keeps_what_came(server, target):
    server.cuts = [1000, *[0] * 20]
    with pytest.raises(SandboxError, match=r"items.json from 127.0.0.1.*the same command again.* 1,000 bytes"):
        fetch(offer(server), target)
    assert target.with_name("items.json.part").read_bytes() == BODY[:1000]
    assert not target.exists()


def test_no_server_at_all(target):
    with Server() as gone:
        url = gone.url
    with pytest.raises(SandboxError, match=r"cannot download items.json from 127.0.0.1.*check the network"):
        fetch(url, target)


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
        fetch(url, target)
    assert not target.exists()


def test_a_file_that_is_gone(server, target):
    with pytest.raises(SandboxError, match=r"the server answered 404 Not Found.*save the file as .*items\.json"):
        fetch(server.url + "/gone", target)


def test_the_confirmation_page_is_passed(server, target):
    offer(server, "/confirmed")
    fetch(offer(server, body=CONFIRM.encode(), kind="text/html"), target)
    assert target.read_bytes() == BODY
    assert server.queries[-1] == ("/confirmed", {"id": "abc", "uuid": "1-2"})


def test_a_confirmation_that_leads_to_itself_ends(server, target):
    offer(server, "/confirmed", CONFIRM.encode(), "text/html")
    with pytest.raises(SandboxError, match="a web page instead of the file"):
        fetch(offer(server, body=CONFIRM.encode(), kind="text/html"), target)
    assert len(server.queries) == 2


def test_a_wrong_checksum_is_refused(server, target):
    with pytest.raises(SandboxError, match=r"has the checksum [0-9a-f]{64} instead of 00"):
        fetch(offer(server), target, sha256="00")
    assert left(target.parent) == []


def test_a_full_disk_is_told_before_anything_is_written(server, target, monkeypatch):
    full = shutil.disk_usage("/")._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(SandboxError, match=r"disk of .* is full .*SANDGYM_DATA"):
        fetch(offer(server), target)
    assert left(target.parent) == []
