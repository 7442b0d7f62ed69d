"""From a row to the image that its sandboxes start from.

Invariant: what an agent can see of an image is the repository as it was at the base commit, and
programs; never a later state of the repository, this project's data or the row.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import posixpath
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sandgym.core import SandboxError, digest_of
from sandgym.sandboxes import DockerImage, FolderImage, Image, Sandbox
from sandgym.sandboxes.paths import within
from sandgym.swebench.patch import run_script
from sandgym.swebench.rows import Row

WORKDIR = "/testbed"
ENVIRONMENT = "/environment"  # where a Python environment appears
PYTHON = "/python"  # where this interpreter appears, when it is not among the system's programs
_LAYOUT = 1  # of Python environments
TEST_TOOLS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
_WHEN = "2000-01-01T00:00:00+0000"
_SECONDS = 946_684_800  # the same time, since 1970
_BASE = Path(sys.base_prefix).resolve()
_SYSTEM = ("/usr", "/opt", "/nix")  # seen in every sandbox of a folder
# Nothing may depend on the time, on the machine or on a terminal.
VARIABLES = {
    "GIT_AUTHOR_DATE": _WHEN,
    "GIT_AUTHOR_EMAIL": "agent@localhost",
    "GIT_AUTHOR_NAME": "agent",
    "GIT_COMMITTER_DATE": _WHEN,
    "GIT_COMMITTER_EMAIL": "agent@localhost",
    "GIT_COMMITTER_NAME": "agent",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "PAGER": "cat",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_PROGRESS_BAR": "off",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "TQDM_DISABLE": "1",
    "TZ": "UTC",
}
_CONDA = {
    "CONDA_DEFAULT_ENV": "testbed",
    "CONDA_PREFIX": "/opt/miniconda3/envs/testbed",
    "PATH": "/opt/miniconda3/envs/testbed/bin:/opt/miniconda3/condabin:/opt/miniconda3/bin:"
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}


class Images(Protocol):
    """Where images come from.

    Attributes:
        pristine: whether their repositories hold nothing but their base and what came before it.
    """

    pristine: bool

    def image(self, row: Row) -> Image:
        """The image of a row.

        Raises:
            SandboxError: there is none, with what to do.
        """


class DockerImages:
    """The published Docker images."""

    pristine = False

    def __init__(self) -> None:
        self._known: dict[str, DockerImage] = {}

    def image(self, row: Row) -> Image:
        """See ``Images``; the same object for the same name."""
        return self._known.setdefault(row.image_name, DockerImage(row.image_name, WORKDIR, VARIABLES | _CONDA))


class FolderImages:
    """Checkouts on this machine: a folder ``<instance id>`` for each row.

    A Python environment is in ``environment`` beside them (see ``make_environment``); where there is none,
    it is one with pytest alone.

    Args:
        folder: of the checkouts.
    """

    pristine = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, FolderImage] = {}

    def image(self, row: Row) -> Image:
        """See ``Images``; the same object for the same row."""
        if row.instance_id not in self._known:
            environment = self._folder / "environment"
            environment = environment if environment.is_dir() else test_environment()
            self._known[row.instance_id] = folder_image(self._checkout(row), environment)
        return self._known[row.instance_id]

    def _checkout(self, row: Row) -> Path:
        checkout = self._folder / row.instance_id
        if not (checkout / ".git").is_dir():
            raise SandboxError(f"there is no checkout of {row.instance_id} in {self._folder}")
        return checkout


class GeneratedImages(FolderImages):
    """Checkouts that are written when they are first needed.

    Args:
        folder: of the checkouts.
        materialise: writes the checkout of a row into a folder.
    """

    pristine = True

    def __init__(self, folder: Path, materialise: Callable[[Row, Path], object]) -> None:
        super().__init__(folder)
        self._materialise = materialise

    def _checkout(self, row: Row) -> Path:
        place = self._folder / f"{row.instance_id}-{row.hash[:12]}"
        return write_once(place, functools.partial(self._materialise, row))


def folder_image(checkout: Path, environment: Path) -> FolderImage:
    """The image of a checkout with a Python environment in which the checkout counts as installed."""
    mounts = {ENVIRONMENT: environment} | ({PYTHON: _BASE} if _interpreter().startswith(PYTHON) else {})
    variables = {
        **VARIABLES,
        "PATH": f"{ENVIRONMENT}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        **({"LD_LIBRARY_PATH": f"{ENVIRONMENT}/lib"} if _shared_library() else {}),
    }
    return FolderImage(checkout, WORKDIR, variables, mounts)


def _interpreter() -> str:
    """Where a sandbox finds this interpreter."""
    name = f"bin/python3.{sys.version_info.minor}"
    return f"{_BASE if any(within(str(_BASE), each) for each in _SYSTEM) else PYTHON}/{name}"


def _shared_library() -> Path | None:
    """The library that this interpreter would look for where it was installed, but a sandbox has it elsewhere."""
    if not sysconfig.get_config_var("Py_ENABLE_SHARED") or not _interpreter().startswith(PYTHON):
        return None
    return Path(str(sysconfig.get_config_var("LIBDIR")), str(sysconfig.get_config_var("INSTSONAME")))


def make_environment(folder: Path, fill: Callable[[Path], object]) -> Path:
    """A virtual environment for sandboxes: this interpreter, and the packages that ``fill`` puts into a folder.

    The checkout counts as installed in it, from its root or from ``src``.
    """

    def write(target: Path) -> None:
        programs = target / "bin"
        site = target / f"lib/python3.{sys.version_info.minor}/site-packages"
        for place in (programs, site):
            place.mkdir(parents=True)
        fill(site)
        interpreter = _interpreter()
        (target / "pyvenv.cfg").write_text(
            f"home = {posixpath.dirname(interpreter)}\ninclude-system-site-packages = false\n"
        )
        (site / "checkout.pth").write_text(f"{WORKDIR}\n{WORKDIR}/src\n")
        for name in ("python", "python3"):
            (programs / name).symlink_to(interpreter)
        if (library := _shared_library()) is not None:
            shutil.copy(library, target / "lib")
        script = programs / "pytest"
        script.write_text(f"#!{ENVIRONMENT}/bin/python\nimport sys\nimport pytest\n\nsys.exit(pytest.main())\n")
        script.chmod(0o755)
        compile_all = ("-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(site))
        subprocess.run((sys.executable, *compile_all), check=False, capture_output=True)

    return write_once(folder, write)


def test_environment() -> Path:
    """A Python environment with pytest, where that is installed here, and nothing else."""
    from sandgym.data import data_root

    present = {tool.metadata["Name"].lower(): tool for tool in importlib.metadata.distributions()}
    tools = [present[name] for name in TEST_TOOLS if name in present]
    key = digest_of(_LAYOUT, [f"{tool.metadata['Name']} {tool.version}" for tool in tools], sys.version, str(_BASE))[
        :12
    ]
    return make_environment(data_root() / "swebench" / f"environment-{key}", functools.partial(_copy, tools))


def _copy(tools: Sequence[importlib.metadata.Distribution], site: Path) -> None:
    for tool in tools:
        for file in tool.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                target = site / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), target)


def write_once(folder: Path, write: Callable[[Path], object]) -> Path:
    """A folder that is whole or not there, whoever else writes it at the same time.

    Raises:
        SandboxError: it cannot be written.
    """
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    except OSError as error:
        raise SandboxError(f"cannot write to {folder.parent}: {error}; set SANDGYM_DATA to another folder") from error
    try:
        write(temporary)
        temporary.chmod(0o755)
        with contextlib.suppress(OSError):  # another process was first
            os.rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def prepare_checkout(row: Row, source: Path, folder: Path) -> Path:
    """A checkout of a row's base, made from sources that already hold the solution.

    Its history is one commit, so that there is nothing to find in it.

    Args:
        row: the task.
        source: folder of the sources, such as an unpacked release.
        folder: where the checkout goes.

    Raises:
        SandboxError: the sources do not hold the row's patches.
    """

    def write(target: Path) -> None:
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        for what, patch in (("patch", row.patch), ("test patch", row.test_patch)):
            done = _git(target, "apply", "-R", "-", check=False, input=patch)
            if done.returncode:
                raise SandboxError(f"{source} does not hold the {what} of {row.instance_id}: {done.stderr.strip()}")
        commit_all(target, f"base of {row.instance_id}")

    return write_once(folder, write)


def commit_all(folder: Path, message: str) -> None:
    """Make a folder a repository of one commit, with equal hashes and times on every machine."""
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (_SECONDS, _SECONDS), follow_symlinks=False)
    _git(folder, "-c", "init.defaultBranch=main", "init", "--quiet", "--template=")
    for name, value in (("core.checkStat", "minimal"), ("core.trustctime", "false")):  # a copy is not a change
        _git(folder, "config", name, value)
    _git(folder, "-c", "core.looseCompression=0", "-c", "core.fsync=none", "add", "--all", "--force")
    _git(folder, "commit", "--quiet", "--no-verify", "--message", message)
    shutil.rmtree(folder / ".git" / "logs", ignore_errors=True)


def _git(
    folder: Path, *arguments: str, check: bool = True, input: str | None = None
) -> subprocess.CompletedProcess[str]:
    environment: Mapping[str, str] = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        **{name: value for name, value in VARIABLES.items() if name.startswith("GIT_")},
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    command: Sequence[str] = ("git", "-c", "core.autocrlf=false", *arguments)
    done = subprocess.run(
        command, cwd=folder, env=environment, input=input, capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        raise SandboxError(f"{' '.join(command[:4])} failed in {folder}: {done.stderr.strip()}")
    return done


_HIDE = """
set -euo pipefail
cd "$1"
unset GIT_OPTIONAL_LOCKS
base=$2
if git cat-file -e "$base^{commit}" 2>/dev/null; then
  head=$(git rev-parse HEAD HEAD^@)
  case "$head" in *"$(git rev-parse "$base")"*) ;; *) echo "HEAD is neither $base nor a child of it"; exit 3 ;; esac
