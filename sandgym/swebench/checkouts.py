"""Repositories at their base: made from sources, and rid of their future.

Invariant: a repository that leaves this module holds its base and what came before, nothing else.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sandgym.core import SandboxError
from sandgym.sandboxes import Sandbox
from sandgym.swebench.patch import run_script
from sandgym.swebench.rows import Row
from sandgym.swebench.variables import SECONDS, VARIABLES

# All files go into one pack, which is quicker to write and to copy than a file for each.
_ONE_PACK = ("-c", "core.bigFileThreshold=1", "-c", "core.compression=1", "-c", "core.fsync=none")


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
        os.utime(path, (SECONDS, SECONDS), follow_symlinks=False)
    _git(folder, "-c", "init.defaultBranch=main", "init", "--quiet", "--template=")
    for name, value in (("core.checkStat", "minimal"), ("core.trustctime", "false")):  # a copy is not a change
        _git(folder, "config", name, value)
    _git(folder, *_ONE_PACK, "add", "--all", "--force")
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
    HEAD | config | description | hooks | index | info | info/exclude) ;;
    modules | objects | packed-refs | refs | shallow) ;;
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
