"""The copy backend gives the copy of a closed sandbox to the next one, which must not be able to tell."""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from views import ok, reason_against

from sandgym.core import SandboxError
from sandgym.sandboxes import FolderImage, Sandbox, SandboxLost, open_sandbox, reaper, spares

Make = Callable[[], Sandbox]

SOCKET = "import socket; socket.socket(socket.AF_UNIX).bind('{}')"
ATTRIBUTES = """
import os, struct
for path in ("one", "folder", "."):
    os.setxattr(path, "user.seen", b"yes")
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, 7, -1 % 2**32) for tag in (1, 4, 32))
os.setxattr("folder", "system.posix_acl_default", acl)
"""
DEEDS = {
    "nothing": "true",
    "contents": "echo more >> one; echo x > folder/new; rm two; echo '#' >> .hidden",
    "modes": "chmod 777 one; chmod 4755 two; chmod 2777 folder; chmod 700 . ~; chmod 755 /tmp",
    "closed folders": "mkdir -p c/d; echo 1 > c/d/e; chmod 000 c/d c folder/deep folder",
    "times": "touch -d @1000000000 one link folder . ; touch -h -d @1000000000 link",
    "the same again": "cp one x; cat x > one; rm x; rm two; cp one two; touch -r folder/leaf one two",
    "hard links": "ln -f one two; ln one folder/three; ln -P link folder/link; ln -f folder/leaf two",
    "other links": "ln -sfn folder link; ln -s /etc/passwd one2; rm one; ln -s two one",
    "a folder that became a link": "mv folder /tmp/f; ln -s /tmp/f folder",
    "a folder that became a file": "rm -r folder; echo file > folder; rm one; mkdir one; echo > one/two",
    "a folder that went away and came back": "mv folder away; mkdir folder; mv away/* folder; rmdir away",
    "a folder in another's place": "mkdir new; mv folder/deep new/deep; mv folder /tmp/old; mv new folder",
    "a pipe": "mkfifo pipe folder/pipe; rm one; mkfifo one",
    "sockets": f'python3 -c "{SOCKET.format("s")}"; rm one; python3 -c "{SOCKET.format("one")}"; '
    f'python3 -c "{SOCKET.format("/tmp/s")}"',
    "attributes": f"python3 - <<'END'\n{ATTRIBUTES}END",
    "rubbish": "mkdir -p {~,/tmp,.}/r/{1..300}; for i in r/*; do echo $i > $i/f; done; chmod 000 r/1 r",
    "everything": "rm -rf .hidden * ~/.[a-z]* /tmp/*",
    "variables": "export A=1; cd folder",
}


@pytest.fixture(autouse=True)
def confined() -> None:
    if (reason := reason_against("copy")) != "ok":
        pytest.skip(f"the copy backend does not work here: {reason}")


@pytest.fixture
def image(tmp_path: Path) -> FolderImage:
    root = tmp_path / "image"
    (root / "folder" / "deep" / "er").mkdir(parents=True)
    (root / "folder" / "empty").mkdir()
    for name in ("one", "two", "folder/leaf", "folder/deep/er/leaf", ".hidden"):
        (root / name).write_text("equal\n")
    (root / "two").chmod(0o750)
    (root / "link").symlink_to("one")
    os.mkfifo(root / "folder" / "fifo", 0o600)
    for number, path in enumerate(sorted(root.rglob("*"), reverse=True)):
        os.utime(path, (1_600_000_000 + number,) * 2, follow_symlinks=False)
    root.chmod(0o755)
    return FolderImage(root)


@pytest.fixture
def make(image: FolderImage) -> Iterator[Make]:
    """Opens sandboxes of the image, and closes them in the end."""
    opened: list[Sandbox] = []

    def open_one() -> Sandbox:
        opened.append(open_sandbox(image, "copy"))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


def folder_of(sandbox: Sandbox) -> Path:
    folder: Path = sandbox._folder  # type: ignore[attr-defined]
    return folder


