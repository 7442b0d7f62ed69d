"""What a run's batches are like and how fast they go: measured where the model is at hand, else assumed.

Invariant: nothing is downloaded but a model's configuration, and nothing is written.
"""

from __future__ import annotations

import dataclasses
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoTokenizer, Qwen2Config
from transformers.utils import cached_file

from algos.config import TrainConfig
from algos.demonstrations import Demonstration, as_tree, demonstrate
from algos.estimate import ModelSize, Speed, Workload, at_horizon
from algos.learner import Learner
from algos.ledger import Ledger
from algos.policy import Policy
from algos.pretrained import is_gguf, located
from algos.prompts import format_for
from algos.rollout import Rollout
from algos.tree import ROOT, Tree
from algos.warmstart import starting_policy, warm_start_folder

PROBED_TASKS = 4
DEMONSTRATIONS = 12
CHARACTERS = 4.0  # of a token, where there is no tokenizer
USED = 0.4  # share of the speed of plain matrix products that a model gets in learning
BANDWIDTH, PRODUCTS = 2e12, 3e14  # of a data-centre GPU that is not there: bytes and 16-bit operations a second
QWEN = {  # Qwen2.5, for a model of which only the name is known: layers, hidden, intermediate, heads, key-value heads
    0.5e9: (24, 896, 4864, 14, 2),
    1.5e9: (28, 1536, 8960, 12, 2),
    3e9: (36, 2048, 11008, 16, 2),
    7.6e9: (28, 3584, 18944, 28, 4),
    14.7e9: (48, 5120, 13824, 40, 8),
}


@dataclass(frozen=True)
class Probe:
    """What the estimate is made of; ``notes`` say where each number comes from."""

    size: ModelSize
    work: Workload
    speed: Speed
    warm: bool
    notes: list[str]


def probe(config: TrainConfig, env: Any) -> Probe:
    """Look at the model and the environment of a run, and try a small batch where the model is on this machine.

    Raises:
        gymnasium.error.Error: the model is not here, and the environment has no expert whose episodes could stand for
            the policy's.
        ValueError: nothing is known of the model, not even its size.
    """
    unfitted = config.model == "tiny" and not warm_start_folder(env, config.tiny, config.sft).is_dir()
    warm = unfitted and config.warm_start
    number = 4 if config.device == "cpu" else 2
    notes: list[str] = []
    if config.engine == "vllm":
        notes.append("vLLM: not started; its memory is not counted, and rollouts are as fast as without it")
    if config.model == "tiny":
        few = dataclasses.replace(config.sft, demonstrations=DEMONSTRATIONS * 5)
        changed = dataclasses.replace(config, warm_start=False, sft=few) if unfitted else config
        policy = starting_policy(changed, env)
        size = ModelSize.of(policy.model.config, number, config.lora)
    elif _is_here(config.model):
        size = ModelSize.of(AutoConfig.from_pretrained(located(config.model)), number, config.lora)
        if not _fits(size, config.device):
            notes.append(f"the model was not tried: it does not fit into this machine's memory for {config.device}")
            return _assumed(config, env, size, notes, located(config.model))
        policy = starting_policy(config, env)
    else:
        return _assumed(config, env, _size_by_name(config, number, notes), notes, None)
    trees, speed = _measured(config, env, policy)
    steps = _steps(env)
    work = Workload.of(trees, config, steps)
    if unfitted:
        started = time.perf_counter()
        demonstrations = _demonstrations(config, env)
        speed = dataclasses.replace(speed, demonstrations=len(demonstrations) / (time.perf_counter() - started))
        work = _expected(config, [as_tree(d, policy.prompts) for d in demonstrations], steps)
        notes.append(
            f"episodes: as long as {len(demonstrations)} of the demonstrator's, since the policy is not fitted yet"
        )
    else:
        notes.append(
            f"episodes: as long as those of a rollout of {len(trees)} tasks with the policy that learning starts from"
        )
    return Probe(size, work, speed, warm, [f"speed: {speed.source}", *notes])


