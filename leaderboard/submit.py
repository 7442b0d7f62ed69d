"""Making a submission from episodes, and putting one in its place.

Invariant: what is put in place has been verified, under a name made from its date and its method, and
nothing that is there is replaced.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from leaderboard import panels
from leaderboard.problems import SubmissionError, shown
from leaderboard.records import MAX_FILE, encode_all, read_bytes
from leaderboard.schema import (
    Claims,
    Code,
    Compute,
    Disclosure,
    Episode,
    Method,
    Model,
    Run,
    Sampling,
    Shown,
    Submission,
    hash_config,
)
from leaderboard.submission import DESCRIPTION, EPISODES, MAX_DESCRIPTION, README, Folder, dump, parse, pin
from leaderboard.verify import claimed
from sandgym.panels import Panel

CONTACT = "write here how to reach you"


@dataclass(frozen=True)
class Facts:
    """What a submission says besides its episodes; see ``schema.Submission``."""

    shown: Shown
    method: Method
    model: Model
    runs: tuple[Run, ...]
    sampling: Sampling
    track: str
    config: dict[str, Any] | None
    compute: Compute
    code: Code
    disclosure: Disclosure
    contact: str


def write(folder: Path, panel: Panel, facts: Facts, episodes: Sequence[Episode]) -> Submission:
    """Write a submission's folder, which must be empty or absent.

    Raises:
        FileExistsError: there is something in the folder.
        SubmissionError: there are too many or too long episodes.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty; choose another folder")
    content = encode_all(episodes)
    if len(content) > MAX_FILE:
        raise SubmissionError(f"the episodes take {len(content):,} bytes of {MAX_FILE:,}: submit fewer samples")
    success, score = claimed(*(np.array([getattr(e, key) for e in episodes], float) for key in ("success", "score")))
    submission = Submission.model_validate(
        {
            "version": 1,
            "panel": pin(panel),
            **vars(facts),
            "runs": list(facts.runs),
            "config_sha256": hash_config(facts.config),
            "claims": Claims(episodes=len(episodes), success=success, score=score),
            "episodes_sha256": hashlib.sha256(content).hexdigest(),
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / EPISODES).write_bytes(content)
    (folder / DESCRIPTION).write_bytes(dump(submission))
    (folder / README).write_text(_readme(submission), encoding="utf-8")
    return submission


def amend(path: Path, changes: dict[str, Any]) -> None:
    """Change what the ``submission.yaml`` of one's own submission says.

    Args:
        path: folder of the submission.
        changes: by key, the new values; none leaves a value as it is.

    Raises:
        SubmissionError: the file, or what would become of it, does not follow the schema.
    """
    document = parse(read_bytes(path / DESCRIPTION, MAX_DESCRIPTION)).model_dump()
    for key, value in changes.items():
        if isinstance(value, dict):
            document[key] |= {inner: new for inner, new in value.items() if new is not None}
        elif value is not None:
            document[key] = value
    try:
        changed = Submission.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise SubmissionError(f"{shown('.'.join(map(str, first['loc'])))}: {shown(first['msg'])}") from None
    (path / DESCRIPTION).write_bytes(dump(changed))


def place(folder: Folder, root: Path, date: datetime.date) -> Path:
    """Copy a submission that has been verified into a leaderboard.

    Args:
        folder: as it was read and verified; its files are not read again.
        root: folder of the leaderboard.
        date: under which it is listed.

    Returns:
        Its folder.

    Raises:
        SubmissionError: the contact is not filled in, or the method's name has no letter or digit.
        FileExistsError: there is a submission of this name.
    """
    submission = folder.submission
    if submission.contact == CONTACT:
        raise SubmissionError(f"{DESCRIPTION}: fill in contact; others will have questions")
    words = re.sub(r"[^a-z0-9]+", "-", submission.method.name.lower()).strip("-")[:64].strip("-")
    if not words:
        raise SubmissionError(f"{DESCRIPTION}: method.name needs letters or digits")
    target = root / "submissions" / panels.folder_of(folder.panel.name) / f"{date.isoformat()}-{words}"
    if target.exists():
        raise FileExistsError(f"{target} is there already; give the method another name")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
    try:
        temporary.chmod(0o755)
        (temporary / EPISODES).write_bytes(folder.episodes)
        (temporary / DESCRIPTION).write_bytes(dump(submission))
        (temporary / README).write_bytes(folder.readme)
        os.rename(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _readme(submission: Submission) -> str:
    """A first version of a submission's README, for its authors to go on from."""
    method, panel = submission.method, submission.panel
    return (
        f"# {method.name}\n\n{method.description or 'What the method does, in a few sentences.'}\n\n"
        f"Panel `{panel.name}`, {submission.claims.episodes} episodes. Verify them with\n\n"
        "```bash\nsandgym leaderboard verify THIS_FOLDER\n```\n"
    )