def facts(sandbox: Sandbox, anew: tuple[str, ...] = ("home", "tmp")) -> dict[str, tuple[object, ...]]:
    """All that can be told of every path, but inode numbers, access and change times, and times of some folders."""
    top = folder_of(sandbox)
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(top.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        target = os.readlink(path) if path.is_symlink() else ""
        attributes = () if sys.platform != "linux" else tuple(os.listxattr(path, follow_symlinks=False))
        name = str(path.relative_to(top))
        found[name] = (
            status.st_mode,
            status.st_nlink,
            (status.st_uid, status.st_gid),
            0 if name in anew else status.st_mtime_ns,
            (hashlib.sha256(content).hexdigest(), target, attributes),
        )
    return found


def copies() -> set[Path]:
    return set(reaper.process_folder().glob("copy-*"))


@pytest.mark.parametrize("deed", DEEDS)
def test_nothing_of_a_closed_sandbox_is_seen_in_the_next(make: Make, deed: str) -> None:
    first = make()
    start, fresh, variables = first.snapshot(), facts(first), dict(first.variables)
    ok(first, DEEDS[deed])
    assert (facts(first) == fresh) == (deed in ("nothing", "variables"))
    used = folder_of(first)
    first.close()
    second = make()
    assert folder_of(second) == used
    assert facts(second) == fresh
    assert second.snapshot().digest == start.digest
    assert (second.diff(), second.cwd, second.variables) == ({}, "/testbed", variables)


@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("deed", DEEDS)
def test_a_restore_undoes_what_content_does_not_show(make: Make, deed: str, looked: bool) -> None:
    sandbox = make()
    start, fresh = sandbox.snapshot(), facts(sandbox)
    ok(sandbox, DEEDS[deed])
    if looked:
        sandbox.snapshot()
    sandbox.restore(start)
    assert facts(sandbox) == fresh
    assert sandbox.diff() == {}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_saved_state_is_the_same_in_a_used_copy_and_in_a_new_one(make: Make, image: FolderImage, deed: str) -> None:
    first = make()
    ok(
        first,
        "mkdir -m 711 n; echo 1 > n/f; chmod 600 one; ln -s n folder/n; mkfifo -m 640 p; rm -r folder/deep; rm two",
    )
    saved = first.snapshot()
    anew = ("work", "work/folder", "home", "tmp")  # folders of the image in which something differs are as old as that
    new = first.another_at(saved)  # of which there was no copy before
    as_new = facts(new, anew)
    new.close()
    first.run(DEEDS[deed])
    used = folder_of(first)
    first.close()
    for _ in range(2):
        with open_sandbox(image, "copy") as again:
            assert folder_of(again) == used
            again.restore(saved)
            assert facts(again, anew) == as_new
            assert again.snapshot().digest == saved.digest
            again.run(DEEDS[deed])


def _content(copy: Path) -> None:
    path = copy / "work" / "one"
    status = path.stat()
    path.write_text("equaL\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _link(copy: Path) -> None:
    (copy / "work").rename(copy.parent / "elsewhere")
    (copy / "work").symlink_to(copy.parent / "elsewhere")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a changed file": _content,
    "a lost file": lambda copy: (copy / "work" / "folder" / "leaf").unlink(),
    "a further file": lambda copy: (copy / "home" / ".bashrc").write_text("echo caught"),
    "a lost folder": lambda copy: shutil.rmtree(copy / "work" / "folder"),
    "a lost repository": lambda copy: shutil.rmtree(copy / "work"),
    "a lost home": lambda copy: shutil.rmtree(copy / "home"),
    "all lost": shutil.rmtree,
    "a link": _link,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_of_a_spare_is_noticed(make: Make, damage: str) -> None:
    first = make()
    fresh, used = facts(first), folder_of(first)
    first.close()
    DAMAGES[damage](used)
    time.sleep(0.02)
    second = make()
    assert facts(second) == fresh
    assert second.diff() == {}
    assert ok(second, "cat one folder/leaf; ls -A ~") == "equal\nequal\n"
    assert (folder_of(second) == used) == (damage != "all lost")
    elsewhere = used.parent / "elsewhere"
    if damage == "a link":
        assert (elsewhere / "folder" / "leaf").read_text() == "equal\n"
        shutil.rmtree(elsewhere)


def test_a_closed_sandbox_cannot_reach_the_next(make: Make) -> None:
    first = make()
    saved, used = first.snapshot(), folder_of(first)
    first.close()
    second = make()
    assert folder_of(second) == used
    acts: tuple[Callable[[], object], ...] = (
        lambda: first.run("true"),
        lambda: first.read("/testbed/one"),
        lambda: first.write("/testbed/one", b"x"),
        lambda: first.restore(saved),
        first.snapshot,
        first.changes,
    )
    for act in acts:
        with pytest.raises(SandboxLost):
            act()
    first.close()
    assert make()._folder != used  # type: ignore[attr-defined]
    assert second.read("/testbed/one") == b"equal\n"


def test_two_are_kept_for_each_image_and_so_many_in_all(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = copies()
    many = [make() for _ in range(4)]
    folders = {folder_of(each) for each in many}
    assert len(folders) == 4
    for each in many:
        each.close()
    kept = copies() - before
    assert len(kept) == spares.PER_IMAGE == 2
    assert kept < folders
    assert {folder_of(make()) for _ in range(3)} > kept
    monkeypatch.setattr(spares, "MOST", 3)
    for number in range(5):
        root = tmp_path / f"other-{number}"
        root.mkdir()
        open_sandbox(FolderImage(root), "copy").close()
    assert len(spares._SPARES) == 3
    assert [spare.tree.root.name for spare in spares._SPARES] == ["other-2", "other-3", "other-4"]


def test_a_changed_image_gets_no_copy_of_what_it_was(image: FolderImage) -> None:
    open_sandbox(image, "copy").close()
    os.utime(image.root / "one", (5, 5))
    before = copies()
    for _ in range(3):
        with open_sandbox(FolderImage(image.root), "copy") as sandbox:
            assert (folder_of(sandbox) / "work" / "one").stat().st_mtime == 5
    assert len(copies() - before) == 1
    shutil.rmtree(image.root)
    ok_again = open_sandbox(image, "copy")  # nothing was changed in it
    ok(ok_again, "rm one")
    ok_again.close()
    with pytest.raises(SandboxError):
        open_sandbox(FolderImage(image.root), "copy")


def test_sandboxes_of_many_threads_share_nothing(image: FolderImage) -> None:
    used, lock, faults = set[Path](), threading.Lock(), list[object]()

    def work(name: str) -> None:
        for _ in range(6):
            with open_sandbox(image, "copy") as sandbox:
                folder = folder_of(sandbox)
                with lock:
                    faults.extend({folder} & used)
                    used.add(folder)
                sandbox.write("/testbed/mine", name.encode())
                if sandbox.run("cat mine; ls -A ~; touch ~/x; rm -r folder").output != name:
                    faults.append(name)
                with lock:
                    used.remove(folder)

    threads = [threading.Thread(target=work, args=(f"thread-{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_a_sandbox_that_is_closed_while_a_command_runs_is_not_used_again(make: Make) -> None:
    sandbox = make()
    used = folder_of(sandbox)
    thread = threading.Thread(target=sandbox.run, args=("touch begun; sleep 1; echo late > one",))
    thread.start()
    while not (used / "work" / "begun").exists():
        time.sleep(0.01)
    sandbox.close()
    assert folder_of(make()) != used
    assert not used.exists()
    thread.join()


PROCESSES = """
import multiprocessing, pathlib, sys
from sandgym.sandboxes import *
image = FolderImage(pathlib.Path(sys.argv[1]))

def use():
    with open_sandbox(image, "copy") as sandbox:
        sandbox.run("echo x > new")
        return sandbox._folder

def child():
    outer.close()
    assert use().parent != spare.parent
    assert spare.is_dir() and living.is_dir()

spare, outer = use(), open_sandbox(image, "copy")
assert outer._folder == spare
living = outer._folder
spare = use()
assert spare != living
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
assert process.exitcode == 0
assert outer.run("cat one").output == "equal\\n"
assert use() == spare
"""


def test_a_forked_process_has_spares_of_its_own_and_none_is_left_at_the_end(image: FolderImage, store: Path) -> None:
    before = set(store.iterdir())
    subprocess.run([sys.executable, "-c", PROCESSES, str(image.root)], check=True)
    assert set(store.iterdir()) == before