fi
folder=$(git rev-parse --absolute-git-dir)
for remote in $(git remote); do git remote remove "$remote"; done
branch=$(git symbolic-ref -q HEAD || true)
git for-each-ref --format='%(refname)' | while read -r ref; do
  [ "$ref" = "$branch" ] || git update-ref --no-deref -d "$ref"
done
for each in "$folder"/* "$folder"/info/*; do
  case "${each#"$folder/"}" in
    HEAD | config | description | hooks | index | info | info/exclude | modules | objects | packed-refs | refs | shallow) ;;
    *) rm -rf "$each" ;;
  esac
done
count() { git cat-file --batch-all-objects --batch-check='%(objectname)' --unordered | sort -u | wc -l; }
if [ -e "$folder/objects/info/alternates" ] || [ "$(count)" != "$(git rev-list --objects HEAD | wc -l)" ]; then
  git repack -a -d -q
  rm -f "$folder/objects/info/alternates"
  git prune --expire=now
fi
git fsck --connectivity-only --no-dangling >/dev/null
"""


def hide_future(sandbox: Sandbox, base_commit: str) -> None:
    """Remove from a repository everything that its HEAD does not descend from.

    No remote, tag, other branch, reflog, stash, borrowed or unreachable object is left.

    Raises:
        SandboxError: HEAD is not the base commit or a child of it, or the repository is damaged.
    """
    run_script(sandbox, _HIDE, timeout=1800, argument=base_commit)
