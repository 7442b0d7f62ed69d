"""Settings that suit an environment better than the general defaults.

Invariant: keys and texts are those of ``--set``; what a user gives goes before them. A horizon is that of the bundled
tasks: with other data it is the environment's own.
"""

from __future__ import annotations

from collections.abc import Mapping

PRESETS: dict[str, dict[str, str]] = {
    "sandgym/ALFWorld-v0": {
        "env_options.observation_mode": "compact",
        "train_options.domain_randomization": "true",
        "env_options.max_steps": "20",
        "updates": "80",
        "rollout.max_invalid_actions": "8",
        "optimizer.lr": "6e-4",
        "sft.noise": "0.42",
        "sft.steps": "2000",
        "sft.batch_tokens": "1600",
        "sft.observation_share": "0",
        "sft.drill_steps": "300",
        "sft.opening_steps": "0",
        "sft.turn_steps": "1500",
        "sft.crop_steps": "0",
        "tiny.hidden": "96",
        "tiny.layers": "3",
        "tiny.intermediate": "288",
    },
    "sandgym/SWEbenchVerified-v0": {
        "env_options.max_steps": "5",
        "max_turn_tokens": "96",
        "evaluation.max_turn_tokens": "96",
        "updates": "30",
        "optimizer.lr": "3e-4",
        "optimizer.warmup": "3",
        "sft.demonstrations": "400",
        "sft.noise": "0.9",
        "sft.steps": "1500",
        "sft.batch_tokens": "2000",
        "sft.observation_share": "0",
        "sft.drill_steps": "60",
        "sft.opening_steps": "800",
        "sft.turn_steps": "350",
        "sft.crop_steps": "0",
        "sft.rename_share": "0.6",
        "tiny.induction": "true",
    },
}


def preset(env_id: str, given: Mapping[str, str]) -> dict[str, str]:
    """What suits an environment and was not given.

    Args:
        env_id: its Gymnasium id.
        given: dotted keys and texts of the user.
    """
    settings = PRESETS.get(env_id, {}) | dict(given)
    if given.get("env_options.data", "bundled") != "bundled" and "env_options.max_steps" not in given:
        settings.pop("env_options.max_steps", None)
    return settings
