"""What a snapshot holds, on every backend: all that can be written to, to the bit."""

import pickle
import random
import subprocess
import sys
from pathlib import Path

import pytest
from views import GIT, Open, listing, ok

from sandgym.core import SnapshotMismatch
from sandgym.sandboxes import FolderImage, Image, Limits, Sandbox, open_sandbox

WORK = f"""
echo edited >> a.txt; echo new > new.txt; echo ignored > x.log; rm b.txt
mkdir -p empty/folder; ln -s package/code.py link2; ln -sfn b.txt link; chmod 750 run.sh; chmod 700 package
mkdir nested; cd nested; {GIT} init -q; echo n > n; {GIT} add n; {GIT} commit -qm nested; cd ..
echo outside > ~/.profile; mkdir ~/deep; echo temporary > /tmp/t; ln -s /etc/passwd /tmp/escape
{GIT} add new.txt; {GIT} commit -qm second; echo staged > package/code.py; {GIT} add package/code.py
rm -r package/deep; mkdir package/deep; echo other > package/deep/other; mkfifo pipe; rmdir hollow
printf '\\0\\377' > 'odd  name\n$x'; chmod 000 x.log; chmod u+s new.txt
export COLOUR=blue; cd package
"""
RUIN = """
cd /testbed; chmod 644 x.log; rm -rf a.txt new.txt x.log empty link nested run.sh package .git pipe odd*
echo rubble > package; mkdir a.txt b.txt; ln -s /tmp link; touch hollow
rm -rf ~/.profile ~/deep /tmp/t /tmp/escape; echo more > /tmp/more; mkdir -p ~/.config/x; chmod 711 ~
export COLOUR=red; unset LANG; cd /tmp
"""
STATUS = f"cd /testbed && {GIT} status --porcelain --ignored && {GIT} log --format=%H && {GIT} ls-files -s"


def test_everything_comes_back(sandbox: Sandbox) -> None:
    fresh = listing(sandbox)
    ok(sandbox, WORK)
    status, before = ok(sandbox, STATUS), ""
    sandbox.cwd = "/testbed/package"
    before = listing(sandbox)
    saved = sandbox.snapshot()
    ok(sandbox, RUIN)
    assert listing(sandbox) != before
    assert (sandbox.cwd, sandbox.variables["COLOUR"]) == ("/tmp", "red")
    sandbox.restore(saved)
    assert listing(sandbox) == before != fresh
    assert (sandbox.cwd, sandbox.variables["COLOUR"]) == ("/testbed/package", "blue")
    assert sandbox.variables["LANG"] == "C.UTF-8"
    assert sandbox.snapshot().digest == saved.digest
    assert ok(sandbox, STATUS) == status


def test_the_start_comes_back(sandbox: Sandbox) -> None:
    start, fresh = sandbox.snapshot(), listing(sandbox)
    ok(sandbox, WORK)
    sandbox.restore(start)
    assert listing(sandbox) == fresh
    assert sandbox.diff() == {}
    assert start.bytes == 0


def test_a_thousand_folders_in_each_other(sandbox: Sandbox) -> None:
    start = sandbox.snapshot()
    deep = "/".join(["d"] * 1200)
    ok(sandbox, f"mkdir -p {deep} /tmp/{deep} /dev/shm/{deep}")
    saved = sandbox.snapshot()
    assert sum(path.endswith("/d") for path in sandbox.changes()) == 2400
    ok(sandbox, "rm -r d /tmp/d")
    assert sandbox.snapshot().digest == start.digest
    sandbox.restore(saved)
    ok(sandbox, f"cd {deep} && cd /tmp/{deep} && cd /testbed && ! test -e /dev/shm/d")
    sandbox.restore(start)
    assert sandbox.diff() == {}


