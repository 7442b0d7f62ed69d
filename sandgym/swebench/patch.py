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
from sandgym.sandboxes.paths import within
from sandgym.sandboxes.snapshots import Entry

FOLDER = "/tmp/.sandgym"  # of the files that graders exchange with a sandbox
MOST_BYTES = 64 << 20
_SMALL = 1 << 20  # bytes that are sent without asking first whether they are ignored
_SECONDS = 300.0
_IGNORE = ".gitignore"
PROLOGUE = f"""
set -euo pipefail
cd "$1"
git() {{
  command git -c core.autocrlf=false -c core.eol=lf -c core.fileMode=true -c core.symlinks=true \\
    -c core.excludesFile=/dev/null "$@"
}}
export LC_ALL=C GIT_LITERAL_PATHSPECS=1 GIT_OPTIONAL_LOCKS=0 GIT_INDEX_FILE={FOLDER}/index
"""
# Files are taken and left byte for byte, whatever the repository's attributes say.
_BYTES = f"""
attributes=.git/info/attributes
[ -d .git/info ] || mkdir .git/info
[ ! -e "$attributes" ] || mv "$attributes" {FOLDER}/attributes
trap 'rm -f "$attributes"; [ ! -e {FOLDER}/attributes ] || mv {FOLDER}/attributes "$attributes"' EXIT
echo '* -text -filter -ident -working-tree-encoding' >"$attributes"
"""
# Git says which of the listed paths are ignored; a file that HEAD has never is.
_ASK = f"""
git read-tree HEAD
cp "$GIT_INDEX_FILE" {FOLDER}/head
ignored() {{
  sed -z 's#^#./#' "$1" | (
    unset GIT_LITERAL_PATHSPECS
    GIT_INDEX_FILE={FOLDER}/head git check-ignore -z --stdin || [ $? = 1 ]
  ) | sed -z 's#^\\./##'
}}
"""
_RULES = f"""
[ ! -s {FOLDER}/ignores.tar ] || tar -xpf {FOLDER}/ignores.tar
"""
_START = f"""
while IFS= read -r -d '' path; do
  if [ -f "$path" ] || [ -L "$path" ]; then printf '%s\\0' "$path"; fi
done <{FOLDER}/before >{FOLDER}/start
git update-index --add -z --stdin <{FOLDER}/start
start=$(git write-tree)
"""
_DIFF = f"""
ignored {FOLDER}/start >{FOLDER}/ignored
xargs -0 -r rm -rf -- <{FOLDER}/touched
while IFS= read -r -d '' path; do [ ! -L "$path" ] || rm -f "$path"; mkdir -p "$path"; done <{FOLDER}/folders
tar -xpf {FOLDER}/left.tar
ignored {FOLDER}/present >>{FOLDER}/ignored
sort -z -o {FOLDER}/ignored {FOLDER}/ignored
comm -z -23 {FOLDER}/gone {FOLDER}/ignored | git update-index --force-remove -z --stdin
comm -z -23 {FOLDER}/present {FOLDER}/ignored | git update-index --add --replace -z --stdin
end=$(git write-tree)
git diff --binary --full-index --no-color --no-ext-diff --no-textconv --no-renames --src-prefix=a/ --dst-prefix=b/ \\
  "$start" "$end" >{FOLDER}/patch
"""


class PatchError(ValueError):
    """A patch is too large or does not apply: the fault of who wrote it, not of this machine."""


class ScriptError(SandboxError):
    """A script of the grader ended with an error."""


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
    touched = {path: entry for path, entry in changes.items() if not _is(entry, "folder")}
    if not touched:
        return b""
    ignores = {path: entry for path, entry in touched.items() if posixpath.basename(path) == _IGNORE}
    _put(clean, "ignores.tar", _archive(agent, ignores) if any(ignores.values()) else b"")
    if _size(touched) > _SMALL:
        _put(clean, "present", _list(path for path, entry in touched.items() if entry is not None))
        saved = clean.snapshot()
        run_script(clean, PROLOGUE + _BYTES + _ASK + _RULES + f"ignored {FOLDER}/present >{FOLDER}/ignored || true")
        ignored = set(os.fsdecode(clean.read(f"{FOLDER}/ignored")).split("\0"))
        clean.restore(saved)
        touched = {path: entry for path, entry in touched.items() if path not in ignored}
    if (size := _size(touched)) > MOST_BYTES:
        raise PatchError(f"the change has {size} bytes, of at most {MOST_BYTES}; remove or ignore what is generated")
    needed = {posixpath.dirname(path) for path, entry in touched.items() if entry is not None}
    known = {path[len(agent.image.workdir) + 1 :] for path, how in agent.diff().items() if how != "added"}
    _put(clean, "touched", _list(touched))
    _put(clean, "before", _list(path for path in touched if path in known))
    _put(clean, "gone", _list(path for path, entry in touched.items() if entry is None))
    _put(clean, "present", _list(path for path, entry in touched.items() if entry is not None))
    _put(clean, "folders", _list(path for path in folders if any(within(each, path) for each in needed)))
    _put(clean, "left.tar", _archive(agent, touched))
    run_script(clean, PROLOGUE + _BYTES + _ASK + _START + _RULES + _DIFF)
    return clean.read(f"{FOLDER}/patch")


def applying(sandbox: Sandbox, patch: bytes) -> str:
    """The part of a script, after ``PROLOGUE``, that applies a patch to the working tree; the index is not touched."""
    if not patch.strip():
        return ""
    _put(sandbox, "patch", patch)
    return f"({_BYTES}\nunset GIT_INDEX_FILE\ngit apply --whitespace=nowarn {FOLDER}/patch\n)\n"


def run_script(sandbox: Sandbox, script: str, timeout: float = _SECONDS, argument: str = "") -> str:
    """Run a script of the grader; returns its output. Working folder and variables stay.

    Args:
        sandbox: where.
        script: for bash; ``$1`` is the repository.
        timeout: in seconds.
        argument: ``$2``.

    Raises:
        ScriptError: it ended with an error.
        SandboxError: it took too long, or the sandbox failed.
    """
    words = ("bash", "-c", script, "grader", sandbox.image.workdir, argument)
    result = sandbox.run(shlex.join(words), timeout)
    if result.timed_out:
        raise SandboxError("a script of the grader took too long")
    if result.returncode != 0:
        raise ScriptError(f"a script of the grader ended with {result.returncode}: {result.output.strip()[-2000:]}")
    return result.output


def _put(sandbox: Sandbox, name: str, data: bytes) -> None:
    sandbox.write(f"{FOLDER}/{name}", data)


def _is(entry: Entry | None, kind: str) -> bool:
    return entry is not None and entry.kind == kind


def _list(paths: Iterable[str]) -> bytes:
    return b"".join(path + b"\0" for path in sorted(map(os.fsencode, paths)))


def _size(entries: Mapping[str, Entry | None]) -> int:
    return sum(entry.size for entry in entries.values() if entry is not None)


def _archive(sandbox: Sandbox, entries: Mapping[str, Entry | None]) -> bytes:
    """A tar archive of files and links."""
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
