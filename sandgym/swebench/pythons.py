"""Python environments for sandboxes of checkouts.

Invariant: an environment holds this interpreter and the packages that were put into it, none of
those that this program runs with; the checkout counts as installed.
"""

from __future__ import annotations

import functools
import importlib.metadata
import posixpath
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sandgym.core import digest_of
from sandgym.sandboxes.paths import within
from sandgym.swebench.checkouts import write_once
from sandgym.swebench.variables import WORKDIR

ENVIRONMENT = "/environment"  # where an environment appears
PYTHON = "/python"  # where this interpreter appears, when it is not among the system's programs
TEST_TOOLS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
_LAYOUT = 1
_BASE = Path(sys.base_prefix).resolve()
_SYSTEM = ("/usr", "/opt", "/nix")  # seen in every sandbox of a folder


def mounts(environment: Path) -> dict[str, Path]:
    """What a sandbox has to show: path inside to path on this machine."""
    return {ENVIRONMENT: environment} | ({PYTHON: _BASE} if _moved() else {})


def variables() -> Mapping[str, str]:
    """Variables with which the environment is found."""
    found = {"PATH": f"{ENVIRONMENT}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    return found | ({"LD_LIBRARY_PATH": f"{ENVIRONMENT}/lib"} if _shared_library() else {})


def _moved() -> bool:
    """Whether a sandbox has this interpreter elsewhere than this machine."""
    return not any(within(str(_BASE), each) for each in _SYSTEM)


def _interpreter() -> str:
    """Where a sandbox finds this interpreter."""
    return f"{PYTHON if _moved() else _BASE}/bin/python3.{sys.version_info.minor}"


def _shared_library() -> Path | None:
    """The library that a moved interpreter would look for where it was installed."""
    if not sysconfig.get_config_var("Py_ENABLE_SHARED") or not _moved():
        return None
    return Path(str(sysconfig.get_config_var("LIBDIR")), str(sysconfig.get_config_var("INSTSONAME")))


def make_environment(folder: Path, fill: Callable[[Path], object]) -> Path:
    """A virtual environment for sandboxes: this interpreter, and the packages that ``fill`` puts into a folder.

    The checkout counts as installed in it, from its root or from ``src``.
    """

    def write(target: Path) -> None:
        programs = target / "bin"
        site = target / f"lib/python3.{sys.version_info.minor}/site-packages"
        for place in (programs, site):
            place.mkdir(parents=True)
        fill(site)
        interpreter = _interpreter()
        (target / "pyvenv.cfg").write_text(
            f"home = {posixpath.dirname(interpreter)}\ninclude-system-site-packages = false\n"
        )
        (site / "checkout.pth").write_text(f"{WORKDIR}\n{WORKDIR}/src\n")
        for name in ("python", "python3"):
            (programs / name).symlink_to(interpreter)
        if (library := _shared_library()) is not None:
            shutil.copy(library, target / "lib")
        script = programs / "pytest"
        script.write_text(f"#!{ENVIRONMENT}/bin/python\nimport sys\nimport pytest\n\nsys.exit(pytest.main())\n")
        script.chmod(0o755)
        compile_all = ("-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(site))
        subprocess.run((sys.executable, *compile_all), check=False, capture_output=True)

    return write_once(folder, write)


def test_environment() -> Path:
    """A Python environment with pytest, where that is installed here, and nothing else."""
    from sandgym.data import data_root

    present = {tool.metadata["Name"].lower(): tool for tool in importlib.metadata.distributions()}
    tools = [present[name] for name in TEST_TOOLS if name in present]
    key = digest_of(_LAYOUT, [f"{tool.metadata['Name']} {tool.version}" for tool in tools], sys.version, str(_BASE))[
        :12
    ]
    return make_environment(data_root() / "swebench" / f"environment-{key}", functools.partial(_copy, tools))


def _copy(tools: Sequence[importlib.metadata.Distribution], site: Path) -> None:
    for tool in tools:
        for file in tool.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                target = site / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), target)
