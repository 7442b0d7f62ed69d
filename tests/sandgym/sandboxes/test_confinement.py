"""What a command cannot do, on every backend."""

import os
import secrets
import socket
import threading
import time
from pathlib import Path

import pytest
from views import Open, ok, remove_behind_the_back

from sandgym.core import SandboxError
from sandgym.sandboxes import FolderImage, Image, Limits, Sandbox, SandboxLost, isolation, open_sandbox
from sandgym.sandboxes.reaper import process_folder


def test_the_machine_cannot_be_changed(sandbox: Sandbox) -> None:
    for place in ("/", "/usr/bin", "/etc", "/var", "/opt", "/dev", "/proc/sys/kernel", "/run"):
        assert sandbox.run(f"touch {place}/mark").returncode != 0, place
    assert not Path("/usr/bin/mark").exists()
    assert sandbox.run("echo x >> /etc/passwd").returncode != 0
    assert sandbox.run("rm -rf --no-preserve-root /usr/bin/env").returncode != 0
    assert ok(sandbox, "id -u") != "0\n"
    assert sandbox.run("cat /etc/shadow | grep .").returncode != 0
    assert sandbox.run("mount -t tmpfs none /tmp || chroot / true || unshare -Ur true || sudo -n true").returncode != 0
    assert ok(sandbox, "grep -h -E '^Cap(Prm|Eff|Bnd|Inh)' /proc/self/status | sort -u -k2 | cut -f2") == f"{0:016x}\n"
    assert ok(sandbox, "grep NoNewPrivs /proc/self/status | cut -f2") == "1\n"


def test_secrets_cannot_be_read(sandbox: Sandbox, opened: Open, tmp_path: Path, store: Path) -> None:
    word = secrets.token_hex(16)
    (tmp_path / "secret").write_text(word)
    (tmp_path / "secret").chmod(0o644)
    other = opened()
    other.write("/tmp/secret", word.encode())
    other.snapshot()
    places = [tmp_path, store, process_folder(), Path.home(), "/root", "/proc/1/root", "/proc/1/cwd", "/proc/1/fd"]
    for place in places:
        assert sandbox.run(f'ls {place}/ && test -n "$(ls {place}/)"').returncode != 0, place
    assert (
        ok(
            sandbox,
            "ls / | grep -v -E '^(bin|dev|etc|home|lib.*|nix|opt|proc|run|sbin|sys|testbed|tmp|usr|var)$' || true",
        )
        == ""
    )
    assert sandbox.run(f"grep -rs {word} /tmp /home /etc /run /dev/shm /var /testbed").output == ""
    os.environ["SANDBOX_TEST_SECRET"] = word
    try:
        assert word not in ok(sandbox, "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'")
    finally:
        del os.environ["SANDBOX_TEST_SECRET"]


def test_no_other_process_is_seen(sandbox: Sandbox) -> None:
    assert str(os.getpid()) not in ok(sandbox, "ls /proc").split()
    numbers = [int(name) for name in ok(sandbox, "ls /proc").split() if name.isdigit()]
    assert max(numbers) < 100
    assert sandbox.run(f"kill -0 {os.getpid()}").returncode != 0
    assert sandbox.run("kill -9 1; kill -9 -1; true").returncode in (0, 137)
    assert ok(sandbox, "echo alive") == "alive\n"


def test_the_network_is_a_black_hole(sandbox: Sandbox) -> None:
    probe = "timeout 1 bash -c 'echo > /dev/tcp/{}/80' 2>/dev/null; echo $?"
    for address in ("1.1.1.1", "10.255.255.1", "169.254.169.254"):
        assert ok(sandbox, probe.format(address)) == "124\n", address  # neither connected nor refused
    assert ok(sandbox, probe.format("127.0.0.1")) == "1\n"  # refused at once: nothing listens
    served = ok(
        sandbox,
        "python3 -c \"import socket,threading; s=socket.create_server(('127.0.0.1',0));"
        "threading.Thread(target=lambda: s.accept()[0].send(b'hi')).start();"
        'print(socket.create_connection(s.getsockname()).recv(2))"',
    )
    assert served == "b'hi'\n"


def test_network_can_be_switched_on(opened: Open) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"timeout 5 bash -c 'echo > /dev/tcp/127.0.0.1/{port}'"
        assert opened(network=True).run(reach).returncode == 0
        assert opened().run(reach).returncode != 0


