"""Unpacking one archive safely.

Invariant: the folder has its final name only when every file of it is there, and no
member of an archive, whatever it is called, is written outside.
"""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from sandgym.core import SandboxError
from sandgym.fetch import Progress, disk_error


def unpack(archive: Path, folder: Path, *, progress: Progress | None = None) -> None:
    """Put the folder of that name in a zip archive at ``folder``; other members are left out.

    Raises:
        SandboxError: the archive is damaged, unsafe or lacks the folder, or the disk is full.
    """
    temporary = folder.with_name(folder.name + ".part")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        with zipfile.ZipFile(archive) as opened:
            members = [member for member in opened.infolist() if _path(member, archive).parts[:1] == (folder.name,)]
            if not any(not member.is_dir() for member in members):
                raise _refusal(archive, f"it holds no folder {folder.name}")
            total = sum(member.file_size for member in members)
            free = shutil.disk_usage(folder.parent).free
            if total > free:
                raise SandboxError(
                    f"{archive.name} unpacks to {total:,} bytes and the disk of {folder.parent} has {free:,} free; "
                    "free space or set SANDGYM_DATA to a folder on another disk, and run the same command again"
                )
            _write(opened, members, temporary, f"{folder.name} (unpacking)", progress or (lambda *told: None))
        os.replace(temporary / folder.name, folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise _refusal(archive, str(error)) from error
    except OSError as error:
        raise disk_error(folder, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write(
    opened: zipfile.ZipFile, members: list[zipfile.ZipInfo], folder: Path, name: str, progress: Progress
) -> None:
    done, total = 0, sum(member.file_size for member in members)
    for member in members:
        target = folder / member.filename
        if member.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with opened.open(member) as packed, target.open("wb") as out:
            shutil.copyfileobj(packed, out)
        done += member.file_size
        progress(name, done, total)


def _path(member: zipfile.ZipInfo, archive: Path) -> PurePosixPath:
    """Path of a member, refused where it leads outside or is a link."""
    path = PurePosixPath(member.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in member.filename or ":" in member.filename:
        raise _refusal(archive, f"its member {member.filename!r} leads outside")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise _refusal(archive, f"its member {member.filename!r} is a link")
    return path


def _refusal(archive: Path, reason: str) -> SandboxError:
    return SandboxError(f"cannot unpack {archive}: {reason}; delete the file and download it again")
