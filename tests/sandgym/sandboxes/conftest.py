"""Every test of this folder that takes ``backend`` runs on every backend that works here."""

import functools
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandgym.sandboxes import FolderImage, Image, Limits, Sandbox, available, open_sandbox
from sandgym.sandboxes.choose import BACKENDS

FILES = {
    "a.txt": "alpha\n",
    "b.txt": "beta\n",
    "package/__init__.py": "",
    "package/code.py": "def f():\n    return 1\n",
    "package/deep/er/leaf.txt": "leaf\n",
    "run.sh": "#!/bin/sh\necho ran\n",
    ".gitignore": "*.log\n",
}
GIT = "git -c user.name=t -c user.email=t@example.org -c init.defaultBranch=main"

Open = Callable[..., Sandbox]


@functools.cache
def reason_against(backend: str) -> str:
    return available()[backend]


@pytest.fixture(scope="session", autouse=True)
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Sandboxes of the tests are kept apart from the user's."""
    before = os.environ.get("SANDGYM_SANDBOXES")
    folder = tmp_path_factory.mktemp("sandboxes")
    os.environ["SANDGYM_SANDBOXES"] = str(folder)
    yield folder
    del os.environ["SANDGYM_SANDBOXES"]
    if before is not None:
        os.environ["SANDGYM_SANDBOXES"] = before


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small repository with one commit, a link, an empty folder and an executable."""
    folder = tmp_path_factory.mktemp("repository")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("a.txt")
    subprocess.run(f"{GIT} init -q && {GIT} add -A && {GIT} commit -qm first", shell=True, cwd=folder, check=True)
    (folder / "hollow").mkdir()
    return folder


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if (reason := reason_against(name)) != "ok":
        pytest.skip(f"the {name} backend does not work here: {reason}")
    return name


@pytest.fixture
def image(backend: str, repository: Path) -> Image:
    if backend == "docker":
        pytest.skip("no image of the test repository has been built for the docker backend")
    return FolderImage(repository)


@pytest.fixture
def opened(backend: str, image: Image) -> Iterator[Open]:
    """Opens sandboxes of the test repository, and closes them in the end."""
    sandboxes: list[Sandbox] = []

    def make(limits: Limits | None = None, **options: object) -> Sandbox:
        sandboxes.append(open_sandbox(image, backend, limits, **options))  # type: ignore[arg-type]
        return sandboxes[-1]

    yield make
    for sandbox in sandboxes:
        sandbox.close()


@pytest.fixture
def sandbox(opened: Open) -> Sandbox:
    return opened()


def listing(sandbox: Sandbox) -> str:
    """Everything that can be written to, as the sandbox itself lists it."""
    facts = sandbox.run(
        "find /testbed /home/agent /tmp -printf '%p %y %m %l\\n' | sort;"
        "find /testbed /home/agent /tmp -type f -exec sha256sum {} + | sort -k2"
    )
    assert facts.returncode == 0, facts.output
    return facts.output


def ok(sandbox: Sandbox, command: str) -> str:
    """Output of a command that succeeds."""
    result = sandbox.run(command)
    assert result.returncode == 0, result.output
    return result.output
