"""Algorithms by name. Adding one is a module and a line here."""

from __future__ import annotations

from algos.base import Algorithm
from algos.bpo import BPO
from algos.grpo import GRPO
from algos.ppo import PPO
from algos.rloo import RLOO

ALGORITHMS: dict[str, type[Algorithm]] = {a.name: a for a in (BPO, GRPO, PPO, RLOO)}
