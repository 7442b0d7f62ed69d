"""Files that were made to hurt are refused, with a message and without harm."""

from __future__ import annotations

import gzip
import itertools
import os
import resource
import sys
import zlib
from pathlib import Path

import pytest
from leaderboard_helpers import describe, episodes_of, tamper, write_lines, write_raw

from leaderboard.problems import SubmissionError
from leaderboard.records import Limits, decode, lines
from leaderboard.submission import MAX_DESCRIPTION, parse, read
from leaderboard.verify import Options, verify
from sandgym.panels import Panel

LIMITS = Limits(episodes=3, horizon=5, action=1000)


def refusal(folder: Path) -> str:
    with pytest.raises(SubmissionError) as caught:
        verify(folder, Options(jobs=1))
    message = str(caught.value)
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 2000
    return message


def zeros(size: int, end: bytes = b"") -> bytes:
    """A gzip file of so many zeros, made without holding them."""
    packer = zlib.compressobj(9, wbits=31)
    block = bytes(2**20)
    return b"".join(packer.compress(block) for _ in range(size // len(block))) + packer.compress(end) + packer.flush()


# Archives.


def test_ten_gigabytes_in_a_small_file_are_refused_at_once() -> None:
    # One deflate block stream of 32 MiB, 320 times over: gzip allows members in a row, deflate blocks too.
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(2**25)) + packer.flush(zlib.Z_FULL_FLUSH)
    header = gzip.compress(b"", mtime=0)[:10]
    bomb = header + block * 320
    assert len(bomb) < 2**24
    unit = 1 if sys.platform == "darwin" else 2**10
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SubmissionError, match="line 1 is longer than an episode of this panel can be"):
        list(lines(bomb, LIMITS))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**26 / unit


def test_a_bomb_in_a_submission(shop: Path) -> None:
    write_raw(shop, zeros(2**27))
    assert "longer than an episode" in refusal(shop)


def test_endless_lines_are_counted() -> None:
    with pytest.raises(SubmissionError, match="more than the panel's 3 episodes"):
        list(lines(gzip.compress(b"{}\n" * 10**6), LIMITS))


def test_a_line_as_long_as_allowed_is_read_across_blocks() -> None:
    wide = Limits(episodes=2, horizon=100, action=10_000)
    long, short = b"x" * wide.line, b"y"
    assert list(lines(gzip.compress(long + b"\n" + short + b"\n"), wide)) == [long, short]
    incompressible = os.urandom(10**6).replace(b"\n", b"")
    assert list(lines(gzip.compress(incompressible + b"\n"), wide)) == [incompressible]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "ends early"),
        (b"not gzip at all", "not gzip"),
        (gzip.compress(b"a\nb\n")[:-3], "ends early"),
        (gzip.compress(b"a\n") + gzip.compress(b"b\n"), "something after its end"),
        (gzip.compress(b"a\n") + b"tail", "something after its end"),
        (gzip.compress(b"a\nb"), "has no end"),
        (gzip.compress(b"a\n" * 2)[:-8] + b"\0" * 8, "damaged"),
    ],
)
def test_damaged_archives(content: bytes, told: str) -> None:
    with pytest.raises(SubmissionError, match=told):
        list(lines(content, LIMITS))


def test_a_file_over_the_limit_is_not_read(shop: Path) -> None:
    with (shop / "episodes.jsonl.gz").open("r+b") as file:
        file.truncate(2**34)  # sparse
    assert "larger than" in refusal(shop)


# Lines.


@pytest.fixture
def line(shop: Path) -> bytes:
    return gzip.decompress((shop / "episodes.jsonl.gz").read_bytes()).splitlines()[0]


