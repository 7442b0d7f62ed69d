"""A real Chromium, driven over its debugging pipe with nothing but the standard library."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# The browser reads its commands from file 3 and answers on file 4.
_LAUNCHER = """
import fcntl, os, sys
there = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
os.dup2(there[0], 3)
os.dup2(there[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Page:
    """One page: what its scripts say, and real clicks."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, os.fdopen(read, "rb")
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._session: str | None = None

    def open(self, address: str) -> None:
        """Load an address in a new tab."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")
        self._call("Page.navigate", url=address)
        while self.value("document.readyState") != "complete" or self.value("location.href") == "about:blank":
            pass

    def value(self, expression: str) -> Any:
        """What an expression is in the page."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def click(self, selector: str, number: int = 0) -> None:
        """Press and release the mouse on an element."""
        place = self.value(
            f"(() => {{ const e = document.querySelectorAll({json.dumps(selector)})[{number}]; "
            "e.scrollIntoView({block: 'center', inline: 'center'}); const r = e.getBoundingClientRect(); "
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def _call(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def _message(self) -> Any:
        while b"\0" not in self._buffer:
            chunk = self._read.raw.read(2**16)  # type: ignore[attr-defined]
            assert chunk, "the browser is gone"
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[Page]:
    """A browser of its own; skips the test where there is none."""
    binary = next(filter(None, map(shutil.which, NAMES)), None)
    if binary is None:
        pytest.skip(f"no browser here: none of {', '.join(NAMES)} is installed")
    (in_read, in_write), (out_read, out_write) = os.pipe(), os.pipe()
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
    command = [binary, *options, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
    launched = [sys.executable, "-c", _LAUNCHER, str(in_read), str(out_write), *command]
    process = subprocess.Popen(
        launched, pass_fds=(in_read, out_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(in_read)
    os.close(out_write)
    try:
        yield Page(in_write, out_read)
    finally:
        process.terminate()
        process.wait(timeout=30)
        os.close(in_write)
