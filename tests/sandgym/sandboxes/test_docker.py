"""What only the docker backend does: images of an engine, their layers, and what the engine refuses."""

import contextlib
import hashlib
import io
import json
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import rootfs_of_tests as rootfs
from views import GIT, images_of_this_process, listing, ok, reason_against

from sandgym.core import SandboxError
from sandgym.sandboxes import DockerImage, FolderImage, Sandbox, SandboxLost, choose, dockerised, engine, open_sandbox
from sandgym.sandboxes.reaper import owner_label
from sandgym.sandboxes.written import Reader


@pytest.fixture(scope="module", autouse=True)
def working() -> None:
    if (reason := reason_against("docker")) != "ok":
        pytest.skip(f"the docker backend does not work here: {reason}")


@pytest.fixture(scope="module")
def own(repository: Path) -> Iterator[DockerImage]:
    """An image as published ones are: everything belongs to root, the repository is in /testbed."""
    name = rootfs.build("sandgym-tests-own", {"/etc/locale.gen": "# none\n"}, {"/testbed": repository})
    yield DockerImage(name, env={"GIVEN": "yes"})
    with contextlib.suppress(Exception):
        engine.api().remove_image(name, force=True)


@pytest.fixture
def sandbox(own: DockerImage) -> Iterator[Sandbox]:
    with open_sandbox(own) as opened:
        yield opened


@pytest.fixture
def folder(repository: Path) -> Iterator[Sandbox]:
    with open_sandbox(FolderImage(repository), "docker") as opened:
        yield opened


def test_an_image_goes_to_the_engine_and_a_folder_only_when_that_is_asked_for(
    own: DockerImage, repository: Path, sandbox: Sandbox
) -> None:
    assert sandbox.backend == "docker"
    assert ok(sandbox, "id -u; pwd; echo $IMAGE $GIVEN $HOME; cat a.txt") == "0\n/testbed\nown yes /root\nalpha\n"
    with pytest.raises(SandboxError, match="needs the docker backend"):
        open_sandbox(own, "overlay")
    if reason_against("copy") == "ok":
        with open_sandbox(FolderImage(repository)) as other:
            assert other.backend != "docker"


def test_root_inside_may_change_the_image_and_nothing_else(sandbox: Sandbox) -> None:
    ok(sandbox, "echo de_DE >> /etc/locale.gen; touch /usr/bin/mark; chown 12:12 a.txt; chmod 4755 /usr/bin/mark")
    assert not Path("/usr/bin/mark").exists()
    refused = ("mount -t tmpfs none /mnt", "chroot / true", "unshare -U true", "ls /proc/1/root/", "cat /proc/1/mem")
    forged = ("kill -9 1; echo 0 > /proc/1/fd/1", "echo 0 > /proc/1/fd/0", "cat /proc/1/environ /proc/1/maps")
    for command in (*refused, *forged):
        assert sandbox.run(command).returncode != 0, command
    assert sandbox.run("echo 1 > /proc/sys/kernel/panic; touch /sys/mark /run/sandgym/mark").returncode != 0
    words = ok(sandbox, "grep -h -E '^Cap(Prm|Eff|Bnd)' /proc/self/status | cut -f2 | sort -u").split()
    assert words == [f"{sum(1 << each for each in (0, 1, 3, 4, 5, 6, 7, 10)):016x}"]
    ok(sandbox, "echo '127.0.0.1 elsewhere' >> /etc/hosts; echo left > /dev/shm/left")
    assert ok(sandbox, "grep -c elsewhere /etc/hosts; ls /dev/shm || true") == "0\n"  # which are in no snapshot


EVERYTHING = "find / -xdev -path /run -prune -o -type f ! -path '/etc/host*' ! -path /etc/resolv.conf -print0"


def test_the_whole_file_system_comes_back(sandbox: Sandbox) -> None:
    hashes = f"{EVERYTHING} | sort -z | xargs -0 sha256sum | sha256sum"
    start, fresh = sandbox.snapshot(), ok(sandbox, hashes)
    assert start.bytes == 0
    ok(sandbox, "echo x >> /etc/locale.gen; rm -r /usr/local/lib/*/json; mkdir -p /opt/new; echo n > /opt/new/f")
    ok(sandbox, "echo edited > a.txt; rm -r package; ln -s /etc here; mkfifo pipe; chmod 700 /tmp; echo t > /tmp/t")
    ok(sandbox, f"{GIT} add -A 2>/dev/null; printf o > $'odd\\xff name'; export A=b; cd /opt/new")
    before, saved = ok(sandbox, hashes), sandbox.snapshot()
    diff = sandbox.diff()
    assert diff["/etc/locale.gen"] == diff["/testbed/a.txt"] == diff["/tmp"] == "changed"
    assert diff["/opt/new/f"] == diff["/tmp/t"] == diff["/testbed/odd\udcff name"] == "added"
    assert diff["/testbed/package/deep/er/leaf.txt"] == "deleted"
    gone = {path for path in diff if diff[path] == "deleted" and "/json" in path}
    assert any(path.endswith("json/decoder.py") for path in gone)
    ok(sandbox, "rm -rf /opt/new /testbed /usr/local/lib /etc/passwd; mkdir /testbed; echo own > /testbed/own")
    sandbox.restore(saved)
    assert (ok(sandbox, hashes), sandbox.cwd, sandbox.variables["A"]) == (before, "/opt/new", "b")
    assert sandbox.diff() == diff
    assert sandbox.snapshot() == saved
    sandbox.restore(start)
    assert ok(sandbox, hashes) == fresh
    assert sandbox.diff() == {}


