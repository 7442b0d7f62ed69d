"""Memory, disk and time that a run would take, from the sizes of its model and of its batches.

Invariant: plain arithmetic, nothing is run or written. What is counted, and what is assumed, stands in the functions;
speeds and sizes of batches come from ``algos.probe``. Of vLLM's own memory nothing is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from algos.config import TrainConfig
from algos.engines.transformers import PREFILL_TOKENS
from algos.lora import LoRAConfig, target_names
from algos.tree import ROOT, Tree

GROWTH = 1.25  # a cache grows by half at a time: what it has beyond need, on average, in each of two directions
LOGIT_BYTES = (
    28  # a token and word of the vocabulary, in learning: logits, scaled, log-probs, probs, product, gradients
)
SAMPLE_BYTES = 32  # the same in sampling: three float32 columns and two float64 ones
TOKEN_BYTES = 64  # of a transcript kept as Python's numbers: seven columns
Bytes = dict[str, float]


@dataclass(frozen=True)
class ModelSize:
    """What of a model's shape takes memory and time.

    Attributes:
        parameters: all of them.
        trainable: those that learn.
        layers, hidden, intermediate, vocabulary: as in the model's configuration.
        query, key: width of queries and of keys of a layer, all heads together.
        context: the longest transcript, in tokens.
        bytes: of a number of the model.
        trainable_bytes: of a number that learns.
    """

    parameters: float
    trainable: float
    layers: int
    hidden: int
    intermediate: int
    vocabulary: int
    query: int
    key: int
    context: int
    bytes: int = 4
    trainable_bytes: int = 4

    @classmethod
    def of(cls, configuration: Any, number_bytes: int, lora: LoRAConfig) -> ModelSize:
        """Of a configuration of transformers: the model is built without its numbers and counted."""
        import torch
        from transformers import AutoModelForCausalLM

        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(configuration)
        parameters = sum(p.numel() for p in model.parameters())
        trainable = parameters
        if lora.rank:
            targets = set(target_names(model, lora.targets))
            linear = [m for n, m in model.named_modules() if n.rpartition(".")[2] in targets]
            trainable = sum(lora.rank * (m.in_features + m.out_features) for m in linear)
        heads = configuration.num_attention_heads
        head = getattr(configuration, "head_dim", None) or configuration.hidden_size // heads
        return cls(
            parameters,
            trainable,
            configuration.num_hidden_layers,
            configuration.hidden_size,
            configuration.intermediate_size,
            configuration.vocab_size,
            heads * head,
            configuration.num_key_value_heads * head,
            configuration.max_position_embeddings,
            number_bytes,
            4 if lora.rank else number_bytes,
        )

    @property
    def weights(self) -> float:
        """Bytes of the weights, an adapter's included."""
        adapter = self.trainable * self.trainable_bytes if self.trainable != self.parameters else 0.0
        return self.parameters * self.bytes + adapter

    @property
    def optimizer(self) -> float:
        """Bytes that the optimizer keeps: two moments in float32, and a copy of weights of a lower precision."""
        return self.trainable * (8.0 if self.trainable_bytes >= 4 else 12.0)

    @property
    def learning(self) -> float:
        """Bytes of the optimizer and of gradients, which a step holds in float32 too."""
        return self.optimizer + self.trainable * (self.trainable_bytes + (0.0 if self.trainable_bytes >= 4 else 4.0))

    def cache(self, tokens: float) -> float:
        """Bytes of the keys and values of so many tokens."""
        return 2.0 * tokens * self.layers * self.key * self.bytes

    def activations(self, tokens: float, paths: float, seen: float) -> float:
        """Bytes that a backward pass needs of the layers, for a Llama without checkpointing.

        A token and layer: inputs, scaled inputs and outputs of two norms, rotated queries, their outputs twice,
        rotated keys and values, four columns of the gated feed-forward; of each segment, keys and values of its whole
        path for every query head, and a mask of float32.

        Args:
            tokens: of a micro-batch.
            paths: tokens of the segments' paths beside one of the segments' own tokens.
            seen: tokens that a token attends to.
        """
        columns = 6 * self.hidden + 3 * self.query + 2 * self.key + 4 * self.intermediate + 2 * self.query * paths
        return tokens * self.layers * (self.bytes * columns + 4 * seen)


@dataclass(frozen=True)
class Workload:
    """One update's batch.

    Attributes:
        live: episodes that are played at once.
        context: tokens of the longest transcript.
        horizon: tokens of one that uses every step that the environment has.
        generated, trained: tokens of the batch, each shared prefix counted once.
        largest: tokens of the largest tree.
        written: share of the tokens that the policy wrote.
        paths, seen: see ``ModelSize.activations``.
        an_episode: tokens that the policy writes in an episode from its beginning to its end.
    """

    live: float
    context: float
    horizon: float
    generated: float
    trained: float
    largest: float
    written: float
    paths: float
    seen: float
    an_episode: float

    @classmethod
    def of(cls, trees: list[Tree], config: TrainConfig, steps: int | None) -> Workload:
        """Of a whole batch, when some of its trees are given.

        Args:
            trees: rollouts of some tasks.
            config: of the run.
            steps: of an episode at most; None: not known, those that were seen.
        """
        scale = config.tasks_per_update / len(trees)
        spans = [(len(s), t.path_length(i)) for t in trees for i, s in enumerate(t.segments) if len(s)]
        tokens = sum(span for span, _ in spans)
        leaves = [(t, leaf) for t in trees for leaf in t.leaves()]
        written = sum(sum(s.written) for t in trees for s in t.segments)
        episodes = [sum(sum(t.segments[i].written) for i in t.path(leaf)) for t, leaf in leaves]
        return cls(
            live=min(len(leaves) * scale, config.rollout.max_live * len(leaves) / _roots(trees)),
            context=max(t.path_length(leaf) for t, leaf in leaves),
            horizon=max(_stretched(t, leaf, steps) for t, leaf in leaves),
            generated=scale * written,
            trained=scale * tokens,
            largest=max(t.unique_tokens() for t in trees),
            written=written / tokens,
            paths=sum(path for _, path in spans) / tokens,
            seen=sum(span * (path - span / 2) for span, path in spans) / tokens,
            an_episode=sum(episodes) / len(episodes),
        )