def _measured(config: TrainConfig, env: Any, policy: Policy) -> tuple[list[Tree], Speed]:
    """One small rollout and one learning step on it, timed; the policy is changed."""
    algorithm = config.algorithm()
    if algorithm.needs_values or algorithm.records_values:
        policy.add_value_head()
    tasks = env.unwrapped.task_ids
    count = min(PROBED_TASKS, config.tasks_per_update, len(tasks))
    chosen = np.random.default_rng(config.seed).choice(len(tasks), count, replace=False)
    ledger = Ledger()
    started = time.perf_counter()
    rollout = Rollout(env, policy.engine(), policy.prompts, config.rollout, ledger)
    trees = rollout.collect([tasks[int(i)] for i in chosen], algorithm.plan(), config.sampling(), config.seed)
    trees = [tree for tree in trees if any(o.steps for o in tree.outcomes())]
    if not trees:
        raise ValueError(f"every episode of the probe failed: {ledger.failed} infrastructure failures")
    rolled = time.perf_counter()
    learner = Learner(policy, config.optimizer, config.temperature, config.updates)
    credits = algorithm.credit(trees, learner.values(trees) if algorithm.needs_values else None)
    for credit in credits:  # ties would be left out; what they are is chance
        credit.advantages = [np.ones_like(a) for a in credit.advantages]
        credit.weights = [np.ones_like(w) for w in credit.weights]
    reference = policy if algorithm.loss.kl_coefficient else None
    metrics = learner.update(trees, credits, algorithm.loss, 0, algorithm.epochs, algorithm.minibatches, reference)
    learned = time.perf_counter()
    source = f"measured in one rollout of {count} tasks and one learning step on this machine's {config.device}"
    generated = ledger.generated_tokens / (rolled - started)
    return trees, Speed(generated, metrics["trained_tokens"] / (learned - rolled), source)


def _assumed(config: TrainConfig, env: Any, size: ModelSize, notes: list[str], place: str | Path | None) -> Probe:
    """Speeds from the number of parameters, episodes from the demonstrator."""
    demonstrations = _demonstrations(config, env)
    if place is not None:
        prompts = format_for(AutoTokenizer.from_pretrained(place), config.prompts)
        trees = [as_tree(d, prompts) for d in demonstrations]
        lengths = f"as long as {len(trees)} of the demonstrator's"
    else:
        trees = [_counted(d) for d in demonstrations]
        lengths = f"as long as {len(trees)} of the demonstrator's, {CHARACTERS:g} characters a token"
    work = _expected(config, trees, _steps(env))
    products, bandwidth, where = _machine(config.device, size.bytes)
    rollout = (  # episodes go side by side: a batch has as many decoding steps as an episode
        work.an_episode * size.weights / bandwidth
        + 2 * size.parameters * (work.generated + work.trained) / (USED * products)
    )
    learning = 6 * size.parameters * work.trained / (USED * products)
    source = (
        f"not measured, but computed from {size.parameters / 1e9:.2g} G parameters and {where}: 2 operations a "
        f"parameter and token in rollouts, 6 in learning, at {100 * USED:.0f} % of that speed, and the weights read "
        "once a decoding step"
    )
    speed = Speed(work.generated / rollout, work.trained / learning, source)
    return Probe(size, work, speed, False, [f"speed: {source}", f"episodes: {lengths}", *notes])


def _steps(env: Any) -> int | None:
    """Steps of an episode at most, where the environment says so."""
    steps = getattr(env.unwrapped, "max_steps", None)
    return steps if isinstance(steps, int) else None


def _expected(config: TrainConfig, trees: list[Tree], steps: int | None) -> Workload:
    """The workload when the policy's episodes are as long as some demonstrations, one-segment trees.

    A branch's siblings share half of the backbone on average.
    """
    algorithm = config.algorithm()
    plan = algorithm.plan()
    branches = getattr(algorithm.config, "branches", 0.0) if plan.rule is not None else 0.0
    siblings = branches * (plan.rule.children - 1) if plan.rule is not None else 0.0
    segments = [tree.segments[ROOT] for tree in trees]
    total = float(np.mean([len(s) for s in segments]))
    prompt = float(np.mean([s.written.index(True) if any(s.written) else len(s) for s in segments]))
    written = float(np.mean([sum(s.written) for s in segments]))
    new = plan.roots * (1 + siblings / 2)
    tree = prompt + new * (total - prompt)
    leaves = plan.roots * (1 + siblings)
    return Workload(
        live=min(config.tasks_per_update * plan.roots, config.rollout.max_live) * (1 + siblings),
        context=float(max(len(s) for s in segments)),
        horizon=max(at_horizon(prompt, len(s), s.steps[-1] + 1, steps) for s in segments),
        generated=config.tasks_per_update * new * written,
        trained=config.tasks_per_update * tree,
        largest=tree,
        written=new * written / tree,
        paths=leaves * total / tree,
        seen=0.6 * total,
        an_episode=written,
    )


