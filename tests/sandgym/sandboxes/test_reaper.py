"""Nothing is left: not by those who close, not by those who fail, not by those who are killed."""

import errno
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from views import Open, images_of_this_process, ok

from sandgym.core import SandboxError
from sandgym.sandboxes import (
    FolderImage,
    Image,
    Sandbox,
    Unconfinable,
    engine,
    folderbase,
    open_sandbox,
    reaper,
    spares,
    tree,
)

CROWD = """
import pathlib, sys, threading
from sandgym.sandboxes import *
image = FolderImage(pathlib.Path(sys.argv[1]))
sandboxes = [open_sandbox(image, sys.argv[2]) for _ in range(8)]
for sandbox in sandboxes:
    sandbox.run("echo x > new; chmod 000 package")
    sandbox.kept = sandbox.snapshot()
threads = [threading.Thread(target=sandbox.run, args=("sleep 876.5",)) for sandbox in sandboxes]
[thread.start() for thread in threads]
print("ready", flush=True)
"""


def folders(store: Path) -> set[str]:
    return {path.name for path in store.iterdir()}


def sleepers() -> list[str]:
    return subprocess.run(["pgrep", "-f", "sleep 876[.]5"], capture_output=True, text=True, check=False).stdout.split()


def test_a_killed_process_leaves_nothing_after_the_next_cleaning(backend: str, image: Image, store: Path) -> None:
    if not isinstance(image, FolderImage):
        pytest.skip("written for folders")
    before = folders(store)
    command = [sys.executable, "-c", CROWD, str(image.root), backend]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as crowd:
        assert crowd.stdout is not None
        assert crowd.stdout.readline() == "ready\n"
        _until(lambda: len(sleepers()) >= 8)
        assert reaper.clean() == []  # it lives
        crowd.send_signal(signal.SIGKILL)
    _until(lambda: not sleepers())
    assert len(folders(store) - before) == 1
    assert len(reaper.clean()) == 1
    assert folders(store) == before
    mounts = Path("/proc/self/mountinfo")
    assert not mounts.exists() or str(store) not in mounts.read_text()


def _until(condition: object) -> None:
    deadline = time.monotonic() + 60
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_process_that_ends_leaves_nothing(backend: str, image: Image, store: Path) -> None:
    if not isinstance(image, FolderImage):
        pytest.skip("written for folders")
    before = folders(store)
    script = (
        "import multiprocessing as m, pathlib, sys\nfrom sandgym.sandboxes import *\n"
        "def f(_=0): open_sandbox(FolderImage(pathlib.Path(sys.argv[1])), sys.argv[2]).run('echo x > new')\n"
        "f()\np = m.get_context('fork').Process(target=f)\np.start()\np.join()\nassert p.exitcode == 0\nf()"
    )
    subprocess.run([sys.executable, "-c", script, str(image.root), backend], check=True)
    assert folders(store) == before


def test_closing_and_forgetting(opened: Open, backend: str) -> None:
    folder = reaper.process_folder()
    opened()
    there = folders(folder)
    sandbox = opened()
    ok(sandbox, "echo x > new; chmod 000 package; mkdir -p a/b; chmod 000 a")
    forks = sandbox.fork(2)
    for each in (sandbox, *forks, sandbox):
        each.close()
    kept = {name for name in folders(folder) - there if name.startswith("copy-")}
    assert len(kept) <= spares.PER_IMAGE
    assert folders(folder) - there - kept <= {"layers", "blobs", "trash"}
    reaper.wait_for_removals()
    assert folders(folder / "trash") == set()


def test_snapshots_that_nobody_has_are_removed(sandbox: Sandbox, backend: str) -> None:
    def count() -> int:
        if backend == "docker":
            engine.wait_for_removals()
            return images_of_this_process()
        return len(list((reaper.process_folder() / {"overlay": "layers", "copy": "blobs"}[backend]).iterdir()))

    ok(sandbox, "echo base > base")
    base = sandbox.snapshot()
    before = count()
    for number in range(20):
        ok(sandbox, f"echo {number} > n")
        sandbox.snapshot()
        sandbox.restore(base)
    assert count() <= before + 1


