"""What an agent did to a repository, as a patch; and patches applied.

Invariant: a patch holds everything in the working tree that differs from its start, whatever
was done to the index, to the history or to ``.git`` itself, except ignored files; it is made by
the Git of a sandbox that the agent never touched, and applies to the start byte for byte.
"""

from __future__ import annotations

import io
import os
import posixpath
import shlex
import tarfile
from collections.abc import Iterable, Mapping

from sandgym.core import SandboxError
from sandgym.sandboxes import Sandbox
from sandgym.sandboxes.base import Entry
from sandgym.sandboxes.paths import within

FOLDER = "/tmp/.sandgym"  # of the files that graders exchange with a sandbox
MOST_BYTES = 64 << 20
_SECONDS = 300.0
_PROLOGUE = f"""
set -euo pipefail
cd "$1"
exec 3>&1
git() {{
  command git -c core.autocrlf=false -c core.eol=lf -c core.fileMode=true -c core.symlinks=true \\
    -c core.excludesFile=/dev/null -c core.quotePath=true -c diff.suppressBlankEmpty=false "$@"
}}
export GIT_LITERAL_PATHSPECS=1 GIT_OPTIONAL_LOCKS=0 GIT_INDEX_FILE={FOLDER}/index
attributes=$(git rev-parse --git-path info/attributes)
mkdir -p "$(dirname "$attributes")"
[ ! -e "$attributes" ] || mv "$attributes" {FOLDER}/attributes
trap 'rm -f "$attributes"; [ ! -e {FOLDER}/attributes ] || mv {FOLDER}/attributes "$attributes"' EXIT
printf '* -text -filter -ident -working-tree-encoding\\n' >"$attributes"
"""
_START = f"""
git read-tree HEAD
while IFS= read -r -d '' path; do
  if [ -f "$path" ] || [ -L "$path" ]; then printf '%s\\0' "$path"; fi
done <{FOLDER}/touched >{FOLDER}/before
git update-index --add -z --stdin <{FOLDER}/before
git write-tree >{FOLDER}/start
tar -xpf {FOLDER}/ignores.tar
git check-ignore -z --stdin <{FOLDER}/touched >{FOLDER}/ignored || true
"""
_END = f"""
xargs -0 -r rm -rf -- <{FOLDER}/touched
while IFS= read -r -d '' path; do [ ! -L "$path" ] || rm -f "$path"; mkdir -p "$path"; done <{FOLDER}/folders
tar -xpf {FOLDER}/left.tar
git update-index --force-remove -z --stdin <{FOLDER}/gone
git update-index --add --replace -z --stdin <{FOLDER}/present
git diff --binary --full-index --no-color --no-ext-diff --no-textconv --no-renames --src-prefix=a/ --dst-prefix=b/ \\
  "$(cat {FOLDER}/start)" "$(git write-tree)" >{FOLDER}/patch
"""
_APPLY = f"command git -c core.autocrlf=false apply --whitespace=nowarn {FOLDER}/patch"


class PatchError(ValueError):
    """A patch is too large or does not apply: the fault of who wrote it, not of this machine."""


def repository_changes(sandbox: Sandbox) -> dict[str, Entry | None]:
    """What differs from the image in the working tree, by path in the repository; without any ``.git``."""
    top = sandbox.image.workdir
    changes = {path[len(top) + 1 :]: entry for path, entry in sandbox.changes().items() if within(path, top)}
    return {path: entry for path, entry in changes.items() if path and ".git" not in path.split("/")}


def agent_patch(agent: Sandbox, clean: Sandbox) -> bytes:
    """The agent's work as a Git patch; empty when there is none.

    Args:
        agent: where the agent worked; it is only read.
        clean: a sandbox of the same image at the start of the episode; it is changed.

    Raises:
        PatchError: there are more than ``MOST_BYTES`` of it.
        SandboxError: the sandbox failed.
    """
    changes = {path: entry for path, entry in repository_changes(agent).items() if not _is(entry, "fifo")}
    folders = [path for path, entry in changes.items() if _is(entry, "folder")]
    touched = {path: entry for path, entry in changes.items() if path not in folders}
    if not touched:
        return b""
    ignores = [path for path, entry in touched.items() if _is(entry, "file") and posixpath.basename(path) == _IGNORE]
    _put(clean, "touched", _list(touched))
    _put(clean, "ignores.tar", _archive(agent, {path: touched[path] for path in ignores}))
    run_script(clean, _PROLOGUE + _START)
    ignored = set(os.fsdecode(clean.read(f"{FOLDER}/ignored")).split("\0"))
    kept = {path: entry for path, entry in touched.items() if path not in ignored or path in ignores}
    needed = {posixpath.dirname(path) for path, entry in kept.items() if entry is not None}
    _put(clean, "touched", _list(kept))
    _put(clean, "folders", _list(path for path in folders if any(within(each, path) for each in needed)))
    _put(clean, "gone", _list(path for path, entry in kept.items() if entry is None))
    _put(clean, "present", _list(path for path, entry in kept.items() if entry is not None and path not in ignored))
    _put(clean, "left.tar", _archive(agent, kept))
    run_script(clean, _PROLOGUE + _END)
    return clean.read(f"{FOLDER}/patch")


_IGNORE = ".gitignore"


def apply_patch(sandbox: Sandbox, patch: bytes) -> None:
    """Apply a patch to the working tree; the index is not touched.

    Raises:
        PatchError: it does not apply; then nothing is changed.
    """
    if not patch.strip():
        return
    _put(sandbox, "patch", patch)
    try:
        run_script(sandbox, _PROLOGUE + _APPLY)
    except SandboxError as error:
        raise PatchError(f"the patch does not apply: {error}") from error


def run_script(sandbox: Sandbox, script: str, timeout: float = _SECONDS, argument: str = "") -> str:
    """Run a script of the grader; returns its output. Working folder and variables stay.

    Args:
        sandbox: where.
        script: for bash; ``$1`` is the repository.
        timeout: in seconds.
        argument: ``$2``.

    Raises:
        SandboxError: it failed.
    """
    words = ("bash", "-c", script, "grader", sandbox.image.workdir, argument)
    result = sandbox.run(shlex.join(words), timeout)
    if result.timed_out or result.returncode != 0:
        what = "took too long" if result.timed_out else f"ended with {result.returncode}"
        raise SandboxError(f"a command of the grader {what}: {result.output.strip()[-2000:]}")
    return result.output


def _put(sandbox: Sandbox, name: str, data: bytes) -> None:
    sandbox.write(f"{FOLDER}/{name}", data)


def _is(entry: Entry | None, kind: str) -> bool:
    return entry is not None and entry.kind == kind


def _list(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))


def _archive(sandbox: Sandbox, entries: Mapping[str, Entry | None]) -> bytes:
    """A tar archive of files and links."""
    total = sum(entry.size for entry in entries.values() if entry is not None)
    if total > MOST_BYTES:
        raise PatchError(f"the change has {total} bytes, of at most {MOST_BYTES}; remove or ignore what is generated")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, entry in sorted(entries.items()):
            if entry is None:
                continue
            member = tarfile.TarInfo(path)
            if entry.kind == "link":
                member.type, member.linkname = tarfile.SYMTYPE, entry.content
                tar.addfile(member)
            else:
                data = sandbox.read(f"{sandbox.image.workdir}/{path}")
                member.size, member.mode = len(data), entry.mode | 0o600
                tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()