def test_a_sandbox_outlives_its_own_python_and_shell(sandbox: Sandbox) -> None:
    ok(sandbox, "rm -rf /usr/local /lib64 /lib /usr/lib /usr/bin/bash")
    saved = sandbox.snapshot()
    with open_sandbox(sandbox.image) as other:
        other.restore(saved)
        assert other.run("true").returncode == 126
        assert other.diff()["/usr/bin/bash"] == "deleted"


def test_chains_are_flattened(folder: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dockerised, "MOST_LAYERS", 4)
    ok(
        folder,
        "mkfifo pipe; ln -s nowhere l; mkdir -m 751 d; echo 1 > d/f; chmod 640 d/f; head -c 300000 /dev/zero > z",
    )
    layers, first = [], folder.snapshot()
    for number in range(9):
        ok(folder, f"echo {number} > n; rm -rf package/deep b.txt t{number - 1}; mkdir t{number}; echo > t{number}/f")
        ok(folder, f"rm -rf d{number % 2}; mkdir -p d{number % 2}/e; printf '{number}' > $'d{number % 2}/\\xfe'")
        facts, saved = listing(folder), folder.snapshot()
        folder.write("/testbed/scratch", b"")
        folder.restore(saved)
        assert listing(folder) == facts
        assert folder.snapshot() == saved
        image = engine.api().inspect_image(saved.stored.id)  # type: ignore[attr-defined]
        layers.append(len(image["RootFS"]["Layers"]))
    assert max(layers) == 4
    assert layers.count(2) >= 2
    assert folder.diff()["/testbed/package/deep/er/leaf.txt"] == "deleted"
    folder.restore(first)
    assert ok(folder, "stat -c '%a %F' pipe l d d/f | sort; cat package/deep/er/leaf.txt").endswith("leaf\n")


def test_a_snapshot_of_nothing_new_is_no_new_image(folder: Sandbox) -> None:
    ok(folder, "echo 1 > new")
    folder.snapshot()
    ok(folder, "sleep 0.1; cat new")
    count, saved = images_of_this_process(), folder.snapshot()
    ok(folder, "cat new; ls -la")
    assert folder.snapshot() == saved
    assert images_of_this_process() <= count + 1