def test_diff_names_every_change(sandbox: Sandbox) -> None:
    ok(sandbox, "echo x >> a.txt; rm b.txt; rm -r package/deep; mkdir n; echo 1 > n/f; chmod 600 run.sh; touch /tmp/t")
    assert sandbox.diff() == {
        "/testbed/a.txt": "changed",
        "/testbed/b.txt": "deleted",
        "/testbed/package/deep": "deleted",
        "/testbed/package/deep/er": "deleted",
        "/testbed/package/deep/er/leaf.txt": "deleted",
        "/testbed/n": "added",
        "/testbed/n/f": "added",
        "/testbed/run.sh": "changed",
        "/tmp/t": "added",
    }
    sandbox.snapshot()
    ok(sandbox, "echo alpha > a.txt; rm -r n; mkdir -p package/deep/er; chmod 755 run.sh")
    assert sandbox.diff() == {
        "/testbed/b.txt": "deleted",
        "/testbed/package/deep/er/leaf.txt": "deleted",
        "/tmp/t": "added",
    }


def test_a_change_that_is_undone_is_none(sandbox: Sandbox) -> None:
    start = sandbox.snapshot().digest
    ok(sandbox, "mv a.txt b2; rm -r package; echo 1 > package")
    assert sandbox.snapshot().digest != start
    ok(sandbox, "mv b2 a.txt; rm package; mkdir -p package/deep/er; touch package/__init__.py")
    ok(sandbox, "printf 'def f():\\n    return 1\\n' > package/code.py; echo leaf > package/deep/er/leaf.txt")
    assert sandbox.diff() == {}
    assert sandbox.snapshot().digest == start


def test_every_backend_gives_the_same_digest(image: Image, backend: str, sandbox: Sandbox) -> None:
    if backend == "copy":
        pytest.skip("it is what the others are compared with")
    with open_sandbox(image, "copy") as other:
        for each in (sandbox, other):
            ok(each, "echo x > a.txt; rm b.txt; rm -r package; mkdir package; ln -s a.txt l; chmod 711 .; export A=1")
        assert sandbox.snapshot().digest == other.snapshot().digest
        assert sandbox.diff() == other.diff()


def test_folders_that_are_closed(sandbox: Sandbox) -> None:
    """An agent may close what it owns, and a process that is not root has to look into it all the same."""
    ok(sandbox, "mkdir -p c/d/e; echo 1 > c/d/e/f; echo 2 > c/g; chmod 000 c/g c/d/e c/d c; chmod 500 package")
    saved = sandbox.snapshot()
    changes = sandbox.changes()
    assert changes == saved.changes
    modes = {path: entry.mode for path, entry in changes.items() if entry is not None}
    assert modes == {f"/testbed/{path}": 0 for path in ("c", "c/d", "c/d/e", "c/g")} | {
        "/testbed/c/d/e/f": 0o644,
        "/testbed/package": 0o500,
    }
    ok(sandbox, "chmod 700 c c/d c/d/e package; rm -r c/d package; mkdir -m 000 c/d; chmod 000 c")
    assert sandbox.diff()["/testbed/package/code.py"] == "deleted"
    later = sandbox.snapshot()
    for each in (saved, later, saved):
        sandbox.restore(each)
        assert sandbox.changes() == each.changes
    assert ok(sandbox, "chmod -R u+rwX c; cat c/d/e/f; chmod u+r c/g; cat c/g; stat -c %a package") == "1\n2\n500\n"


def test_a_restore_does_not_follow_links(sandbox: Sandbox, tmp_path: Path) -> None:
    """A link that an agent put in place of a folder leads to this machine's files when it is seen from outside."""
    (tmp_path / "precious").mkdir()
    for name in ("code.py", "new.py"):
        (tmp_path / "precious" / name).write_text("precious")
    start = sandbox.snapshot()
    ok(sandbox, "echo x > package/new.py")
    with_file = sandbox.snapshot()
    ok(sandbox, f"rm -r package; ln -s {tmp_path}/precious package")
    with_link = sandbox.snapshot()
    for each in (start, with_file, with_link, with_file, with_link, start):
        sandbox.restore(each)
        assert sandbox.changes() == each.changes
        assert {path.read_text() for path in (tmp_path / "precious").iterdir()} == {"precious"}
        assert len(list((tmp_path / "precious").iterdir())) == 2