def test_a_fork_bomb_is_contained(opened: Open) -> None:
    sandbox = opened(Limits(processes=40))
    result = sandbox.run("bomb() { bomb | bomb & }; bomb; sleep 0.5; echo survived", timeout=20)
    assert not result.timed_out
    assert ok(sandbox, "echo alive") == "alive\n"
    other = opened(Limits(processes=40))
    done: list[str] = []
    bombing = threading.Thread(target=lambda: sandbox.run("while :; do sleep 1 & done", timeout=3))
    bombing.start()
    time.sleep(0.5)
    done.append(ok(other, "echo $(echo $(echo unhindered))"))
    bombing.join()
    assert done == ["unhindered\n"]


def test_memory_is_limited(opened: Open) -> None:
    sandbox = opened(Limits(memory_bytes=300 << 20))
    assert sandbox.run("python3 -c 'x = bytearray(600 << 20)'").returncode != 0
    many = "python3 -c \"import time; x = bytearray(b'x') * (120 << 20); time.sleep(20)\" & " * 4
    result = sandbox.run(f"{many} wait; echo survived", timeout=15)
    assert not result.timed_out
    assert "survived" not in result.output
    assert "memory" in result.output
    assert ok(sandbox, "echo alive") == "alive\n"


def test_a_full_disk_is_contained(opened: Open) -> None:
    sandbox = opened(Limits(file_bytes=2 << 20, disk_bytes=64 << 20))
    result = sandbox.run("head -c 8000000 /dev/zero > big")
    assert result.returncode != 0
    assert len(sandbox.read("/testbed/big")) == 2 << 20
    result = sandbox.run("i=0; while :; do head -c 1000000 /dev/zero > f$i; i=$((i+1)); done", timeout=30)
    assert not result.timed_out
    assert "disk" in result.output
    assert ok(sandbox, "rm -f f*; echo alive") == "alive\n"
    assert ok(sandbox, "sleep 0.5; echo alive") == "alive\n"


def test_what_vanishes_is_a_typed_error(opened: Open, backend: str) -> None:
    sandbox = opened()
    saved = sandbox.snapshot()
    remove_behind_the_back(sandbox)
    for act in (lambda: sandbox.run("true"), sandbox.snapshot, sandbox.diff, lambda: sandbox.restore(saved)):
        with pytest.raises(SandboxLost):
            act()
    sandbox.close()


def test_a_launcher_that_is_killed_is_replaced(opened: Open, backend: str) -> None:
    if backend == "docker":
        pytest.skip("containers have no launcher")
    sandbox = opened()
    ok(sandbox, "echo kept > new")
    killing = threading.Timer(0.5, isolation._launcher()._process.kill)
    killing.start()
    with pytest.raises(SandboxError, match="launcher"):
        sandbox.run("sleep 20")
    killing.join()
    assert ok(sandbox, "cat new; pgrep sleep || echo none") == "kept\nnone\n"


def test_extra_files_can_be_read_only(backend: str, image: Image, tmp_path: Path) -> None:
    if not isinstance(image, FolderImage):
        pytest.skip("written for folders")
    tmp_path.chmod(0o755)
    (tmp_path / "tool").write_text("tool\n")
    extended = FolderImage(image.root, workdir="/src/project", env={"A": "1"}, mounts={"/extra/tools": tmp_path})
    with open_sandbox(extended, backend) as sandbox:
        assert ok(sandbox, "cat /extra/tools/tool; pwd; echo $A; cat a.txt") == "tool\n/src/project\n1\nalpha\n"
        assert sandbox.run("echo x >> /extra/tools/tool").returncode != 0


def test_extra_folders_do_not_bring_secrets_in(
    backend: str, image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not isinstance(image, FolderImage):
        pytest.skip("written for folders")
    for folder in (tmp_path, tmp_path / "data", tmp_path / "home/tools"):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        (folder / "file").write_text(folder.name)
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    mounts = {"/extra": tmp_path, "/extra/home/tools": tmp_path / "home/tools"}
    with open_sandbox(FolderImage(image.root, mounts=mounts), backend) as sandbox:
        assert ok(sandbox, "cd /extra; ls -A . data home") == ".:\ndata\nfile\nhome\n\ndata:\n\nhome:\n"


@pytest.mark.parametrize(
    "inside", ["/", "relative", "/a/../b", "/tmp/x", "/home/agent", "/home", "/testbed/x", "/proc"]
)
def test_places_that_are_taken(inside: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inside a sandbox"):
        FolderImage(tmp_path, mounts={inside: tmp_path})
    if not inside.startswith("/testbed"):
        with pytest.raises(ValueError, match="inside a sandbox"):
            FolderImage(tmp_path, workdir=inside)