@pytest.mark.parametrize("way", ["helper", "engine"])
def test_a_layer_is_read_alike_whoever_reads_it(folder: Sandbox, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = (
        "rm -r package; mkdir package; echo x > package/y; echo z > $'\\xff'; rm b.txt; chmod 600 a.txt; mv .git g"
    )
    ok(folder, commands)
    expected = folder.changes()
    if way == "helper":
        monkeypatch.setattr(Reader, "_is_here", lambda *_: False)
    else:
        monkeypatch.setattr(Reader, "_upper", lambda *_: None)
    with open_sandbox(folder.image, "docker") as other:
        ok(other, commands)
        assert other.changes() == expected
        assert len(expected) > 20


def test_everything_is_labelled_and_removed_when_the_process_is_killed(repository: Path) -> None:
    script = f"""
import pathlib, sys
from sandgym.sandboxes import *
from sandgym.sandboxes.reaper import owner_label
sandboxes = [open_sandbox(FolderImage(pathlib.Path({str(repository)!r})), "docker") for _ in range(2)]
for sandbox in sandboxes:
    sandbox.run("echo x > new"); sandbox.kept = sandbox.snapshot(); sandbox.restore(sandbox.kept)
    sandbox.run("echo y > new"); sandbox.later = sandbox.snapshot()
print(owner_label(), flush=True)
sandboxes[0].run("sleep 50")
"""
    client = engine.api()
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        label = killed.stdout.readline().strip()
        chosen = {"label": f"{engine.OWNER}={label}"}
        assert len(client.containers(filters=chosen)) == 2
        count = len(client.images(all=True, filters=chosen))
        assert count >= 5  # the folder, twice two snapshots; and what was tried at first
        assert not [line for line in choose.clean() if "image" in line]  # it lives
        killed.kill()
    mine = images_of_this_process()
    removed = choose.clean()
    assert len([line for line in removed if line.startswith("image ")]) == count
    assert client.images(all=True, filters=chosen) == client.containers(all=True, filters=chosen) == []
    assert images_of_this_process() == mine
    assert label != owner_label()


def test_a_vanished_image_is_a_typed_error(folder: Sandbox) -> None:
    ok(folder, "echo 1 > new")
    saved = folder.snapshot()
    ok(folder, "echo 2 > new")
    engine.api().remove_image(saved.stored.id, force=True)  # type: ignore[attr-defined]
    with pytest.raises(SandboxLost, match="gone"):
        folder.restore(saved)
    assert ok(folder, "cat new") == "2\n"


def test_an_interrupted_command_ends_its_sandbox(folder: Sandbox) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            folder.run("sleep 20; echo late")
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(SandboxLost, match="closed"):
        folder.run("echo next")


def test_without_an_engine(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(engine.EngineUnavailable, match="no Docker engine answers"):
        engine.api()
    with pytest.raises(engine.EngineUnavailable):
        dockerised.DockerSandbox(DockerImage("any"))
    assert choose.clean() == []


class Registry(BaseHTTPRequestHandler):
    """A registry that has an image for another processor, and is tired of ``busy``."""

    asked: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.asked.append(self.path)
        kind = self.path.split("/")[2] if self.path.startswith("/v2/") else ""
        manifests = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.docker.distribution.manifest.list.v2+json",
            "manifests": [{"mediaType": "application/vnd.docker.distribution.manifest.v2+json", "size": 2,
                           "digest": f"sha256:{0:064}", "platform": {"architecture": "mips", "os": "linux"}}],
        }  # fmt: skip
        code, body = {
            "": (200, {}),
            "busy": (
                429,
                {"errors": [{"code": "TOOMANYREQUESTS", "message": "the pull rate limit is reached"}]},
            ),
            "other": (200, manifests),
        }.get(kind, (404, {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}))
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", str(manifests["mediaType"]) if kind == "other" else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data if self.command == "GET" else b"")

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def registry() -> Iterator[str]:
    Registry.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("name", "error", "tries"),
    [("none", engine.ImageMissing, 1), ("busy", engine.RateLimited, 3), ("other", engine.WrongArchitecture, 1)],
)
def test_images_that_cannot_be_had(
    registry: str, name: str, error: type[SandboxError], tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PAUSES", (0.01, 0.02))
    pauses: list[float] = []
    monkeypatch.setattr(engine.time, "sleep", pauses.append)
    with pytest.raises(error, match=name):
        open_sandbox(DockerImage(f"{registry}/{name}/image:latest"))
    assert pauses == [0.01, 0.02][: tries - 1]
    assert any(f"/v2/{name}/" in path for path in Registry.asked)


def archive(**files: bytes) -> bytes:
    """A tar archive of executable files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name.replace("__", "."))
            member.mode, member.size = 0o755, len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def test_an_image_of_another_processor() -> None:
    client = engine.api()
    other = "s390x" if client.version()["Arch"] != "s390x" else "amd64"
    layer = archive(bash=b"\x7fELF\x02\x01\x01" + bytes(57))
    layers = {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]}
    config = json.dumps({"architecture": other, "os": "linux", "config": {"Env": ["PATH=/"]}, "rootfs": layers})
    name = "sandgym-tests-foreign:latest"
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}])
    client.load_image(archive(manifest__json=manifest.encode(), config__json=config.encode(), layer__tar=layer))
    try:
        with pytest.raises(engine.WrongArchitecture, match=other):
            open_sandbox(DockerImage(name))
    finally:
        client.remove_image(name, force=True)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("toomanyrequests: You have reached your pull rate limit.", engine.RateLimited),
        ("write /var/lib/docker/tmp/x: no space left on device", engine.DiskFull),
        ("no matching manifest for linux/arm64/v8 in the manifest list entries", engine.WrongArchitecture),
        ("pull access denied for x, repository does not exist or may require 'docker login'", engine.ImageMissing),
        ("something else", SandboxError),
    ],
)
def test_what_the_engine_says_has_a_type(said: str, error: type[SandboxError]) -> None:
    assert type(engine.refusal(said)) is error


def test_images_that_cannot_be_used() -> None:
    name = rootfs.build("sandgym-tests-volume", volume="/data")
    try:
        with pytest.raises(SandboxError, match="declares volumes"):
            open_sandbox(DockerImage(name))
    finally:
        engine.api().remove_image(name, force=True)
