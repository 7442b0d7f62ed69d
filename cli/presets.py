"""Settings that suit an environment better than the general defaults.

Invariant: keys and texts are those of ``--set``; what a user gives goes before them.
"""

from __future__ import annotations

PRESETS: dict[str, dict[str, str]] = {
    "sandgym/ALFWorld-v0": {
        "env_options.domain_randomization": "true",
        "rollout.max_invalid_actions": "4",
        "sft.drill_steps": "100",
        "sft.opening_steps": "0",
        "sft.crop_steps": "0",
    },
}
