"""The bundled tasks: format, determinism, splits, repositories, and that each is what it says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sandgym.swebench.generate as generate
from sandgym.bundled import content_hash
from sandgym.core import SandboxError
from sandgym.swebench.commands import evaluation
from sandgym.swebench.proof import outcomes
from sandgym.swebench.repository import Commit, head_of, write_repository
from sandgym.swebench.rows import Row, load_rows

SPLITS = ("train", "dev", "test")
NEW_SCHEMA = {
    *("repo", "instance_id", "base_commit", "patch", "test_patch", "problem_statement", "hints_text", "created_at"),
    *("version", "FAIL_TO_PASS", "PASS_TO_PASS", "environment_setup_commit"),
    *("difficulty", "eval_script", "log_parser", "eval_type", "image"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return generate.write_tasks(tmp_path_factory.mktemp("bundled"))


@pytest.fixture(scope="module")
def rows(folder) -> dict[str, tuple[Row, ...]]:
    return {split: load_rows(folder / f"{split}.jsonl") for split in SPLITS}


@pytest.fixture(scope="module")
def every(rows) -> list[Row]:
    return [row for split in SPLITS for row in rows[split]]


def git(folder: Path, *arguments: str, given: str | None = None) -> str:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    done = subprocess.run(command, cwd=folder, env=environ, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_bytes_are_pinned(folder):
    assert content_hash(folder) == generate.BUNDLED_SHA256


def test_there_are_enough_tasks(rows):
    assert {split: len(found) for split, found in rows.items()} == generate.BUNDLED_TASKS
    assert sum(map(len, rows.values())) >= 200


def test_the_columns_are_those_of_the_published_schema(folder):
    for line in (folder / "dev.jsonl").read_text().splitlines():
        record = json.loads(line)
        assert set(record) == NEW_SCHEMA | {"split"}
        assert all(isinstance(value, str) for value in record.values())
        assert isinstance(json.loads(record["FAIL_TO_PASS"]), list)


def test_a_task_does_not_depend_on_how_many_there_are(tmp_path, rows):
    generate.write_tasks(tmp_path, {"train": 3, "test": 2})
    assert load_rows(tmp_path / "train.jsonl") == rows["train"][:3]
    assert load_rows(tmp_path / "test.jsonl") == rows["test"][:2]
    assert not (tmp_path / "dev.jsonl").exists()


def test_another_seed_gives_other_tasks(tmp_path, rows):
    generate.write_tasks(tmp_path, {"train": 5}, seed=1)
    assert not {row.patch for row in load_rows(tmp_path / "train.jsonl")} & {row.patch for row in rows["train"][:5]}


def test_unknown_splits_and_too_many_tasks_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"validation.*known: train, dev, test"):
        generate.write_tasks(tmp_path, {"validation": 3})


def test_a_split_that_runs_out_of_bugs_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "sites", lambda package, draw: [])
    with pytest.raises(ValueError, match="only 0 tasks for dev, not 3"):
        generate.write_tasks(tmp_path, {"dev": 3})


# Splits.


def test_ids_and_bugs_are_unique(every):
    assert len({row.instance_id for row in every}) == len(every)
    assert len({row.patch for row in every}) == len(every)
    assert len({row.base_commit for row in every}) == len(every)


def test_packages_of_test_are_in_no_other_split(rows):
    seen = {split: {row.repo for row in found} for split, found in rows.items()}
    assert seen["train"] == seen["dev"]
    assert len(seen["train"]) >= 20
    assert len(seen["test"]) >= 7
    assert not seen["test"] & seen["train"]


def test_dev_has_other_bugs_than_train():
    def places(split: str) -> set[tuple[str, int, object, str]]:
        found = set()
        for _, _, bug in generate.iter_bugs(split, 40):
            found.add((bug.package.family, bug.package.modules.index(bug.path), bug.mutation.place, bug.mutation.kind))
        return found

    assert len(places("train")) == len(places("dev")) == 40
    assert not places("train") & places("dev")


def test_bugs_are_of_many_kinds(every):
    kinds = {re.search(r"(?:There is|:|It is) an? (.+?) in (?:`|a table)", row.hints_text)[1] for row in every}
    assert len(kinds) >= 20


# Issues.


def test_most_issues_say_where_the_mistake_is(rows):
    for split, least in (("train", 0.75), ("dev", 0.75), ("test", 0.5)):
        named = [row for row in rows[split] if patched(row) in row.problem_statement]
        assert len(named) >= least * len(rows[split])
        assert len(named) < len(rows[split])


def patched(row: Row) -> str:
    return re.search(r"^\+\+\+ b/(.+)$", row.patch, re.MULTILINE)[1]


def test_issues_are_short_and_have_an_example(every):
    for row in every:
        assert len(row.problem_statement) < 1000
        assert row.problem_statement.count("```") == 2
        assert "should" in row.problem_statement


# Repositories.


def test_a_repository_is_what_git_writes(tmp_path):
    first = {"a-b.py": "1\n", "a.py": "", "a/b.py": "x = 'ä'\n", "a/c/d.txt": "no end"}
    commits = [Commit("One", first, 1_600_000_000), Commit("Two", {**first, "a.py": "2\n"}, 1_600_000_100)]
    head = write_repository(tmp_path / "ours", commits)
    assert head == head_of(commits)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    git(theirs, "init", "-q", "-b", "main")
    for commit in commits:
        for path, text in commit.files.items():
            (theirs / path).parent.mkdir(parents=True, exist_ok=True)
            (theirs / path).write_text(text)
        git(theirs, "add", "-A")
        when = f"{commit.seconds} +0000"
        os.environ |= {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        try:
            author = ("-c", "user.name=Maintainer", "-c", "user.email=maintainer@localhost")
            git(theirs, *author, "commit", "-q", "-m", commit.message)
        finally:
            del os.environ["GIT_AUTHOR_DATE"], os.environ["GIT_COMMITTER_DATE"]
    assert git(theirs, "rev-parse", "HEAD").strip() == head


def test_materialise(tmp_path, folder, rows):
    row = rows["dev"][0]
    one, other = (generate.materialise(row, tmp_path / name, folder) for name in ("one", "other"))
    assert git(one, "rev-parse", "HEAD").strip() == row.base_commit
    assert git(one, "status", "--porcelain") == ""
    git(one, "fsck", "--full", "--strict")
    assert content_hash(one) == content_hash(other)
    assert git(one, "log", "--format=%s").splitlines()[::2][0] == "Add tests"
    assert git(one, "remote") == git(one, "tag") == git(one, "branch", "--format=%(upstream)").strip() == ""


def test_nothing_hidden_is_in_a_repository(folder, every):
    """Neither tree nor history ever had what the patches add."""
    for row in every[::9]:
        document = json.loads((folder / "repositories" / f"{row.instance_id}.json").read_text())
        assert {path for _, _, paths in document["commits"] for path in paths} <= set(document["files"])
        for test in row.fail_to_pass:
            assert f"def {test.split()[0]}(" not in document["files"][path_of(test)]


def path_of(test: str) -> str:
    module = test[test.index("(") + 1 : -1].rsplit(".", 2)[0]
    return module.replace(".", "/") + ".py"


def test_materialise_refuses_what_is_not_bundled(tmp_path, folder, rows):
    import dataclasses

    row = rows["dev"][0]
    with pytest.raises(SandboxError, match="is not a bundled task"):
        generate.materialise(dataclasses.replace(row, instance_id="bundled__x-1"), tmp_path / "a", folder)
    with pytest.raises(SandboxError, match="starts at abc"):
        generate.materialise(dataclasses.replace(row, base_commit="abc"), tmp_path / "b", folder)
    assert list(tmp_path.iterdir()) == []


def test_ensure_bundled_writes_once(tmp_path, monkeypatch):
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path))
    write_all, written = generate.write_tasks, []

    def write_few(target: Path) -> None:
        written.append(target)
        write_all(target, {"dev": 2})

    monkeypatch.setattr(generate, "write_tasks", write_few)
    monkeypatch.setattr(generate, "BUNDLED_SHA256", content_hash(write_all(tmp_path / "x", {"dev": 2})))
    first = generate.ensure_bundled()
    assert first == generate.ensure_bundled()
    assert first.parent == tmp_path / "swebench"
    assert len(written) == 1
    row = load_rows(first / "dev.jsonl")[0]
    assert (generate.materialise(row, tmp_path / "checkout") / ".git").is_dir()


# The proof.


def with_patches(folder: Path, row: Row, *patches: str) -> dict[str, str]:
    """Files of a row's base with some patches applied by Git."""
    generate.materialise(row, folder)
    for patch in patches:
        git(folder, "apply", "-", given=patch)
    files = [path for path in folder.rglob("*.py") if ".git" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def test_every_task_fails_before_and_passes_after(folder, every):
    """Patches applied to the stored sources; suites run here."""
    for row in every:
        document = json.loads((folder / "repositories" / f"{row.instance_id}.json").read_text())
        base = document["files"]
        tested = base | applied(base, row.test_patch)
        suites = tuple(sorted(path for path in tested if path.startswith("tests/test_")))
        before = outcomes(tested, suites)
        assert sorted(before) == sorted(row.fail_to_pass + row.pass_to_pass)
        assert {test for test, outcome in before.items() if outcome == "failed"} == set(row.fail_to_pass)
        assert {test for test, outcome in before.items() if outcome == "passed"} == set(row.pass_to_pass)
        assert set(outcomes(tested | applied(base, row.patch), suites).values()) == {"passed"}
        assert set(outcomes(base, suites).values()) == {"passed"}
        assert row.fail_to_pass
        assert row.pass_to_pass


def applied(files: dict[str, str], patch: str) -> dict[str, str]:
    """The files that a patch changes, after it; contexts must fit exactly."""
    changed = {}
    for part in re.split(r"^diff --git .*\n", patch, flags=re.MULTILINE)[1:]:
        path = re.search(r"^\+\+\+ b/(.+)$", part, re.MULTILINE)[1]
        old, new, at = files[path].splitlines(), [], 0
        for line in part.splitlines()[2:]:
            if hunk := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
                start = int(hunk[1]) - (hunk[2] != "0")
                new += old[at:start]
                at = start
            elif line[0] == "+":
                new.append(line[1:])
            else:
                assert old[at] == line[1:]
                new += [line[1:]] if line[0] == " " else []
                at += 1
        changed[path] = "\n".join([*new, *old[at:]]) + "\n"
    return changed


@pytest.mark.parametrize("split", SPLITS)
def test_real_git_and_real_unittest_agree(tmp_path, monkeypatch, folder, rows, split):
    monkeypatch.setattr(generate, "ensure_bundled", lambda: folder)
    for row in rows[split][:: len(rows[split]) // 4]:
        before = unittest_results(tmp_path / f"{row.instance_id}-before", row, row.test_patch)
        assert {test for test, word in before.items() if word == "ok"} == set(row.pass_to_pass)
        assert {test for test, word in before.items() if word != "ok"} == set(row.fail_to_pass)
        after = unittest_results(tmp_path / f"{row.instance_id}-after", row, row.patch, row.test_patch)
        assert after == dict.fromkeys(before, "ok")


def unittest_results(folder: Path, row: Row, *patches: str) -> dict[str, str]:
    """What the row's own test command prints for each test."""
    with_patches(folder, row, *patches)
    how = evaluation(row)
    assert how.runner == "unittest"
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": ""}
    done = subprocess.run(how.test, shell=True, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    return dict(re.findall(r"^(.*?) \.\.\. (\w+)$", done.stderr, re.MULTILINE))
