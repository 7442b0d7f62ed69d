"""The training loop: plan -> rollout -> credit -> update, with a run folder that can be resumed.

Invariant: the state after update n is a function of the configuration; a run that was
killed and resumed writes the same metrics as one that was not (times aside).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

from algos.base import Algorithm
from algos.checkpoint import FULL, CheckpointError, DamagedError, newest_checkpoint, read_state, save_checkpoint, verify
from algos.config import TrainConfig
from algos.credit import alive, leaf_weights, prefix_explained_share, tied_groups
from algos.engines.source import EngineSource, engine_source
from algos.evaluate import Evaluation, evaluate
from algos.learner import Learner
from algos.ledger import Ledger
from algos.policy import Policy
from algos.rollout import Rollout
from algos.runfolder import RunFolder
from algos.seeds import derive_seed
from algos.tree import Tree
from algos.warmstart import starting_policy

Listener = Callable[[str, dict[str, Any]], None]


class Stopped(Exception):  # noqa: N818  a request that was met, not an error
    """The run was asked to stop; its state is saved."""


class Trainer:
    """One run.

    Args:
        config: the run's settings; on resume they come from the folder.
        folder: where the run lives.
        listener: told of everything that happens, as (event, data): ``demonstrations``, ``sft``, ``evaluating``,
            ``evaluated``, ``rollout``, ``learning``, ``update``, ``saving``, ``saved``.
    """

    def __init__(self, config: TrainConfig, folder: RunFolder, listener: Listener | None = None) -> None:
        self.config, self.folder = config, folder
        self._tell = listener or (lambda event, data: None)
        self._engines = engine_source(config.engine, config.vllm)
        self.stop_requested = False

    def run(self) -> dict[str, Any]:
        """Train from the newest checkpoint that is sound, or from the start.

        Returns:
            The run's evaluations, as in ``evaluation.json``.

        Raises:
            Stopped: ``stop_requested`` was set; everything finished so far is saved.
            BlockingIOError: another process is training in the folder.
            CheckpointError: the disk is full, or no checkpoint can be used; everything saved so far is untouched.
        """
        with (
            closing(gymnasium.make(self.config.env, **self.config.training_arguments())) as env,
            closing(self.folder),
            closing(self._engines),
        ):
            self.folder.lock()
            try:
                self._train(env)
            except OSError as error:
                if error.errno not in FULL:
                    raise
                raise CheckpointError(
                    f"the run stopped because {self.folder.path} could not be written: {error}. What is saved there is "
                    f"complete; free some space, then go on with --resume {self.folder.path}"
                ) from error
        self.folder.draw_curve()
        return self.folder.evaluations()

    def _train(self, env: Any) -> None:
        config = self.config
        torch.manual_seed(config.seed)
        policy, checkpoint = self._policy(env)
        algorithm = config.algorithm()
        if algorithm.needs_values or algorithm.records_values:
            policy.add_value_head()
        learner = Learner(policy, config.optimizer, config.temperature, config.updates, config.ratio_limit())
        ledger, first = Ledger(), 0
        if checkpoint is not None:
            state = read_state(checkpoint)
            first = state["update"]
            learner.optimizer.load_state_dict(torch.load(checkpoint / "optimizer.pt", weights_only=True))
            algorithm.load_state_dict(state["algorithm"])
            ledger = Ledger.from_dict(state["ledger"])
        self.folder.start(first, first == config.updates)
        if checkpoint is not None:
            self.folder.write_ledger(ledger)
        reference = Policy.load(self.folder.start_policy, config.device) if algorithm.loss.kl_coefficient else None
        if reference is not None:
            reference.share_base(policy)
        if "before" not in self.folder.evaluations():
            self._evaluate("before", Policy.load(self.folder.start_policy, config.device))
        for update in range(first, config.updates):
            name = f"update {update}"
            if self._evaluation_due(update) and name not in self.folder.evaluations():
                self._evaluate(name, policy)
            self._update(update, env, policy, learner, algorithm, ledger, reference)
            done = update + 1
            last = done == config.updates
            if last or done % config.checkpoint_every == 0 or self._evaluation_due(done) or self.stop_requested:
                self._tell("saving", {"update": done})
                keep, best = config.keep_checkpoints, self.folder.best()
                save_checkpoint(self.folder.checkpoints, done, policy, learner.optimizer, algorithm, ledger, keep, best)
                self.folder.write_ledger(ledger)
                self._tell("saved", {"update": done})
            if self.stop_requested and not last:
                raise Stopped
        if "after" not in self.folder.evaluations():
            self._evaluate("after", policy)

    def _evaluation_due(self, updates: int) -> bool:
        every = self.config.eval_every
        return bool(every) and updates > 0 and updates % every == 0

    def _policy(self, env: Any) -> tuple[Policy, Path | None]:
        """The policy to go on with, and the checkpoint that it comes from."""
        start, checkpoint = self.folder.start_policy, newest_checkpoint(self.folder.checkpoints)
        if start.is_dir():
            try:
                verify(start)
            except DamagedError as error:
                raise CheckpointError(f"{error}. Put back a copy of it, or start a new run") from error
        else:
            policy = starting_policy(self.config, env, self._demonstrated, self._sft_step)
            self.folder.write_start_policy(policy)
        return Policy.load(checkpoint or start, self.config.device), checkpoint

    def _demonstrated(self, played: int) -> None:
        self._tell("demonstrations", {"played": played, "count": self.config.sft.demonstrations})
        if self.stop_requested:
            raise Stopped

    def _sft_step(self, step: int, metrics: dict[str, float]) -> None:
        self._tell("sft", {"step": step + 1, "steps": self.config.sft.steps, **metrics})
        if self.stop_requested:
            raise Stopped

    def _evaluate(self, when: str, policy: Policy) -> None:
        results = evaluate_policy(self.config, policy, lambda n, total: self._evaluating(when, n, total), self._engines)
        summary = {name: result.summary() for name, result in results.items()}
        self.folder.write_evaluation(when, summary)
        self._tell("evaluated", {"when": when, **summary})

    def _evaluating(self, when: str, episodes: int, total: int) -> None:
        self._tell("evaluating", {"when": when, "episodes": episodes, "total": total})
        if self.stop_requested:
            raise Stopped

    def _update(
        self,
        update: int,
        env: Any,
        policy: Policy,
        learner: Learner,
        algorithm: Algorithm,
        ledger: Ledger,
        reference: Policy | None,
    ) -> None:
        config = self.config
        rng = np.random.default_rng((config.seed, update))
        tasks = env.unwrapped.task_ids
        chosen = rng.choice(len(tasks), min(config.tasks_per_update, len(tasks)), replace=False)
        before = ledger.to_dict()
        started = time.perf_counter()
        rollout = Rollout(env, self._engines.engine(policy), policy.prompts, config.rollout, ledger)
        trees = rollout.collect(
            [tasks[int(i)] for i in chosen],
            algorithm.plan(),
            config.sampling(),
            derive_seed(config.seed, "rollout", update),
            update,
            lambda n: self._tell("rollout", {"update": update + 1, "episodes": n}),
        )
        trees = [tree for tree in trees if any(alive(tree))]
        ledger.tied_groups += sum(tied_groups(tree) for tree in trees)
        del rollout  # its cache is not needed in learning
        self._engines.rest()
        rolled = time.perf_counter()
        self._tell("learning", {"update": update + 1})
        metrics = _rollout_metrics(trees)
        if trees:
            values = learner.values(trees) if algorithm.needs_values else None
            credits = algorithm.credit(trees, values)
            torch.manual_seed(derive_seed(config.seed, "learn", update))  # of an adapter's dropout
            metrics |= learner.update(
                trees, credits, algorithm.loss, update, algorithm.epochs, algorithm.minibatches, reference
            )
            metrics |= algorithm.learn_from(trees)
        learned = time.perf_counter()
        ledger.updates += 1
        ledger.trained_tokens += int(metrics.pop("trained_tokens", 0))
        ledger.rollout_seconds += rolled - started
        ledger.learn_seconds += learned - rolled
        spent = {f"spent/{name}": value - before[name] for name, value in ledger.to_dict().items()}
        row = {"update": update + 1, **metrics, **spent}
        self.folder.write_metrics(row)
        self._tell("update", row)


def evaluate_policy(
    config: TrainConfig,
    policy: Policy,
    progress: Callable[[int, int], None] | None = None,
    engines: EngineSource | None = None,
) -> dict[str, Evaluation]:
    """Evaluate a policy as the run with this configuration does before and after training."""
    with closing(gymnasium.make(config.env, **config.evaluation_arguments())) as env, ExitStack() as stack:
        if engines is None:
            engines = stack.enter_context(closing(engine_source(config.engine, config.vllm)))
        task_ids: Sequence[str] = env.unwrapped.task_ids  # type: ignore[attr-defined]
        tasks = list(task_ids[: config.eval_tasks])
        return evaluate(
            policy,
            env,  # type: ignore[arg-type]
            tasks,
            config.evaluation,
            progress=progress,
            engine=engines.engine(policy),
            max_live=config.rollout.max_live,
        )


def _rollout_metrics(trees: Sequence[Tree]) -> dict[str, float]:
    """Success, score and return of the policy (leaves weighted so that each tree counts once), and its entropy."""
    rows: list[tuple[float, float, float, float]] = []
    entropies: list[float] = []
    lengths: list[int] = []
    for tree in trees:
        for leaf, weight in leaf_weights(tree).items():
            outcome = tree.segments[leaf].outcome
            assert outcome is not None
            rows.append((weight, outcome.success, outcome.score, outcome.return_))
            lengths.append(outcome.steps)
        for segment in tree.segments:
            entropies += [h for h, written in zip(segment.entropies, segment.written, strict=True) if written]
    if not rows:
        return {}
    table = np.asarray(rows, np.float64)
    success, score, return_ = (table[:, 0] @ table[:, 1:]) / table[:, 0].sum()
    metrics = {
        "success": float(success),
        "score": float(score),
        "return": float(return_),
        "behaviour_entropy": float(np.mean(entropies)),
        "steps": float(np.mean(lengths)),
    }
    share = prefix_explained_share(list(trees))
    if share is not None:
        metrics["prefix_explained"] = share
    return metrics
