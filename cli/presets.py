"""Settings that suit an environment and a model better than the general defaults.

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

WITHOUT_VALUES: dict[str, dict[str, str]] = {
    "bpo": {
        "algo_options.value_head": "false",
        "algo_options.selection": "threshold",
        "algo_options.roulette": "0",
        "algo_options.allocate": "false",
        "algo_options.shares": "equal",
    }
}
"""By algorithm, for engines that record no values."""
TINY: dict[str, dict[str, str]] = {"bpo": WITHOUT_VALUES["bpo"] | {"algo_options.baseline": "sibling"}}
"""By algorithm. On a laptop's cores learning takes as long as playing. Episodes that all fail give no credit beside the
mean of their siblings, so that their tokens need not be run through the model; beside an estimate they do."""
PRETRAINED: dict[str, str] = {
    "optimizer.lr": "1e-6",
    "optimizer.embedding_lr_factor": "1",
    "optimizer.value_lr_factor": "100",
    "rollout.max_live": "32",
    "sft.lr": "2e-5",
    "sft.observation_share": "0",
    "sft.drill_steps": "0",
    "sft.opening_steps": "0",
    "sft.turn_steps": "0",
    "sft.crop_steps": "0",
    "sft.rename_share": "0",
}
"""Such a model can read and copy, and has much to lose; its cache is large. Source of the rates: verl-agent, and ten
times as much for an adapter (LoRA Without Regret). A value head begins at 0 and would not get away from there at such
rates: it learns at 1e-4, our guess."""
ADAPTER: dict[str, str] = {"optimizer.lr": "1e-5", "optimizer.value_lr_factor": "10", "sft.lr": "2e-4"}


def preset(env_id: str, algo: str, given: Mapping[str, str], tiny: bool, adapter: bool) -> dict[str, str]:
    """What suits an environment, an algorithm, a model and an engine and was not given.

    Args:
        env_id: its Gymnasium id.
        algo: the algorithm's name.
        given: dotted keys and texts of the user.
        tiny: whether the model is ``tiny``.
        adapter: whether an adapter on another model learns.
    """
    of_model = TINY.get(algo, {}) if tiny else PRETRAINED | (ADAPTER if adapter else {})
    of_engine = WITHOUT_VALUES.get(algo, {}) if given.get("engine") == "vllm" else {}
    settings = PRESETS.get(env_id, {}) | of_engine | of_model | dict(given)
    if given.get("env_options.data", "bundled") != "bundled" and "env_options.max_steps" not in given:
        settings.pop("env_options.max_steps", None)
    return settings
