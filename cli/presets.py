"""Settings that suit an environment better than the general defaults.

Invariant: keys and texts are those of ``--set``; what a user gives goes before them.
"""

from __future__ import annotations

PRESETS: dict[str, dict[str, str]] = {
    "sandgym/ALFWorld-v0": {
        "env_options.observation_mode": "compact",
        "train_options.domain_randomization": "true",
        "env_options.max_steps": "20",
        "updates": "90",
        "rollout.max_invalid_actions": "8",
        "optimizer.lr": "6e-4",
        "sft.noise": "0.3",
        "sft.steps": "1700",
        "sft.batch_tokens": "1600",
        "sft.observation_share": "0",
        "sft.drill_steps": "300",
        "sft.opening_steps": "0",
        "sft.turn_steps": "1300",
        "sft.crop_steps": "0",
        "tiny.hidden": "96",
        "tiny.layers": "3",
        "tiny.intermediate": "288",
    },
}
