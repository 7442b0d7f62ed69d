"""A slippery ladder: a small environment that keeps the contract by hand, with mutable state and a generator."""

import json
from typing import Any, Self

import gymnasium

from sandgym import Snapshot, SnapshottableEnv
from sandgym.core import SnapshotMismatch
from sandgym.text import UnicodeText

TOP = 4
HORIZON = 12


class LadderEnv(SnapshottableEnv[str, str]):
    """``up`` climbs a rung with probability 0.7; the top ends the episode, so do 12 steps."""

    observation_space = UnicodeText()
    action_space = UnicodeText()

    def __init__(self) -> None:
        self.trail: list[int] | None = None
        self.over = False
        self.last: tuple[str, dict[str, Any]] = ("", {})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.trail, self.over = [0], False
        return self.look()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.trail is None or self.over:
            raise gymnasium.error.ResetNeeded("reset")
        slips = self.slips()
        self.trail.append(self.trail[-1] + (action == "up" and not slips))
        done, late = self.trail[-1] == TOP, len(self.trail) > HORIZON
        self.over = done or late
        return (self.look()[0], float(done), done, late and not done, self.last[1].copy())

    def slips(self) -> bool:
        return bool(self.np_random.random() > 0.7)

    def look(self) -> tuple[str, dict[str, Any]]:
        assert self.trail is not None
        height = self.trail[-1]
        info = {
            "task_id": "ladder",
            "step": len(self.trail) - 1,
            "success": height == TOP,
            "score": height / TOP,
            "admissible_actions": ("up", "wait"),
        }
        self.last = f"rung {height}", info
        return self.last[0], info.copy()

    def state(self) -> Any:
        assert self.trail is not None
        return tuple(self.trail), self.over, json.dumps(self.np_random.bit_generator.state, sort_keys=True)

    def snapshot(self) -> Snapshot:
        if self.trail is None:
            raise gymnasium.error.ResetNeeded("reset")
        return Snapshot("ladder", self.state(), self.last)

    def restore(self, snapshot: Snapshot) -> tuple[str, dict[str, Any]]:
        if snapshot.world != "ladder":
            raise SnapshotMismatch("not a ladder")
        trail, self.over, generator = snapshot.state
        self.trail = list(trail)
        self.np_random.bit_generator.state = json.loads(generator)
        self.last = snapshot.last
        return self.last[0], self.last[1].copy()

    def fork(self, k: int) -> list[Self]:
        if k < 0:
            raise ValueError(f"cannot fork {k} environments")
        children = [type(self)() for _ in range(k)]
        for child in children:
            child.restore(self.snapshot())
        return children
