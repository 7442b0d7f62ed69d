"""One recorded episode, played again in every way that the contract says makes no difference.

Invariant: what was recorded came from reset and step alone; a snapshot, a restored
environment and a fork are judged against that record.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from sandgym.conformance.fresh import Result
from sandgym.conformance.probe import (
    Probe,
    check_digest,
    check_frozen,
    check_info,
    digest_at,
    own,
    scribble,
    seed_generators,
)
from sandgym.conformance.violations import ContractViolation, Violation, difference
from sandgym.core import Snapshot

_POINTS = 5  # snapshots of an episode that are restored and forked, the first and the last included
_RNG_SEEDS = (0, 1)  # of the global generators, which must not matter


class Recording:
    """One episode: what it returned when it was first played, and its snapshots.

    Args:
        probe: the environment.
        seed: of the reset.
        draw: the next action for an info and a step.
        limit: the episode is left after this many steps.
    """

    def __init__(self, probe: Probe, seed: int, draw: Callable[[dict[str, Any], int], Any], limit: int) -> None:
        self.probe, self.seed = probe, seed
        seed_generators(_RNG_SEEDS[0])
        self.results = [own(probe.reset(seed))]
        self.actions: list[Any] = []
        self.snapshots: list[Snapshot] = []
        self.digests: list[str] = []
        check_info(self.results[0].info, 0)
        while not self.over and len(self.actions) < limit:
            self.actions.append(draw(self.results[-1].info, len(self.actions)))
            step = len(self.actions)
            self.results.append(own(probe.step(self.actions[-1], step)))
            check_info(self.results[-1].info, step)
        if self.over:
            probe.check_needs_reset(len(self.actions), "after the end of the episode", "step", draw({}, 0))
        # As many as there are, evenly spread; the last one is where the episode ended.
        self.points = sorted({round(i) for i in np.linspace(0, len(self.actions), _POINTS)})

    @property
    def over(self) -> bool:
        """Whether the episode came to its end."""
        return self.results[-1].terminated or self.results[-1].truncated

    def check_reproducible(self) -> None:
        """The seed and the actions decide everything, whatever the global generators hold."""
        again = self._play_again(_RNG_SEEDS[1])
        if again is not None:
            step, what = again
            same_globals = self._play_again(_RNG_SEEDS[0]) is None
            cause = "with random and numpy.random seeded otherwise" if same_globals else "the second time"
            raise ContractViolation(
                Violation.HIDDEN_RNG,
                step,
                f"reset(seed={self.seed}) and the same actions to give the same",
                f"{cause}, {what}",
            )

    def _play_again(self, global_seed: int) -> tuple[int, str] | None:
        seed_generators(global_seed)
        result = self.probe.reset(self.seed)
        for step, expected in enumerate(self.results):
            if step:
                result = self.probe.step(self.actions[step - 1], step)
            if (what := difference(expected, result)) is not None:
                return step, what
        return None

    def take_snapshots(self) -> None:
        """Play again with a snapshot at every step, and look at what the snapshots are."""
        probe, twins, state_digests, pickled = self.probe, [], [], []
        result = probe.reset(self.seed)
        for step, expected in enumerate(self.results):
            if step:
                result = probe.step(self.actions[step - 1], step)
            if (what := difference(expected, result)) is not None:
                raise ContractViolation(Violation.DISTURBS, step, "a snapshot to leave the environment as it was", what)
            self.snapshots.append(probe.call("snapshot", step))
            twins.append(digest_at(probe.call("snapshot", step), step))
            self.digests.append(digest_at(self.snapshots[-1], step))
            state_digests.append(probe.state_digest(step))
            try:
                pickled.append(pickle.dumps(self.snapshots[-1]))
            except Exception as error:
                seen = f"{type(error).__name__}: {error}"
                raise ContractViolation(
                    Violation.NOT_PICKLABLE, step, "pickle.dumps(snapshot) to work", seen
                ) from error
        for step, snapshot in enumerate(self.snapshots):
            digest = self.digests[step]
            check_digest(digest, twins[step], step, "two snapshots of one state")
            check_digest(digest, state_digests[step], step, "snapshot().digest and state_digest of one state")
            check_digest(digest, digest_at(pickle.loads(pickled[step]), step), step, "a snapshot and its pickled copy")
            later = digest_at(pickle.loads(pickle.dumps(snapshot)), step)
            if later != digest:
                raise ContractViolation(
                    Violation.MUTABLE,
                    step,
                    "a snapshot to stay as it was while the episode went on",
                    "its digest changed",
                )
            check_frozen(snapshot, step)

    def check_restore(self) -> None:
        """From each point, after a detour, the rest of the episode comes again."""
        for point in self.points:
            for violation in (Violation.RESTORE, Violation.MUTABLE):
                self._detour()
                start = self.probe.restore(self.snapshots[point], point)
                self._check_start(point, start, violation)
                scribble(start.observation)
                scribble(start.info)
            self._check_future(point, self.probe, Violation.RESTORE, "the restored environment")
        if self.over:
            self._detour()
            self.probe.restore(self.snapshots[-1], len(self.actions))
            when = "after the end of a restored episode"
            self.probe.check_needs_reset(len(self.actions), when, "step", self.actions[-1])

    def _detour(self) -> None:
        """Another episode, so that nothing of the restored one is still there by chance."""
        self.probe.reset(self.seed + 7919)
        if self.actions:
            self.probe.step(self.actions[0], 1)

    def _check_start(self, point: int, start: Result, violation: Violation) -> None:
        what = difference(self.results[point], start, ("observation", "info"))
        if what is not None:
            raise ContractViolation(violation, point, "restore() to return what the last reset or step returned", what)

    def _check_future(self, point: int, probe: Probe, violation: Violation, who: str) -> None:
        seen = [probe.state_digest(point)]
        for step in range(point + 1, len(self.results)):
            result = probe.step(self.actions[step - 1], step)
            if (what := difference(self.results[step], result)) is not None:
                expected = f"{who} (from step {point}) to go on as the recorded episode did"
                raise ContractViolation(violation, step, expected, what)
            seen.append(probe.state_digest(step))
        for step, digest in enumerate(seen, start=point):
            check_digest(self.digests[step], digest, step, f"the recorded episode and {who} (from step {point})")

    def check_fork(self) -> None:
        """Children start here, and neither they nor the parent notice each other."""
        for point in self.points:
            self._detour()
            self.probe.restore(self.snapshots[point], point)
            children = self.probe.call("fork", point, 3)
            count = len({id(child) for child in children} - {id(self.probe.env)})
            if len(children) != 3 or count != 3:
                seen = f"{len(children)} environments, {count} of them new and distinct"
                raise ContractViolation(Violation.FORK_SHARES, point, "fork(3) to return 3 new environments", seen)
            first, second, third = map(Probe, children)
            self._check_future(point, first, Violation.FORK_DIFFERS, "a fork")
            self._check_unmoved(point, self.probe, "its parent")
            self._check_unmoved(point, second, "its sibling")
            first.reset(self.seed + 1)
            self._check_unmoved(point, self.probe, "its parent")
            self._check_unmoved(point, second, "its sibling")
            self._check_interleaved(point, [self.probe, second, third])

    def _check_unmoved(self, point: int, probe: Probe, who: str) -> None:
        if probe.state_digest(point) != self.digests[point]:
            raise ContractViolation(
                Violation.FORK_SHARES,
                point,
                f"a fork that plays to leave {who} as it was",
                f"the digest of {who} changed",
            )

    def _check_interleaved(self, point: int, probes: list[Probe]) -> None:
        """Parent and children in lock-step; each must see the recorded episode."""
        for step in range(point + 1, len(self.results)):
            for probe in probes:
                result = probe.step(self.actions[step - 1], step)
                if (what := difference(self.results[step], result)) is not None:
                    expected = (
                        f"parent and forks (of step {point}), stepped in turns, to go on as the recorded episode did"
                    )
                    raise ContractViolation(Violation.FORK_SHARES, step, expected, what)

    def check_not_blind(self, others: list[Recording]) -> None:
        """States that look or act differently have different digests."""
        met: dict[str, tuple[Recording, int]] = {}
        for record in [*others, self]:
            for step, digest in enumerate(record.digests):
                other, point = met.setdefault(digest, (record, step))
                what = difference(other.results[point], record.results[step], ("observation", "info"))
                if what is None and record is not other:
                    what = self._compare_futures(other.snapshots[point], record.snapshots[step], record.actions[step:])
                if what is not None:
                    where = f"seed {other.seed}, step {point} and seed {record.seed}, step {step}"
                    expected = f"the states of {where} to differ in digest"
                    raise ContractViolation(Violation.DIGEST_BLIND, step, expected, what)

    def _compare_futures(self, one: Snapshot, two: Snapshot, actions: list[Any]) -> str | None:
        played = []
        for snapshot in (one, two):
            self.probe.restore(snapshot, 0)
            results: list[Result] = []
            while len(results) < len(actions) and not (results and (results[-1].terminated or results[-1].truncated)):
                results.append(own(self.probe.step(actions[len(results)], len(results) + 1)))
            played.append(results)
        return next((what for pair in zip(*played, strict=False) if (what := difference(*pair)) is not None), None)
