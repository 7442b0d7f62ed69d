"""A second Python process that resumes snapshots, to show that they do not need the first.

Invariant: nothing but the maker of the environment, the snapshot and the actions
crosses over. The process has its own string hash seed and untouched global generators.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import IO, Any, NamedTuple, Self, SupportsFloat

import gymnasium

from sandgym.core import Snapshot, SnapshottableEnv


class Result(NamedTuple):
    """What a reset (no reward, not over) or a step returned."""

    observation: Any
    reward: SupportsFloat
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class Played(NamedTuple):
    """Result and state digest at the start and after each action."""

    results: list[Result]
    digests: list[str]


class FreshProcessError(gymnasium.error.Error):
    """The other process raised; the message holds its traceback."""


def play(env: SnapshottableEnv[Any, Any], start: tuple[Any, dict[str, Any]], actions: Sequence[Any]) -> Played:
    """Step ``env`` through ``actions``; ``start`` is what its reset or restore returned."""
    observation, info = start
    played = Played([Result(observation, 0.0, False, False, info)], [env.state_digest])
    for action in actions:
        played.results.append(Result(*env.step(action)))
        played.digests.append(env.state_digest)
    return played


class FreshProcess:
    """Serves ``resume`` and ``start`` in one other Python process, until closed.

    Args:
        make: builds the environment there. Sent by cloudpickle, so that lambdas and
            classes of a script work.
        hash_seed: ``PYTHONHASHSEED`` there; another one than here shows dependence on
            the order of sets.
    """

    def __init__(self, make: Callable[[], SnapshottableEnv[Any, Any]], hash_seed: int = 20011) -> None:
        environ = dict(
            os.environ, PYTHONHASHSEED=str(hash_seed), PYTHONPATH=os.pathsep.join(p or "." for p in sys.path)
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"import {__name__} as fresh; fresh.main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environ,
        )
        try:
            self._ask(("make", make))
        except BaseException:
            self.close()
            raise

    def needs_reset(self, action: Any) -> bool:
        """Whether a step before the first reset raises ``ResetNeeded`` there."""
        answer: bool = self._ask(("needs_reset", action))
        return answer

    def resume(self, snapshot: Snapshot, actions: Sequence[Any]) -> Played:
        """Restore there, then play."""
        return Played(*self._ask(("resume", snapshot, list(actions))))

    def start(self, seed: int | None, options: dict[str, Any] | None, actions: Sequence[Any]) -> Played:
        """Reset there, then play."""
        return Played(*self._ask(("start", seed, options, list(actions))))

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: tuple[Any, ...]) -> Any:
        import cloudpickle  # type: ignore[import-untyped]

        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            _write(self._process.stdin, cloudpickle.dumps(request))
            failed, answer = pickle.loads(_read(self._process.stdout))
        except (EOFError, BrokenPipeError):
            raise FreshProcessError(f"the process ended with status {self._process.wait()}") from None
        if failed:
            raise FreshProcessError(answer)
        return answer


def _write(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(len(message).to_bytes(8, "little") + message)
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes:
    header = pipe.read(8)
    if len(header) < 8:
        raise EOFError
    return pipe.read(int.from_bytes(header, "little"))


def _serve(env: SnapshottableEnv[Any, Any], kind: str, *arguments: Any) -> Any:
    if kind == "needs_reset":
        try:
            env.step(arguments[0])
        except gymnasium.error.ResetNeeded:
            return True
        return False
    if kind == "resume":
        snapshot, actions = arguments
        return tuple(play(env, env.restore(snapshot), actions))
    seed, options, actions = arguments
    return tuple(play(env, env.reset(seed=seed, options=options), actions))


def main() -> None:
    """Answer requests from standard input on standard output until the former closes."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an environment prints must not mix with the answers
    env: Any = None
    while True:
        try:
            message = _read(sys.stdin.buffer)
        except EOFError:
            return
        try:
            kind, *arguments = pickle.loads(message)
            answer: Any = None
            if kind == "make":
                env = arguments[0]()
            else:
                answer = _serve(env, kind, *arguments)
            reply = pickle.dumps((False, answer))
        except Exception:
            reply = pickle.dumps((True, traceback.format_exc()))
        _write(answers, reply)