@dataclass(frozen=True)
class Speed:
    """Tokens a second, and where the numbers come from.

    Attributes:
        generated: sampled tokens, everything that a rollout does included.
        trained: tokens of learning, each pass counted.
        source: in words.
        demonstrations: demonstrations a second; infinite: they take no time.
    """

    generated: float
    trained: float
    source: str
    demonstrations: float = math.inf


def at_horizon(prompt: float, length: float, taken: float, steps: int | None) -> float:
    """Length of a transcript that goes on as it began: ``length`` tokens after ``taken`` of ``steps`` steps."""
    return prompt + (length - prompt) / max(taken, 1) * max(steps or 0, taken)


def _stretched(tree: Tree, leaf: int, steps: int | None) -> float:
    outcome = tree.segments[leaf].outcome
    taken = outcome.steps if outcome is not None else 0
    return at_horizon(len(tree.segments[ROOT]), tree.path_length(leaf), taken, steps)


def _roots(trees: list[Tree]) -> int:
    return sum(len(t.segments[ROOT].children) or 1 for t in trees)


def memory(size: ModelSize, work: Workload, config: TrainConfig, process: float, warm: bool) -> dict[str, Bytes]:
    """Bytes at most, by phase and by what takes them.

    Args:
        size: of the model.
        work: a batch.
        config: of the run.
        process: bytes of the process without the model: the interpreter, libraries, the environment.
        warm: whether the run begins with a warm start.
    """
    learns = {
        "weights": size.weights,
        "optimizer and gradients": size.learning,
    }
    algorithm = config.algorithm()
    frozen = size.weights if size.trainable == size.parameters else size.trainable * size.trainable_bytes
    reference = {"reference": frozen} if algorithm.loss.kl_coefficient else {}  # an adapter's shares the base
    phases: dict[str, Bytes] = {}
    if warm:
        tokens = max(config.sft.batch_tokens, work.context) + work.context / 2
        share = max(work.written, config.sft.observation_share)
        phases["warm start"] = {
            **learns,
            "activations": size.activations(tokens, 1.0, work.seen),
            "logits": tokens * share * size.vocabulary * LOGIT_BYTES,
            "demonstrations": config.sft.demonstrations * work.context * TOKEN_BYTES,
        }
    players = min(config.eval_tasks * config.evaluation.samples, config.rollout.max_live)
    longest = min(work.horizon, size.context)
    for phase, live in (("evaluation", players), ("rollout", work.live)):
        playing = _playing(size, live, longest) if config.engine == "transformers" else {}
        phases[phase] = {**learns, **reference, **playing}
    tokens = min(max(config.optimizer.micro_batch_tokens, work.largest), work.trained)
    phases["learning"] = {
        **learns,
        **reference,
        "activations": size.activations(tokens, work.paths, work.seen),
        "logits": tokens * work.written * size.vocabulary * LOGIT_BYTES,
        "transcripts": work.trained * TOKEN_BYTES,
    }
    return {phase: {"process": process, **parts} for phase, parts in phases.items()}


def _playing(size: ModelSize, live: float, context: float) -> Bytes:
    """Bytes of sampling: the cache, prompts on their way through the model, logits."""
    prefill = min(PREFILL_TOKENS, live * context) * size.bytes * (6 * size.hidden + 3 * size.intermediate)
    return {
        "cache": size.cache(live * context * GROWTH**2),
        "activations": prefill,
        "logits": live * size.vocabulary * SAMPLE_BYTES,
    }


def disk(size: ModelSize, config: TrainConfig) -> float:
    """Bytes of the start policy and the checkpoints, one that is being written and the best one included."""
    policy = size.weights if size.trainable == size.parameters else size.trainable * size.trainable_bytes
    one = policy + size.optimizer
    return policy + one * (config.keep_checkpoints + 1 + bool(config.eval_every))


def seconds(work: Workload, speed: Speed, config: TrainConfig, warm: bool) -> dict[str, tuple[int, float]]:
    """How often each part of a run comes, and the seconds of one."""
    algorithm = config.algorithm()
    sft = config.sft
    parts: dict[str, tuple[int, float]] = {}
    if warm:
        fitted = sft.drill_steps * sft.drill_tokens + sft.steps * (sft.batch_tokens + work.context / 2)
        parts["warm start"] = (1, sft.demonstrations / speed.demonstrations + fitted / speed.trained)
    evaluations = 2 + ((config.updates - 1) // config.eval_every if config.eval_every else 0)
    episodes = config.eval_tasks * (1 + config.evaluation.samples)
    parts["evaluation"] = (evaluations, episodes * work.an_episode / speed.generated)
    parts["rollout"] = (config.updates, work.generated / speed.generated)
    parts["learning"] = (config.updates, work.trained * algorithm.epochs / speed.trained)
    return parts
