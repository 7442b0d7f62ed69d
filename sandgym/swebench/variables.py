"""What every sandbox of a row has in its environment.

Invariant: nothing depends on the time, on the machine or on a terminal.
"""

from __future__ import annotations

WORKDIR = "/testbed"
SECONDS = 946_684_800  # the time of everything that is written, since 1970
_WHEN = "2000-01-01T00:00:00+0000"
VARIABLES = {
    "GIT_AUTHOR_DATE": _WHEN,
    "GIT_AUTHOR_EMAIL": "agent@localhost",
    "GIT_AUTHOR_NAME": "agent",
    "GIT_COMMITTER_DATE": _WHEN,
    "GIT_COMMITTER_EMAIL": "agent@localhost",
    "GIT_COMMITTER_NAME": "agent",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "PAGER": "cat",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_PROGRESS_BAR": "off",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "TQDM_DISABLE": "1",
    "TZ": "UTC",
}
CONDA = {
    "CONDA_DEFAULT_ENV": "testbed",
    "CONDA_PREFIX": "/opt/miniconda3/envs/testbed",
    "PATH": "/opt/miniconda3/envs/testbed/bin:/opt/miniconda3/condabin:/opt/miniconda3/bin:"
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}