def test_forks_are_independent(sandbox: Sandbox) -> None:
    ok(sandbox, "echo shared > s; export N=0")
    forks = sandbox.fork(4)
    try:
        digest = sandbox.snapshot().digest
        assert [fork.snapshot().digest for fork in forks] == [digest] * 4
        for number, fork in enumerate(forks):
            ok(fork, f"echo {number} >> s; rm b.txt; export N={number}; touch only-{number}")
        assert ok(sandbox, "cat s b.txt; echo $N; ls only*||true").startswith("shared\nbeta\n0\n")
        for number, fork in enumerate(forks):
            assert ok(fork, "cat s; echo $N; ls only*") == f"shared\n{number}\n{number}\nonly-{number}\n"
        forks[0].restore(sandbox.snapshot())
        assert forks[0].snapshot().digest == digest
    finally:
        for fork in forks:
            fork.close()
    assert ok(sandbox, "cat s") == "shared\n"
    with pytest.raises(ValueError, match="-1"):
        sandbox.fork(-1)
    assert sandbox.fork(0) == []


def test_two_hundred_rounds(sandbox: Sandbox) -> None:
    draw = random.Random(0)
    saved = [(sandbox.snapshot(), sandbox.changes(), listing(sandbox))]
    edits = (
        "mkdir -p d{n}/e; echo {n} > d{n}/e/f", "rm -rf d*", "echo {n} > a.txt", "rm -f a.txt", "rm -rf package",
        "mkdir -p package; echo {n} > package/code.py", "ln -sfn {n} link", "chmod 7{m}{m} run.sh",
        "mv d* /tmp/ || true",
        "rm -rf b.txt; mkdir b.txt; touch b.txt/{n}", "rm -rf b.txt; echo {n} > b.txt", "echo {n} >> ~/notes",
    )  # fmt: skip
    for number in range(200):
        ok(sandbox, draw.choice(edits).format(n=number, m=number % 8))
        facts = listing(sandbox) if number % 20 == 0 else None
        saved.append((sandbox.snapshot(), sandbox.changes(), facts))
        if draw.random() < 0.3:
            snapshot, changes, facts = draw.choice(saved)
            sandbox.restore(snapshot)
            assert sandbox.changes() == changes == snapshot.changes
            assert facts is None or listing(sandbox) == facts
        else:
            sandbox.restore(saved[-1][0])
            assert sandbox.changes() == saved[-1][1]


def test_a_long_chain_of_snapshots(sandbox: Sandbox) -> None:
    """Longer than what an overlay can be mounted from, with deletions and folders that replace what was deleted."""
    first = sandbox.snapshot()
    for number in range(70):
        ok(sandbox, f"echo {number} > n; rm -rf package/deep; test {number % 3} = 0 || mkdir package/deep")
        ok(sandbox, f"rm -rf t{number - 5}; mkdir t{number}; echo > t{number}/f; chmod 7{number % 8}0 t{number}")
        last = sandbox.snapshot()
    facts = listing(sandbox)
    assert sandbox.diff() == {
        "/testbed/n": "added",
        "/testbed/package/deep": "deleted",
        "/testbed/package/deep/er": "deleted",
        "/testbed/package/deep/er/leaf.txt": "deleted",
        **{f"/testbed/t{number}{file}": "added" for number in range(65, 70) for file in ("", "/f")},
    }
    sandbox.restore(first)
    assert sandbox.diff() == {}
    sandbox.restore(last)
    assert listing(sandbox) == facts


