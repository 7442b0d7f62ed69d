"""What an agent must not see: the row's hidden columns, the repository's future, this machine."""

import json
import subprocess
from pathlib import Path

import bookshop as shop
import gymnasium
import pytest

from sandgym.core import SandboxError

LOOK = (
    "grep -rasl -e 'test_total' -e 'the hint that nobody may see' / --exclude-dir=proc --exclude-dir=sys "
    "--exclude-dir=usr --exclude-dir=opt --exclude-dir=python --exclude-dir=environment 2>/dev/null; "
    "env | grep -a -e test_total -e hint; "
    "git log --all -p --reflog | grep -a test_total; git stash list; git remote; git tag; true"
)


def test_hidden_columns_are_nowhere_before_and_after_submitting(make):
    env = make()
    observation, info = env.reset(seed=0)
    assert shop.ISSUE in observation
    seen = [(observation, info), env.step(LOOK)[::4]]
    assert seen[-1][0] == "returncode: 0\n"
    seen += [env.step("ls -la /testbed /tmp /home/agent; cat /proc/self/mountinfo; git status")[::4]]
    seen += [env.step(shop.SUBMIT)[::4]]
    for observation, info in seen:
        text = observation + json.dumps(info)
        assert not any(word in text for word in shop.HIDDEN)
    env.reset(seed=0)
    assert env.step(LOOK)[0] == "returncode: 0\n"  # nothing is left of grading
    env.unwrapped.fork(1)[0].close()
    assert env.step("ls /tmp")[0] == "returncode: 0\n"


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def with_future(tmp_path):
    """The shop with a past, and with a future in every place where Git can keep one."""
    data = shop.write_data(tmp_path)
    folder = data["checkouts"] / "shop__shop-1"
    past = git(folder, "rev-parse", "HEAD")
    (folder / "README").write_text("now\n")
    git(folder, "add", "README")
    git(folder, "commit", "-qm", "base")
    base = git(folder, "rev-parse", "HEAD")
    secrets = []
    for place in ("packed", "tag", "remote", "branch", "stash", "reflog", "dangling"):
        (folder / "shop" / "prices.py").write_text(f"SECRET {place}\n")
        if place == "stash":
            git(folder, "stash")
            continue
        git(folder, "commit", "-qam", f"SECRET {place}")
        secrets.append(git(folder, "rev-parse", "HEAD"))
        if place == "tag":
            git(folder, "tag", "-a", "v9", "-m", "SECRET tag")
        elif place == "remote":
            git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
            git(folder, "remote", "add", "origin", "https://example.org/SECRET")
        elif place == "branch":
            git(folder, "branch", "later")
        elif place == "packed":
            git(folder, "repack", "-adq")
        git(folder, "reset", "-q", "--hard", base)
    (folder / ".git" / "FETCH_HEAD").write_text(secrets[0])
    (tmp_path / "rows.jsonl").write_text(json.dumps(shop.record(base_commit=base)) + "\n")
    return data, past, base, secrets


def test_only_the_past_of_the_base_is_in_the_repository(with_future, backend):
    data, past, base, secrets = with_future
    env = gymnasium.make("sandgym/SWEbenchVerified-v0", backend=backend, **data)
    try:
        env.reset(seed=0)
        (fork,) = env.unwrapped.fork(1)
        snapshot = env.unwrapped.snapshot()
        env.step("rm -rf /testbed/*")
        env.unwrapped.restore(snapshot)
        for each in (env, fork):
            assert each.step("git log --format=%H")[0] == f"returncode: 0\n{base}\n{past}\n"
            assert (
                each.step("git fsck --unreachable --no-progress 2>&1; git status --porcelain")[0] == "returncode: 0\n"
            )
            for secret in secrets:
                assert each.step(f"git cat-file -e {secret}")[4]["returncode"] != 0
            found = each.step(
                "git cat-file --batch-all-objects --batch-check='%(objectname)' | git cat-file --batch "
                "| grep -ac SECRET; "
                "git remote; git tag; git branch -r; git stash list; git reflog; grep -ras SECRET .git; ls .git/*_HEAD"
            )[0]
            assert found.splitlines()[1] == "0"
            assert "SECRET" not in found
            assert len(found.splitlines()) == 3, found  # the count, and that ls finds no FETCH_HEAD
        fork.close()
    finally:
        env.close()


def test_a_repository_at_another_commit_is_refused(with_future, quick):
    data, past, _, _ = with_future
    folder = data["checkouts"] / "shop__shop-1"
    git(folder, "checkout", "-q", "later")
    (data["data"]).write_text(json.dumps(shop.record(base_commit=past)) + "\n")
    env = gymnasium.make("sandgym/SWEbenchVerified-v0", backend=quick, **data)
    with pytest.raises(SandboxError, match="HEAD is neither"):
        env.reset(seed=0)
    env.close()
