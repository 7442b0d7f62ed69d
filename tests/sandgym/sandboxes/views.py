"""A small repository, and what the tests ask a sandbox."""

import functools
import shutil
from collections.abc import Callable

from sandgym.sandboxes import Sandbox, available

FILES = {
    "a.txt": "alpha\n",
    "b.txt": "beta\n",
    "package/__init__.py": "",
    "package/code.py": "def f():\n    return 1\n",
    "package/deep/er/leaf.txt": "leaf\n",
    "run.sh": "#!/bin/sh\necho ran\n",
    ".gitignore": "*.log\n",
}
GIT = "git -c user.name=t -c user.email=t@example.org -c init.defaultBranch=main"

Open = Callable[..., Sandbox]


@functools.cache
def reason_against(backend: str) -> str:
    return available()[backend]


def remove_behind_the_back(sandbox: Sandbox) -> None:
    """Remove what holds a sandbox, as somebody else on the machine may."""
    if sandbox.backend == "docker":
        from sandgym.sandboxes.engine import api

        api().remove_container(sandbox._container.id, force=True)  # type: ignore[attr-defined]
    else:
        shutil.rmtree(sandbox._folder)  # type: ignore[attr-defined]


def images_of_this_process() -> int:
    """How many the Docker engine has."""
    from sandgym.sandboxes.engine import OWNER, api
    from sandgym.sandboxes.reaper import owner_label

    return len(api().images(all=True, filters={"label": f"{OWNER}={owner_label()}"}))


def listing(sandbox: Sandbox) -> str:
    """Everything that can be written to, as the sandbox itself lists it."""
    facts = sandbox.run(
        "find /testbed /home/agent /tmp -printf '%p %y %m %l\\n' | sort;"
        "find /testbed /home/agent /tmp -type f -exec sha256sum {} + | sort -k2"
    )
    assert facts.returncode == 0, facts.output
    return facts.output


def ok(sandbox: Sandbox, command: str) -> str:
    """Output of a command that succeeds."""
    result = sandbox.run(command)
    assert result.returncode == 0, result.output
    return result.output
