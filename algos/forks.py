"""The forked environments of a rollout: who steps them, who closes them, what they cost.

Invariant: every fork is closed exactly once, and an action that another episode has taken at
the very same state is not taken again: its result is copied.
"""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress

from algos.episodes import Answer, Leaf, TextEnv, threads_for
from algos.ledger import Ledger
from sandgym.core import SandboxError


class Forks:
    """Forks, steps and closes environments.

    Args:
        env: any instance of the kind. Where its ``metadata`` says ``deterministic`` is False, forks of a
            state may part although they are told the same, and nothing is copied.
        ledger: counts what is spent.
        copy_steps: whether equal actions at the same state are taken once.
    """

    def __init__(self, env: TextEnv, ledger: Ledger, copy_steps: bool) -> None:
        self._threads = threads_for(env)
        self._ledger = ledger
        self._copy_steps = copy_steps and env.metadata.get("deterministic", True)
        self._open: dict[int, TextEnv] = {}
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def session(self) -> Iterator[None]:
        """While it lasts environments may be stepped; afterwards no fork is open."""
        try:
            with ThreadPoolExecutor(self._threads) if self._threads > 1 else nullcontext() as self._pool:
                yield
        finally:
            for env in list(self._open.values()):  # of episodes that an exception cut off
                self.close(env)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Counts what it encloses as time spent in environments."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._ledger.env_seconds += time.perf_counter() - started

    def fork(self, env: TextEnv, count: int) -> list[TextEnv]:
        """Forks that ``session`` closes in the end if nobody did before.

        Raises:
            SandboxError: the infrastructure failed.
        """
        with self.timed():
            forks = env.fork(count)
        self._open |= {id(fork): fork for fork in forks}
        return forks

    def close(self, env: TextEnv) -> None:
        """Close a fork."""
        del self._open[id(env)]
        env.close()

    def count_snapshots(self, env: TextEnv, count: int) -> None:
        """Enter ``count`` snapshots of the environment's state in the ledger."""
        self._ledger.snapshots += count
        self._ledger.snapshot_bytes += count * len(pickle.dumps(env.snapshot(), pickle.HIGHEST_PROTOCOL))

    def step(self, leaves: Sequence[Leaf]) -> list[Answer | SandboxError]:
        """What the environments answer to the leaves' actions; those that wait for processes are asked at once."""
        jobs = [(leaf, leaf.transcript.action(leaf.turn_tokens)) for leaf in leaves]
        asked: list[int] = []
        times: Counter[tuple[int, str]] = Counter()
        for n, (leaf, action) in enumerate(jobs):
            crossroads = leaf.crossroads if self._copy_steps else None
            if crossroads is None or (action not in crossroads.taken and not times[id(crossroads), action]):
                asked.append(n)
            if crossroads is not None:
                crossroads.waiting -= 1
                times[id(crossroads), action] += 1
        answers: list[Answer | SandboxError | None] = [None] * len(jobs)
        with self.timed():
            chosen = [jobs[n] for n in asked]
            done = self._pool.map(_step, chosen) if self._pool is not None else map(_step, chosen)
            for n, answer in zip(asked, done, strict=True):
                answers[n] = answer
                leaf, action = jobs[n]
                self._remember(leaf, action, answer, times[id(leaf.crossroads), action] > 1)
            result = [self._follow(*j) if answer is None else answer for j, answer in zip(jobs, answers, strict=True)]
        for leaf in leaves:
            leaf.crossroads = None
        return result

    def _remember(self, leaf: Leaf, action: str, answer: Answer | SandboxError, again: bool) -> None:
        """Count a step; keep what came of it where somebody else may take the same one."""
        if isinstance(answer, SandboxError):
            return
        self._ledger.env_steps += 1
        crossroads = leaf.crossroads
        if self._copy_steps and crossroads is not None and (again or crossroads.waiting):
            with suppress(SandboxError):  # costs a step that is taken twice
                crossroads.taken[action] = answer, leaf.env.snapshot()

    def _follow(self, leaf: Leaf, action: str) -> Answer | SandboxError:
        """Copy a step that another leaf has taken from the same state; take it where that one failed."""
        crossroads = leaf.crossroads
        assert crossroads is not None
        if action not in crossroads.taken:
            answer = _step((leaf, action))
            self._remember(leaf, action, answer, again=True)
            return answer
        known, after = crossroads.taken[action]
        try:
            leaf.env.restore(after)
        except SandboxError as error:
            return error
        self._ledger.copied_steps += 1
        return known


def _step(job: tuple[Leaf, str]) -> Answer | SandboxError:
    leaf, action = job
    try:
        return leaf.env.step(action)
    except SandboxError as error:
        return error