def test_a_pickle_is_restored_in_another_process(sandbox: Sandbox, backend: str, image: Image, tmp_path: Path) -> None:
    if not isinstance(image, FolderImage):
        pytest.skip("written for folders")
    ok(sandbox, "echo kept > new; rm b.txt; export A=b")
    saved = sandbox.snapshot()
    (tmp_path / "pickle").write_bytes(pickle.dumps(saved))
    script = f"""
import pickle, pathlib
from sandgym.sandboxes import *
sandbox = open_sandbox(FolderImage(pathlib.Path({str(image.root)!r})), {backend!r})
sandbox.restore(pickle.loads(pathlib.Path({str(tmp_path / "pickle")!r}).read_bytes()))
print(sandbox.run("cat new; ls b.txt; echo $A").output, sandbox.snapshot().digest)
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert said.stdout.startswith("kept\n"), said.stderr
    assert "No such file" in said.stdout
    assert said.stdout.endswith(f"b\n {saved.digest}\n")
    twin = pickle.loads(pickle.dumps(saved))
    assert (twin, hash(twin), twin.bytes) == (saved, hash(saved), saved.bytes)
    sandbox.restore(twin)
    assert ok(sandbox, "cat new") == "kept\n"


def test_a_snapshot_outlives_its_sandbox(opened: Open) -> None:
    first = opened()
    ok(first, "echo kept > new")
    saved = first.snapshot()
    first.close()
    second = opened()
    second.restore(saved)
    assert second.read("/testbed/new") == b"kept\n"


def test_a_snapshot_costs_what_changed(sandbox: Sandbox) -> None:
    ok(sandbox, "head -c 3000000 /dev/urandom > big")
    assert 3_000_000 <= sandbox.snapshot().bytes < 3_200_000


def test_a_snapshot_of_another_image_is_refused(sandbox: Sandbox, backend: str, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("x")
    with open_sandbox(FolderImage(tmp_path), backend, Limits()) as other:
        snapshot = other.snapshot()
    with pytest.raises(SnapshotMismatch, match="another image"):
        sandbox.restore(snapshot)
    with open_sandbox(FolderImage(tmp_path), "overlay" if backend == "copy" else "copy") as other:
        snapshot = other.snapshot()
    with pytest.raises(SnapshotMismatch, match="another backend"):
        sandbox.restore(snapshot)


def test_reading_and_writing_from_outside(sandbox: Sandbox) -> None:
    ok(sandbox, "ln -s /etc/passwd trap; ln -s /testbed/package inner; ln -s ../../../../home/agent up; echo h > ~/h")
    assert sandbox.read("/testbed/a.txt") == sandbox.read("/testbed/link") == b"alpha\n"
    assert sandbox.read("/testbed/inner/code.py").startswith(b"def")
    assert sandbox.read("/testbed/up/h") == b"h\n"
    for outside in ("/testbed/trap", "/etc/passwd", "/testbed/../etc/passwd"):
        with pytest.raises(PermissionError, match="outside"):
            sandbox.read(outside)
    with pytest.raises(FileNotFoundError):
        sandbox.read("/testbed/none")
    with pytest.raises(IsADirectoryError):
        sandbox.read("/testbed/package")
    sandbox.write("/testbed/trap", b"replaced\n")
    sandbox.write("/testbed/very/new/folder/f", b"1", mode=0o600)
    sandbox.write("/testbed/inner/code.py", b"pass\n")
    sandbox.write("/testbed/run.sh", b"#!/bin/sh\necho changed\n")
    ok(sandbox, "rm -r package/deep b.txt")
    sandbox.write("/testbed/package/deep/f", b"2")
    sandbox.write("/testbed/b.txt", b"3")
    assert ok(
        sandbox, "cat trap package/code.py; stat -c '%a %U' very very/new/folder/f; ./run.sh; ls package/deep"
    ) == ("replaced\npass\n755 agent\n600 agent\nchanged\nf\n")
    assert ok(sandbox, "cat b.txt; echo 4 >> b.txt; echo 5 >> very/new/folder/f; rm -r very") == "3"
    with pytest.raises(IsADirectoryError):
        sandbox.write("/testbed/package", b"")
    with pytest.raises(NotADirectoryError):
        sandbox.write("/testbed/a.txt/b", b"")
    with pytest.raises(PermissionError):
        sandbox.write("/usr/bin/x", b"")
