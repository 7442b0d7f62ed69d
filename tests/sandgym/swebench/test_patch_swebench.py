"""The agent's patch: whatever was done, it is complete and applies to a clean base byte for byte."""

import shutil
import subprocess
from pathlib import Path

import bookshop as shop
import pytest

from sandgym.sandboxes import FolderImage, open_sandbox
from sandgym.swebench.patch import PatchError, agent_patch
from sandgym.swebench.workspace import Workspace

EVERYTHING = r"""
set -e
echo 'def new(): pass' > shop/new.py                       # untracked
echo 'staged' > staged.txt; git add staged.txt             # staged
sed -i 's/mean/average/' shop/prices.py
git commit -qam 'my work'                                  # committed
echo '# more' >> shop/prices.py                            # and changed again
rm tests/test_prices.py                                    # deleted
head -c 3000 /dev/urandom > docs/logo.bin                  # binary
printf 'one\r\ntwo and a half\r\nthree\n' > notes.txt      # line ends of both kinds
printf 'no line end' > shop/last.py
mkdir -p build deep/er; echo x > build/out.o; echo x > a.log  # ignored
echo y > "deep/er/na me é"; chmod +x "deep/er/na me é"
ln -s ../shop deep/link
mkdir empty
git clone -q . deep/nested 2>/dev/null; echo in > deep/nested/mine.txt
"""


def index_and_history(workspace: Workspace) -> tuple[bytes, str]:
    head = workspace.sandbox.run("git rev-parse HEAD; git stash list; git status --porcelain --ignored").output
    return workspace.sandbox.read("/testbed/.git/index"), head


def files_of(folder: Path) -> dict[str, object]:
    return {
        str(path.relative_to(folder)): path.readlink()
        if path.is_symlink()
        else (path.read_bytes(), path.stat().st_mode & 0o111 != 0)
        for path in folder.rglob("*")
        if (path.is_symlink() or path.is_file()) and ".git" not in path.parts
    }


def test_everything_is_in_the_patch_and_it_applies_to_a_clean_base(workspace, tmp_path):
    assert workspace.sandbox.run(EVERYTHING).returncode == 0
    before = index_and_history(workspace)
    with workspace.clean() as clean:
        patch = agent_patch(workspace.sandbox, clean)
    assert index_and_history(workspace) == before
    checkout = shop.write_checkout(tmp_path / "clean")
    subprocess.run(["git", "apply", "-"], input=patch, cwd=checkout, check=True)
    found = files_of(checkout)
    for path in ("shop/new.py", "staged.txt", "shop/prices.py", "docs/logo.bin", "notes.txt", "shop/last.py"):
        assert found.pop(path) == (workspace.sandbox.read(f"/testbed/{path}"), False), path
    assert found.pop("deep/er/na me é") == (b"y\n", True)
    assert found.pop("deep/link") == Path("../shop")
    assert found.pop("deep/nested/mine.txt") == (b"in\n", False)
    nested = {path for path in found if path.startswith("deep/nested/")}
    assert {path.removeprefix("deep/nested/") for path in nested} == {*shop.FILES, "staged.txt"}
    assert {path for path in found if path not in nested} == set(shop.FILES) - {
        *("tests/test_prices.py", "shop/prices.py", "docs/logo.bin", "notes.txt")
    }


@pytest.mark.parametrize(
    "sabotage",
    [
        "rm -rf .git",
        "git config core.autocrlf true; git config core.fileMode false; git config core.excludesFile /testbed/.ex; "
        "echo '*' > .ex",
        "echo '* text=auto eol=lf' > .git/info/attributes || (mkdir .git/info; echo '*' > .git/info/exclude)",
        "git config filter.x.clean 'echo evil'; git config filter.x.smudge cat",
        "git checkout -q --orphan other; git commit -qm 'no history'; git branch -D main",
        "rm .git/index; mkdir .git/index",
        "git update-index --assume-unchanged shop/prices.py; git update-index --skip-worktree notes.txt",
        "mkdir -p ~/bin; echo 'exit 0' > ~/bin/git; chmod +x ~/bin/git; export PATH=$HOME/bin:$PATH",
        "export GIT_DIR=/tmp/other GIT_INDEX_FILE=/tmp/no; alias git=false",
        "cd /tmp",
    ],
)
def test_nothing_done_to_git_hides_a_change(workspace, sabotage):
    workspace.sandbox.run(f"cd /testbed; {shop.FIX}; printf 'a\\r\\n' > notes.txt; {sabotage}")
    with workspace.clean() as clean:
        patch = agent_patch(workspace.sandbox, clean)
    assert b"+    return sum(prices)\n" in patch
    assert b"+a\r\n" in patch


def test_no_change_is_no_patch(workspace):
    workspace.sandbox.run(
        "touch shop/prices.py; git commit -q --allow-empty -m nothing; mkdir -p empty; echo x > a.log"
    )
    with workspace.clean() as clean:
        assert agent_patch(workspace.sandbox, clean) == b""


def test_a_folder_becomes_a_link_and_a_link_a_folder(tmp_path, quick):
    files = shop.FILES | {"real/one.py": "1\n", "real/two.py": "2\n"}
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "linked").symlink_to("real")
    shop.write_files(checkout, files)
    shop.commit_all(checkout, "base")
    with open_sandbox(FolderImage(checkout, env={"GIT_CONFIG_COUNT": "0"}), quick) as agent:
        start = agent.snapshot()
        agent.run("rm linked; mkdir linked; echo 3 > linked/three.py; mv real moved; ln -s moved real")
        (clean,) = agent.fork(1)
        clean.restore(start)
        patch = agent_patch(agent, clean)
        clean.close()
    shutil.copytree(checkout, tmp_path / "clean", symlinks=True)
    subprocess.run(["git", "apply", "-"], input=patch, cwd=tmp_path / "clean", check=True)
    found = files_of(tmp_path / "clean")
    assert found["real"] == Path("moved")
    assert found["moved/two.py"] == (b"2\n", False)
    assert found["linked/three.py"] == (b"3\n", False)
    assert "linked" not in found


def test_generated_files_are_too_much_unless_they_are_ignored(workspace, monkeypatch):
    monkeypatch.setattr("sandgym.swebench.patch.MOST_BYTES", 3_000_000)
    workspace.sandbox.run("mkdir build; head -c 4000000 /dev/zero > build/big; echo 1 > small")
    with workspace.clean() as clean:
        assert b"+++ b/small" in agent_patch(workspace.sandbox, clean)
    workspace.sandbox.run("mv build/big big")
    with workspace.clean() as clean, pytest.raises(PatchError, match=r"the change has 40000.. bytes"):
        agent_patch(workspace.sandbox, clean)
    workspace.sandbox.run("echo big >> .gitignore")
    with workspace.clean() as clean:
        patch = agent_patch(workspace.sandbox, clean)
    assert b"+big\n" in patch
    assert b"b/big" not in patch


def test_changed_rules_for_ignored_files_count_and_are_in_the_patch(workspace):
    workspace.sandbox.run("printf 'secret\n' > .gitignore; echo 1 > secret; echo 2 > a.log")
    with workspace.clean() as clean:
        patch = agent_patch(workspace.sandbox, clean)
    assert b"+secret\n" in patch
    assert b"+++ b/a.log" in patch
    assert b"b/secret" not in patch
