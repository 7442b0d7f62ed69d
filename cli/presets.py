"""Settings that suit an environment better than the general defaults.

Invariant: keys and texts are those of ``--set``; what a user gives goes before them.
"""

from __future__ import annotations

PRESETS: dict[str, dict[str, str]] = {
    "sandgym/ALFWorld-v0": {
        "env_options.observation_mode": "compact",
        "train_options.domain_randomization": "true",
        "env_options.max_steps": "30",
        "tasks_per_update": "8",
        "updates": "100",
        "rollout.max_invalid_actions": "20",
        "optimizer.lr": "1.5e-4",
        "sft.noise": "0.2",
        "sft.steps": "1700",
        "sft.batch_tokens": "1800",
        "sft.observation_share": "0",
        "sft.opening_steps": "0",
        "sft.turn_steps": "1100",
        "sft.crop_steps": "0",
        "tiny.hidden": "96",
        "tiny.layers": "3",
        "tiny.intermediate": "288",
    },
}