def _demonstrations(config: TrainConfig, env: Any) -> list[Demonstration]:
    return demonstrate(env, list(env.unwrapped.task_ids), DEMONSTRATIONS, config.sft.noise, config.sft.seed)


def _counted(demonstration: Demonstration) -> Tree:
    """A demonstration as a tree whose tokens are counted from characters."""
    tree = Tree("")
    segment = tree.segments[ROOT]
    pairs = zip(demonstration.observations, demonstration.actions, strict=True)
    for step, (observation, action) in enumerate(pairs):
        text = observation if step else f"{demonstration.instructions}\n{observation}"
        segment.read([0] * (1 + round(len(text) / CHARACTERS)), step)
        count = 1 + round(len(action) / CHARACTERS)
        segment.write([0] * count, [0.0] * count, [0.0] * count, step)
    return tree


def _is_here(model: str) -> bool:
    """Whether a model is on this machine's disk."""
    if is_gguf(model) or Path(model).expanduser().is_dir():
        return True
    return any(_is_kept(model, name) for name in ("model.safetensors", "model.safetensors.index.json"))


def _is_kept(model: str, name: str) -> bool:
    try:
        return cached_file(model, name, local_files_only=True) is not None
    except OSError:
        return False


def _fits(size: ModelSize, device: str) -> bool:
    """Whether weights, optimizer and gradients fit, with a fifth to spare."""
    if device == "cpu":
        room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    elif torch.cuda.is_available():
        room = torch.cuda.mem_get_info()[0]
    else:
        return False
    return size.weights + size.learning < 0.8 * room


def _size_by_name(config: TrainConfig, number: int, notes: list[str]) -> ModelSize:
    """Of a hub id that is not on this disk: its configuration, or else a number of parameters in its name."""
    try:
        size = ModelSize.of(AutoConfig.from_pretrained(config.model), number, config.lora)
        notes.append("the model is not on this machine; its shape is that of its configuration")
        return size
    except OSError as error:
        found = re.search(r"(\d+(?:\.\d+)?)\s*([BbMm])\b", config.model)
        if found is None:
            raise ValueError(
                f"nothing is known of the model {config.model}: it is not on this machine, its configuration cannot be "
                f"had ({str(error).splitlines()[0]}), and its name does not say how large it is"
            ) from error
    parameters = float(found[1]) * (1e9 if found[2] in "Bb" else 1e6)
    nearest = min(QWEN, key=lambda known: abs(np.log(known / parameters)))
    layers, hidden, intermediate, heads, key_heads = QWEN[nearest]
    shape = Qwen2Config(
        vocab_size=151_936,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        tie_word_embeddings=nearest < 5e9,
    )
    size = ModelSize.of(shape, number, config.lora)
    notes.append(
        f"the model is not on this machine and its configuration could not be had: {found[0]} parameters by its name, "
        f"the shape of Qwen2.5's model of {nearest / 1e9:g} G"
    )
    trainable = size.trainable if config.lora.rank else parameters
    return dataclasses.replace(size, parameters=parameters, trainable=trainable)


def _machine(device: str, number: int) -> tuple[float, float, str]:
    """Operations and bytes a second of the device, measured, or of a GPU that is assumed."""
    if device != "cpu" and not torch.cuda.is_available():
        return (
            PRODUCTS,
            BANDWIDTH,
            f"a GPU of {PRODUCTS / 1e12:.0f} TFLOP/s and {BANDWIDTH / 1e12:g} TB/s (there is none here)",
        )
    side = 1024 if device == "cpu" else 8192
    a = torch.ones(side, side, device=device, dtype=torch.float32 if number == 4 else torch.bfloat16)
    products = 2 * side**3 / _shortest(lambda: a @ a, device)
    big = torch.ones(64 * 2**20 // 4 if device == "cpu" else 2**28, device=device)
    bandwidth = 4 * big.numel() / _shortest(big.sum, device)
    return products, bandwidth, f"the measured {products / 1e12:.2g} TFLOP/s and {bandwidth / 1e9:.3g} GB/s of {device}"


def _shortest(run: Any, device: str) -> float:
    times = []
    for _ in range(4):
        started = time.perf_counter()
        run()
        if device != "cpu":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return min(times)
