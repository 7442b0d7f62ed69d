"""Every test of this folder that takes ``backend`` runs on every backend that works here."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from views import FILES, GIT, Open, reason_against

from sandgym.sandboxes import FolderImage, Image, Limits, Sandbox, open_sandbox
from sandgym.sandboxes.choose import BACKENDS


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
