"""What a training run is doing, as told by its events.

Invariant: this only listens; what is shown depends on the events and the clock alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
PHASES = {
    "demonstrations": "playing demonstrations",
    "sft": "warm start on demonstrations",
    "training": "training",
}


@dataclass
class RunProgress:
    """A run's phase, its metrics so far and an estimate of what is left.

    Attributes:
        updates: of the whole run.
        eval_every: see ``TrainConfig``.
        rows: metrics of the updates so far, those of an earlier session included.
        phase: what happens now, in words.
        done, total: of the phase, in its unit.
        detail: of the phase, in words.
    """

    updates: int
    eval_every: int = 0
    rows: list[Row] = field(default_factory=list)
    phase: str = "starting"
    done: int = 0
    total: int = 0
    detail: str = ""
    clock: Callable[[], float] = time.monotonic
    _began: float = 0.0
    _phase_began: float = 0.0
    _phase_from: int = 0
    _update_seconds: list[float] = field(default_factory=list)
    _last_update: float = 0.0
    _evaluation_seconds: float = 0.0

    def __post_init__(self) -> None:
        self._began = self._phase_began = self._last_update = self.clock()

    def __call__(self, event: str, data: Row) -> None:
        """Take one event of ``Trainer``."""
        now = self.clock()
        if event == "demonstrations":
            self._enter(PHASES[event], data["played"], data["count"], now)
            self.detail = "episodes of the expert"
        elif event == "sft":
            self._enter(PHASES[event], data["step"], data["steps"], now)
            self.detail = f"loss {data['loss']:.3f}"
        elif event == "evaluating":
            self._enter(f"evaluating {evaluation_name(data['when'])}", data["episodes"], data["total"], now)
            self.detail = f"{data['episodes']} of {data['total']} episodes"
        elif event == "evaluated":
            self._evaluation_seconds = now - self._phase_began
            self._last_update = now
        elif event == "rollout":
            self._enter(PHASES["training"], data["update"] - 1, self.updates, now)
            self.detail = f"update {data['update']}, {data['episodes']} episodes ended"
        elif event == "update":
            self.rows = [*(row for row in self.rows if row["update"] < data["update"]), data]  # made again on resume
            self._update_seconds = [*self._update_seconds, now - self._last_update][-10:]
            self._last_update = now
            self._enter(PHASES["training"], data["update"], self.updates, now)

    @property
    def elapsed(self) -> float:
        """Seconds since the start of this session."""
        return self.clock() - self._began

    @property
    def update_seconds(self) -> float:
        """Seconds that the last update took, its share of everything else included."""
        return self._update_seconds[-1] if self._update_seconds else 0.0

    def left(self) -> float | None:
        """Seconds that the run still needs: from recent updates and the last evaluation; ``None`` if unknown."""
        if not self._update_seconds or self.phase != PHASES["training"]:
            return self.phase_left()
        done = int(self.rows[-1]["update"])
        mean = sum(self._update_seconds) / len(self._update_seconds)
        evaluations = 1 + (self.updates // self.eval_every - done // self.eval_every if self.eval_every else 0)
        since = min(self.clock() - self._last_update, mean)
        return (self.updates - done) * mean - since + evaluations * self._evaluation_seconds

    def phase_left(self) -> float | None:
        """Seconds that the phase still needs, at its pace so far; ``None`` at its beginning."""
        made, elapsed = self.done - self._phase_from, self.clock() - self._phase_began
        if made <= 0 or not self.total:
            return None
        return elapsed / made * (self.total - self.done)

    def _enter(self, phase: str, done: int, total: int, now: float) -> None:
        if phase != self.phase:
            self._phase_began, self._phase_from = now, done
            self._last_update = now
        self.phase, self.done, self.total = phase, done, total


def evaluation_name(when: str) -> str:
    """``before`` and ``after`` in words."""
    return {"before": "before RL", "after": "after RL"}.get(when, f"after {when}")