@pytest.mark.parametrize(
    "replaced",
    [
        (b'"reward":0.0', b'"reward":NaN'),
        (b'"reward":0.0', b'"reward":Infinity'),
        (b'"reward":0.0', b'"reward":1e999'),
        (b'"reward":0.0', b'"reward":0'),
        (b'"reward":0.0', b'"reward":0.00'),
        (b'"reward":0.0', b'"reward":"0.0"'),
        (b'"reward":0.0', b'"reward":null'),
        (b'"reward":0.0', b'"reward":' + b"9" * 5000),
        (b'"seed":3', b'"seed":' + b"9" * 100_000),
        (b'"seed":3', b'"seed":9223372036854775808'),
        (b'"seed":3', b'"seed":-1'),
        (b'"seed":3', b'"seed":3.0'),
        (b'"seed":3', b'"seed":true'),
        (b'"seed":3', b'"seed":3,"seed":3'),
        (b'"seed":3', b'"seed":3,"extra":1'),
        (b'"seed":3', b'"seed": 3'),
        (b'"seed":3', b'"seed":' + b"[" * 50_000 + b"]" * 50_000),
        (b'"seed":3', b'"seed":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
        (b'"success":false', b'"success":0'),
        (b'"end":"', b'"end":"x'),
        (b'"task":"goal-0"', b'"task":"goal-0\\ud800"'),
        (b'"task":"goal-0"', b'"task":"goal\\u002d0"'),
        (b'"task":"goal-0"', b'"task":""'),
        (b'"task":"goal-0"', b'"task":"' + b"g" * 1000 + b'"'),
        (b'"action":"', b'"action":"\xff\xfe'),
        (b'"action":"', '"action":"é'.encode()),
        (b'"action":"', b'"action":"\x00'),
        (b'"steps":[{', b'"steps":[],"stepz":[{'),
    ],
)
def test_lines_that_no_writer_writes(line: bytes, replaced: tuple[bytes, bytes]) -> None:
    assert replaced[0] in line
    with pytest.raises(SubmissionError):
        decode(line.replace(*replaced, 1))


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"1", b"{}", b"[" * 10**6, b"\xef\xbb\xbf{}"])
def test_lines_that_are_no_episode(content: bytes) -> None:
    with pytest.raises(SubmissionError, match="not an episode"):
        decode(content)


def test_a_line_keeps_its_episode(line: bytes) -> None:
    assert decode(line).task == "goal-0"


def test_actions_that_are_too_long(shop: Path) -> None:
    write_lines(shop, [b'{"task":"' + b"x" * 100_000 + b'"}'])
    assert "line 1 is longer" in refusal(shop)


def test_one_action_that_is_too_long(shop: Path, small_panels: dict[str, Panel]) -> None:
    tamper(shop, lambda e: e[0]["steps"][1].update(action="x" * 5000), small_panels["webshop"])
    assert "task goal-0, seed 3, sample 0, step 2: the action takes more than 4,096 bytes" in refusal(shop)


# submission.yaml.


@pytest.fixture
def text(shop: Path) -> str:
    return (shop / "submission.yaml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("contact: somebody", "contact: !!python/object/apply:os.system ['touch hacked']", "tags are not allowed"),
        ("contact: somebody", "contact: !!str somebody", "tags are not allowed"),
        ("contact: somebody", "contact: &a somebody", "anchors and aliases"),
        ("contact: somebody", "contact: *a", "not plain YAML"),
        ("contact: somebody", "contact: somebody\ncontact: nobody", "there twice"),
        ("contact: somebody", "contact: somebody\n---\nversion: 1", "more than one document"),
        ("contact: somebody", "contact: " + "[" * 5000 + "]" * 5000, "too deep"),
        ("contact: somebody", "contact: " + "{a: " * 5000 + "}" * 5000, "too deep"),
        ("contact: somebody", "contact: 2026-01-01", "contact"),
        ("contact: somebody", 'contact: "some\\x1b[31mbody"', "printable"),
        ("contact: somebody", 'contact: "some\\u202Ebody"', "printable"),
        ("contact: somebody", "contact: " + "x" * 201, "contact"),
        ("contact: somebody", "contact: somebody\nextra: 1", "extra"),
        ("contact: somebody", "contact: somebody\n? [a, b]\n: 1", "not plain YAML"),
        ("config: null", "config: {a: .nan}", "plain and finite"),
        ("config: null", "config: {a: .inf}", "plain and finite"),
        ("config: null", "config: {a: " + "9" * 40 + "}", "plain and finite"),
        ("config: null", "config: {a: " + "9" * 5000 + "}", "not plain YAML"),
        ("config: null", "config: {a: 0x" + "f" * 5000 + "}", "plain and finite"),
        ("config: null", "config: {1: a}", "config"),
        ("config: null", "config: {a: {b: {c: {d: {e: {f: {g: {h: 1}}}}}}}}", "deeper"),
        ("config: null", "config: {a: 2026-01-01}", "plain and finite"),
        ("training: {}", "training: {env_steps: .nan}", "training"),
        ("training: {}", "training: {env_steps: -1.0}", "training"),
        ("training: {}", "training: {../x: 1.0}", "training"),
        ("version: 1", "version: 2", "version"),
        ("version: 1", "version: true", "version"),
        ("version: 1", "version: 1.0", "version"),
        ("track: open", "track: easy", "track"),
        ("samples: 1", "samples: 33", "samples"),
        ("samples: 1", "samples: 17", "at most 32"),
    ],
)
def test_descriptions_that_are_not_plain(text: str, tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in text
    with pytest.raises(SubmissionError) as caught:
        parse(text.replace(old, new, 1).encode())
    assert told in str(caught.value)
    assert not (tmp_path / "hacked").exists()


def test_a_billion_laughs() -> None:
    names = "abcdefghij"
    entries = [f"a: &a [{', '.join(['lol'] * 9)}]"]
    entries += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in itertools.pairwise(names)]
    with pytest.raises(SubmissionError, match="anchors and aliases"):
        parse("\n".join(entries).encode())


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"- 1", b"a: [", b"\x00", b"%YAML 9.9\n---\na: 1", b"\t"])
def test_descriptions_that_are_none(content: bytes) -> None:
    with pytest.raises(SubmissionError, match=r"submission\.yaml"):
        parse(content)


