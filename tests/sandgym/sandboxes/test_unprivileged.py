"""The same tests again, as a user who may do nothing, in a user namespace of that user's own."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
UID = "54321"
REPOSITORY = HERE.parents[2]


def opening(needed: list[Path]) -> str:
    """Shell commands that let everybody reach folders, in a mount namespace that nobody else sees."""
    lines, closed = [], {}
    for number, path in enumerate(needed):
        shut = [folder for folder in path.parents if not folder.stat().st_mode & 0o001]
        if shut:
            lines.append(f"mkdir -p $HOLD/{number} && mount --bind '{path}' $HOLD/{number}")
            closed.setdefault(shut[-1], []).append((number, path))
    for folder, inside in closed.items():
        lines.append(f"mount -t tmpfs -o mode=755 none '{folder}'")
        lines += [f"mkdir -p '{path}' && mount --move $HOLD/{number} '{path}'" for number, path in inside]
    return "\n".join(lines)


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A folder that others can reach, as those of pytest cannot."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root, to become somebody else")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv (util-linux)")
def test_the_suite_without_privileges(everybodys: Path) -> None:
    python = Path(sys.executable)
    needed = sorted({REPOSITORY, Path(sys.prefix), Path(sys.base_prefix), python.resolve().parent.parent})
    own = everybodys / "own"
    own.mkdir()
    os.chown(own, int(UID), int(UID))
    script = f"""set -e
mount --make-rprivate /
HOLD={everybodys}/hold
{opening(needed)}
cd '{REPOSITORY}'
exec setpriv --reuid {UID} --regid {UID} --clear-groups --bounding-set=-all --inh-caps=-all "$@"
"""
    tests = [str(HERE / f"test_{name}.py") for name in ("fidelity", "commands", "confinement", "reaper", "spares")]
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "-rs", f"--basetemp={own}/tests", *tests]
    command += ["-k", "not two_hundred and not ten_gigabytes and not long_chain and not a_saved_state"]
    environment = os.environ | {
        "HOME": str(own), "SANDGYM_DATA": str(own / "data"), "SANDGYM_SANDBOXES": "", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # fmt: skip
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", script, "x", *command],
        capture_output=True, text=True, check=False, env=environment)  # fmt: skip
    if "overlay backend does not work" in done.stdout or "copy backend does not work" in done.stdout:
        pytest.skip("no user namespaces here: " + done.stdout[-500:])
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert " passed" in done.stdout
