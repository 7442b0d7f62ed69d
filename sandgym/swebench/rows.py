"""Rows of SWE-bench data sets, as their authors publish them and as this project writes them.

Invariant: a ``Row`` has every column that grading needs, whichever schema and file format it
came in; a file that lacks one is refused with the name of the column and of the row.
"""

from __future__ import annotations

import collections
import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sandgym.core import SandboxError, digest_of

FORMATS = (".json", ".jsonl", ".parquet")
REQUIRED = (
    *("repo", "instance_id", "base_commit", "patch", "test_patch", "problem_statement", "version"),
    *("FAIL_TO_PASS", "PASS_TO_PASS"),
)
OPTIONAL = (
    *("hints_text", "created_at", "environment_setup_commit"),
    *("difficulty", "eval_script", "log_parser", "eval_type", "image", "split"),
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One task.

    Attributes:
        instance_id: such as ``django__django-11790``.
        repo: such as ``django/django``.
        base_commit: the commit that the task starts from.
        version: of the repository, which selects its test command.
        problem_statement: the issue; the only text that an agent may see.
        patch: the reference solution. Hidden.
        test_patch: changes to the tests that decide. Hidden.
        fail_to_pass: tests that must pass and did not at the base. Hidden.
        pass_to_pass: tests that must still pass. Hidden.
        hints_text: comments on the issue. Hidden.
        created_at: when the change was proposed.
        environment_setup_commit: commit whose requirements the environment has.
        difficulty: as annotators judged it; new schema only.
        eval_script: shell script that runs the tests; new schema only.
        log_parser: name of what reads its output; new schema only.
        eval_type: new schema only.
        image: Docker image; new schema only.
        split: of this project's own data sets.
    """

    instance_id: str
    repo: str
    base_commit: str
    version: str
    problem_statement: str
    patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    hints_text: str = ""
    created_at: str = ""
    environment_setup_commit: str = ""
    difficulty: str = ""
    eval_script: str = ""
    log_parser: str = ""
    eval_type: str = ""
    image: str = ""
    split: str = ""

    @property
    def image_name(self) -> str:
        """Docker image of the row: its own, or the published name for its id."""
        if self.image:
            return self.image
        return f"swebench/sweb.eval.x86_64.{self.instance_id.replace('__', '_1776_')}:latest".lower()

    @property
    def hash(self) -> str:
        """SHA-256 (hexadecimal) of everything in the row."""
        return digest_of(self)


def row_of(record: Mapping[str, Any], where: str = "") -> Row:
    """The row of a record in either schema.

    Args:
        record: columns by name; unknown ones are ignored.
        where: of the record, for messages.

    Raises:
        SandboxError: a column is missing, or its value is of another type.
    """
    name = f"{where}{': ' if where else ''}row {record.get('instance_id', '?')!r}"
    if lacking := [column for column in REQUIRED if record.get(column) is None]:
        raise SandboxError(
            f"{name} has no column {', '.join(map(repr, lacking))}; its columns are {', '.join(sorted(record))}"
        )
    texts = {
        column: record[column]
        for column in (*REQUIRED, *OPTIONAL)
        if column not in ("FAIL_TO_PASS", "PASS_TO_PASS") and record.get(column) is not None
    }
    texts = {column: str(value) if column in ("created_at", "version") else value for column, value in texts.items()}
    if wrong := [column for column, value in texts.items() if not isinstance(value, str)]:
        raise SandboxError(f"{name}: column {wrong[0]!r} is {type(texts[wrong[0]]).__name__}, not text")
    return Row(
        **texts,
        fail_to_pass=_tests(record["FAIL_TO_PASS"], name, "FAIL_TO_PASS"),
        pass_to_pass=_tests(record["PASS_TO_PASS"], name, "PASS_TO_PASS"),
    )


def record_of(row: Row) -> dict[str, Any]:
    """A row as a record of the published schema, with the optional columns that it has."""
    values = dataclasses.asdict(row)
    lists = {"FAIL_TO_PASS": values.pop("fail_to_pass"), "PASS_TO_PASS": values.pop("pass_to_pass")}
    kept = {name: value for name, value in values.items() if value or name in REQUIRED}
    return kept | {name: json.dumps(value, ensure_ascii=False) for name, value in lists.items()}


def load_rows(path: Path) -> tuple[Row, ...]:
    """The rows of a .json, .jsonl or .parquet file, in its order.

    Raises:
        SandboxError: no such file, not one of these formats, damaged, or a row without a column that is
            needed or with the id of another.
    """
    if not path.is_file():
        raise SandboxError(f"there is no file {path}")
    if path.suffix not in FORMATS:
        raise SandboxError(f"{path} is not one of {', '.join(FORMATS)}")
    records = _parquet(path) if path.suffix == ".parquet" else _json(path)
    rows = tuple(row_of(record, f"{path.name} {number}") for number, record in enumerate(records))
    task_id, times = collections.Counter(row.instance_id for row in rows).most_common(1)[0] if rows else ("", 0)
    if times != 1:
        raise SandboxError(f"{path} has {task_id!r} {times} times" if times else f"{path} has no rows")
    return rows


def select(
    rows: Sequence[Row],
    ids: Iterable[str] | None = None,
    repos: Iterable[str] | None = None,
    difficulty: Iterable[str] | None = None,
) -> tuple[Row, ...]:
    """The rows that have one of the given values of each kind, in their own order.

    Raises:
        ValueError: a value that no row has, or nothing is left; the message lists what there is.
    """
    kept = tuple(rows)
    asked = (("id", "instance_id", ids), ("repo", "repo", repos), ("difficulty", "difficulty", difficulty))
    for what, attribute, wanted in asked:
        if wanted is None:
            continue
        values = {wanted} if isinstance(wanted, str) else set(wanted)
        known = sorted({getattr(row, attribute) for row in rows} - {""})
        if unknown := sorted(values - set(known)):
            listed = ", ".join(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
            raise ValueError(f"no task has {what} {', '.join(map(repr, unknown))}; known: {listed or 'none'}")
        kept = tuple(row for row in kept if getattr(row, attribute) in values)
    if not kept:
        raise ValueError("no task is left: none has all of the ids, repos and difficulties asked for")
    return kept


def _tests(value: Any, name: str, column: str) -> tuple[str, ...]:
    """A list of tests, which the published files hold as JSON text, as a list or as an array."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise SandboxError(f"{name}: column {column!r} is not a list of tests: {error}") from error
    tests = tuple(value) if isinstance(value, list | tuple) else (None,)
    if not all(isinstance(test, str) for test in tests):
        raise SandboxError(f"{name}: column {column!r} is not a list of tests")
    return tests


def _json(path: Path) -> list[Mapping[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            records = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            records = json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise SandboxError(f"{path} is damaged: {error}; get it again") from error
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise SandboxError(f"{path} is not a list of rows")
    return records


def _parquet(path: Path) -> list[Mapping[str, Any]]:
    try:
        import pyarrow  # type: ignore[import-untyped]
        from pyarrow import parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise SandboxError(f"reading {path.name} needs pyarrow; run `pip install 'sandgym[swebench]'`") from error
    try:
        records: list[Mapping[str, Any]] = parquet.read_table(path).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise SandboxError(f"{path} is damaged: {error}; get it again") from error
    return records