def test_a_description_over_the_limit(shop: Path) -> None:
    (shop / "submission.yaml").write_bytes(b"#" * (MAX_DESCRIPTION + 1))
    assert "submission.yaml is larger than 65,536 bytes" in refusal(shop)


def test_a_budget_is_kept(shop: Path) -> None:
    describe(shop, track="fixed-budget")
    assert "needs compute.training.env_steps" in refusal(shop)
    spent = {"env_steps": 120_001.0, "generated_tokens": 1.0, "trained_tokens": 1.0}
    describe(shop, compute={"training": spent})
    assert "is 120,001, over the budget of 60,000 a run" in refusal(shop)
    describe(shop, compute={"training": spent | {"env_steps": 120_000.0}})
    assert verify(shop, Options(jobs=1)).folder.submission.track == "fixed-budget"


# The folder.


@pytest.mark.parametrize("name", ["submission.yaml", "episodes.jsonl.gz", "README.md"])
def test_links_fifos_and_folders(shop: Path, tmp_path: Path, name: str) -> None:
    path = shop / name
    content = path.read_bytes()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(content)
    for make, told in (
        (lambda: path.symlink_to(elsewhere), "not a regular file"),
        (lambda: os.mkfifo(path), "not a regular file"),
        (path.mkdir, "not a regular file"),
        (lambda: None, "is missing"),
    ):
        path.unlink() if path.is_symlink() or not path.is_dir() else path.rmdir()
        make()
        assert told in refusal(shop)
        if told == "is missing":
            break
    path.write_bytes(content)
    assert read(shop).episodes


@pytest.mark.parametrize(
    "name", [b"setup.py", b"..x", b".git", b"\xff\xfe\x1b[2J", b"README.md ", b"submission.yaml\n"]
)
def test_other_files_are_refused(shop: Path, name: bytes) -> None:
    try:
        with open(os.path.join(os.fsencode(shop), name), "wb"):
            pass
    except OSError as error:
        pytest.skip(f"the file system has no such names: {error}")
    assert "does not belong" in refusal(shop)


def test_a_linked_folder(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(shop)
    assert "is not a folder" in refusal(tmp_path / "link")
    assert "is not a folder" in refusal(tmp_path / "nowhere")


def test_equal_episodes_give_equal_bytes(shop: Path) -> None:
    from leaderboard.records import encode_all

    content = (shop / "episodes.jsonl.gz").read_bytes()
    again = [decode(line) for line in gzip.decompress(content).splitlines()]
    assert encode_all(again) == content
    assert len(again) == len(episodes_of(shop))
    assert content[4:8] == bytes(4)  # no time