def test_a_constructor_that_fails_leaves_nothing(
    backend: str, image: Image, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if not isinstance(image, FolderImage):
        pytest.skip("written for folders")
    (tmp_path / "file").write_text("not seen before")
    folder = reaper.process_folder()

    def kept() -> set[str]:
        return {path for top in (folder, folder / "bases") if top.is_dir() for path in folders(top)} - {"trash"}

    open_sandbox(FolderImage(image.root), backend).close()
    before = kept()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tree, "copy_file", full)
    monkeypatch.setattr(folderbase, "write_rootfs", full)
    with pytest.raises(SandboxError, match="No space left"):
        open_sandbox(FolderImage(tmp_path), backend)
    assert kept() == before
    with pytest.raises(SandboxError, match="no folder"):
        open_sandbox(FolderImage(tmp_path / "none"), backend)
    assert kept() == before


def test_only_the_dead_of_this_machine_are_dead() -> None:
    label = reaper.owner_label()
    host, boot, namespace, pid, start = label.split("_")
    assert not reaper.is_dead(label)
    assert reaper.is_dead("_".join((host, boot, namespace, pid, start + "1")))  # its number was given again
    assert reaper.is_dead("_".join((host, "another-boot", namespace, pid, start)))
    assert not reaper.is_dead("_".join(("elsewhere", boot, namespace, "999999999", start)))
    assert not reaper.is_dead("_".join((host, boot, "1", "999999999", start)))  # another container's
    assert not reaper.is_dead("something else")


def test_machines_of_one_name_are_told_apart() -> None:
    if not Path("/etc/machine-id").is_file():
        pytest.skip("this machine has no /etc/machine-id")
    name, _, identity = reaper._machine()[0].rpartition(".")
    assert identity == hashlib.sha256(Path("/etc/machine-id").read_bytes()).hexdigest()[:8]
    _, *rest = reaper.owner_label().split("_")
    assert not reaper.is_dead("_".join((f"{name}.00000000", "another-boot", *rest[1:])))


def test_what_nests_too_deep_is_removed(tmp_path: Path) -> None:
    subprocess.run(["mkdir", "-p", tmp_path / "/".join(["d"] * 1200)], check=True)
    reaper.remove(tmp_path / "d")
    assert list(tmp_path.iterdir()) == []


ROOT = Path(__file__).parents[3]  # before the tests, whose folders have the names of packages
LOCKED = """
import os, pathlib, sys
from sandgym.sandboxes.confined import seccomp, syscalls
if len(sys.argv) == 3:  # give up what namespaces need, and start again without it
    syscalls.give_up_privileges(); seccomp.install()
    os.execv(sys.executable, [sys.executable, __file__, *sys.argv[1:], "again"])
from sandgym.core import SandboxError
from sandgym.sandboxes import *
image = FolderImage(pathlib.Path(sys.argv[1]))
print({name: reason == "ok" for name, reason in available().items()})
for options in ({}, {"unconfined": True}):
    try:
        with open_sandbox(image, "auto", **options) as sandbox:
            print(sandbox.backend, sandbox.run("pwd; cat a.txt; echo new > new; export A=1; cd package"))
            print(sandbox.cwd, sandbox.variables["A"], sandbox.diff(), sandbox.run("echo $A; pwd | grep -o package"))
            saved = sandbox.snapshot(); sandbox.run("rm -rf /testbed/none new ../new"); sandbox.restore(saved)
            print(sandbox.read("/testbed/new"), sandbox.run("sleep 50 & sleep 50", timeout=0.5).timed_out)
    except SandboxError as error:
        print(type(error).__name__, error)
from sandgym.sandboxes.copying import CopyingSandbox
with CopyingSandbox(image) as sandbox:
    sandbox.write("/testbed/a.txt", b"written"); print(sandbox.diff())
    try:
        sandbox.run("true")
    except Unconfinable as error:
        print(error)
"""


def test_without_namespaces_commands_run_only_when_that_is_allowed(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "locked.py").write_text(LOCKED)
    command = [sys.executable, str(tmp_path / "locked.py"), str(repository), "x"]
    environment = os.environ | {"DOCKER_HOST": "unix:///nowhere"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), *sys.path]))
    said = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    lines = said.stdout.splitlines()
    assert len(lines) == 7, said.stdout + said.stderr
    assert "True" not in lines[0]
    assert lines[1].startswith("SandboxError no backend works here: overlay: ")
    assert "output='" in lines[2]
    assert "alpha\\n" in lines[2]
    assert lines[2].startswith("copy CommandResult(returncode=0")
    assert lines[3].startswith(
        "/testbed/package 1 {'/testbed/new': 'added'} CommandResult(returncode=0, output='1\\npackage"
    )
    assert lines[4] == "b'new\\n' True"
    assert lines[5] == "{'/testbed/a.txt': 'changed'}"
    assert "unconfined=True" in lines[6]
    assert Unconfinable.__mro__[1] is SandboxError
