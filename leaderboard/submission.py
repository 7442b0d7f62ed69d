"""A submission's folder: what may be in it, and ``submission.yaml`` read without trust.

Invariant: only three regular files of bounded size are read, YAML is plain data without tags, anchors
and repeated keys, and nothing is written.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from leaderboard import panels, tracks
from leaderboard.problems import SubmissionError, shown
from leaderboard.records import MAX_FILE, Limits, lines, read_bytes
from leaderboard.schema import PanelPin, Submission
from sandgym.panels import Panel

DESCRIPTION, EPISODES, README = "submission.yaml", "episodes.jsonl.gz", "README.md"
MAX_DESCRIPTION, MAX_README = 2**16, 2**16
_MAX_DEPTH = 16
_WIDTH = 110  # columns of the YAML that is written


@dataclass(frozen=True)
class Folder:
    """A submission that has been read and not verified yet.

    Attributes:
        path: of the folder.
        submission: what it says.
        panel: that it names, whose hashes it has.
        episodes: content of its file of episodes.
        readme: content of its README.
    """

    path: Path
    submission: Submission
    panel: Panel
    episodes: bytes
    readme: bytes

    @property
    def limits(self) -> Limits:
        """What its file of episodes can hold."""
        return Limits.of(self.panel, len(self.submission.runs) * self.submission.sampling.samples)

    def lines(self) -> Iterator[bytes]:
        """Lines of its file of episodes; raises ``SubmissionError`` as ``records.lines`` does."""
        return lines(self.episodes, self.limits)

    def expected(self) -> Iterator[tuple[str, int, int, int]]:
        """Task, its place in the panel, seed and sample of every episode, in the order of the file."""
        for run in self.submission.runs:
            for sample in range(self.submission.sampling.samples):
                for place, task in enumerate(self.panel.task_ids):
                    yield task, place, run.evaluation_seed, sample


def read(path: Path) -> Folder:
    """Read a submission and check everything that needs no replay.

    Raises:
        SubmissionError: what is wrong.
    """
    _check_members(path)
    text = read_bytes(path / DESCRIPTION, MAX_DESCRIPTION)
    submission = parse(text)
    episodes = read_bytes(path / EPISODES, MAX_FILE)
    readme = read_bytes(path / README, MAX_README)
    panel = _panel(submission.panel)
    if hashlib.sha256(episodes).hexdigest() != submission.episodes_sha256:
        raise SubmissionError(f"{EPISODES} is not the file whose hash {DESCRIPTION} gives")
    folder = Folder(path, submission, panel, episodes, readme)
    if submission.claims.episodes != folder.limits.episodes:
        raise SubmissionError(
            f"claims.episodes is {submission.claims.episodes}; {len(submission.runs)} runs of "
            f"{submission.sampling.samples} samples on {len(panel.task_ids)} tasks are {folder.limits.episodes}"
        )
    if problem := tracks.problem(submission):
        raise SubmissionError(problem)
    return folder


def parse(text: bytes) -> Submission:
    """What ``submission.yaml`` says.

    Raises:
        SubmissionError: it is not plain YAML, or does not follow the schema.
    """
    try:
        decoded = text.decode("utf-8")
        _check_plain(decoded)
        document = yaml.safe_load(decoded)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise SubmissionError(f"{DESCRIPTION} is not plain YAML: {shown(' '.join(str(error).split()))}") from None
    try:
        return Submission.model_validate(document)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False)[:20]
        told = (f"{DESCRIPTION}: {shown('.'.join(map(str, p['loc'])) or 'document')}: {p['msg']}" for p in problems)
        raise SubmissionError(*map(shown, told)) from None
    except RecursionError:
        raise SubmissionError(f"{DESCRIPTION} is nested too deeply") from None


def pin(panel: Panel) -> PanelPin:
    """What a submission says of a panel."""
    return PanelPin(**{name: getattr(panel, name) for name in PanelPin.model_fields})


def dump(submission: Submission) -> bytes:
    """``submission.yaml`` of a submission."""
    text: str = yaml.safe_dump(submission.model_dump(), sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text.encode("utf-8")


def _panel(pinned: PanelPin) -> Panel:
    try:
        panel = panels.load(pinned.name)
    except LookupError as error:
        raise SubmissionError(shown(str(error))) from None
    for field in PanelPin.model_fields:
        told, fixed = getattr(pinned, field), getattr(panel, field)
        if told != fixed:
            raise SubmissionError(f"panel {panel.name} has {field} {fixed}, the submission {shown(told)}")
    return panel


def _check_members(path: Path) -> None:
    """Exactly the three files; a folder, a link or another name is refused."""
    if path.is_symlink() or not path.is_dir():
        raise SubmissionError(f"{shown(str(path))} is not a folder")
    found: set[str] = set()
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name not in (DESCRIPTION, EPISODES, README):
                raise SubmissionError(f"{shown(entry.name)} does not belong in a submission")
            if entry.is_symlink() or not entry.is_file(follow_symlinks=False):
                raise SubmissionError(f"{entry.name} is not a regular file")
            found.add(entry.name)
    if missing := {DESCRIPTION, EPISODES, README} - found:
        raise SubmissionError(f"{', '.join(sorted(missing))} is missing")


def _check_plain(text: str) -> None:
    """Refuse tags, anchors, depth, further documents and repeated keys, before anything is built from the text."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise ValueError("anchors and aliases are not allowed")
        if getattr(event, "tag", None) is not None:
            raise ValueError("tags are not allowed")
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH or documents > 1:
            raise ValueError("too deep, or more than one document")
    _check_keys(yaml.compose(text, Loader=yaml.SafeLoader))


def _check_keys(node: Any) -> None:
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value]
        if not all(isinstance(key, str) for key in keys) or len(set(keys)) != len(keys):
            raise ValueError("a key is there twice, or is no text")
        for _, value in node.value:
            _check_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for member in node.value:
            _check_keys(member)
