"""The one rollout harness: any snapshottable environment, any engine, any plan -> trees.

Invariant: a token is sampled from exactly the transcript on its path, a fork shares
both the environment's state and the engine's cache, nothing that decides a causal branch
is later than its decision token, and every fork of the environment is closed.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from algos.base import BranchRule, Plan
from algos.engines.base import Completion, Engine, Request, Sampling
from algos.episodes import Leaf, Mark, TextEnv, threads_for
from algos.ledger import Ledger
from algos.prompts import PromptFormat
from algos.seeds import derive_seed
from algos.tree import ROOT, Outcome, Tree
from sandgym.core import SandboxError


@dataclass(frozen=True)
class RolloutConfig:
    """How episodes are played and what they return.

    Attributes:
        success_weight: the return is (1 - w) * sum of rewards + w * success.
        max_invalid_actions: an episode ends with what it has after so many actions that
            the environment did not understand (None: never).
        max_live: episodes played at once; bounds memory.
    """

    success_weight: float = 0.5
    max_invalid_actions: int | None = 2
    max_live: int = 192


_Answer = tuple[str, Any, bool, bool, dict[str, Any]]


class Rollout:
    """Plays tasks with a policy.

    Args:
        env: any instance; it is forked for every episode.
        engine: generates tokens.
        prompts: the transcript's format.
        config: how episodes are played.
        ledger: counts what is spent.
    """

    def __init__(
        self, env: TextEnv, engine: Engine, prompts: PromptFormat, config: RolloutConfig, ledger: Ledger
    ) -> None:
        self.env, self.engine, self.prompts = env, engine, prompts
        self.config, self.ledger = config, ledger
        self._instructions: str = env.unwrapped.instructions  # type: ignore[attr-defined]
        self._open: dict[int, TextEnv] = {}
        self._pool: ThreadPoolExecutor | None = None

    def collect(
        self,
        tasks: Sequence[str],
        plan: Plan,
        sampling: Sampling,
        seed: int,
        version: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> list[Tree]:
        """One tree a task, in the order of ``tasks``.

        Args:
            tasks: task ids.
            plan: episodes a task and where they branch.
            sampling: how tokens are drawn.
            seed: with the task's place and the path it fixes every draw.
            version: recorded as the trees' policy version.
            progress: called with the number of episodes that have ended so far.

        Raises:
            ValueError: a task's prompt leaves no room for an action.
        """
        threads = threads_for(self.env)
        try:
            with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as self._pool:
                return self._play(tasks, plan, sampling, seed, version, progress)
        finally:
            for env in list(self._open.values()):  # of episodes that an exception cut off
                self._close(env)

    def _play(
        self,
        tasks: Sequence[str],
        plan: Plan,
        sampling: Sampling,
        seed: int,
        version: int,
        progress: Callable[[int], None] | None,
    ) -> list[Tree]:
        self.engine.reset()
        encoded = self.engine.encoded_tokens
        trees = [Tree(task, version) for task in tasks]
        live: list[Leaf] = []
        waiting = list(range(len(tasks)))[::-1]
        ended_before = self.ledger.episodes + self.ledger.failed
        while live or waiting:
            while waiting and (not live or len(live) + plan.roots <= self.config.max_live):
                index = waiting.pop()
                live += self._start(trees[index], index, plan, seed, sampling.max_tokens)
            live = self._turn(trees, live, plan.rule, sampling)
            if progress is not None:
                progress(self.ledger.episodes + self.ledger.failed - ended_before)
        self.ledger.encoded_tokens += self.engine.encoded_tokens - encoded
        return trees

    def _start(self, tree: Tree, index: int, plan: Plan, seed: int, max_tokens: int) -> list[Leaf]:
        """Reset the task once, encode its prompt once, fork both."""
        try:
            with self._env_time():
                observation, _ = self.env.reset(seed=derive_seed(seed, index, "reset"), options={"task": tree.task_id})
            envs = self._fork(self.env, plan.roots)
            self._count_snapshots(self.env, plan.roots)
        except SandboxError as error:
            tree.info["failure"] = str(error)
            self.ledger.failed += plan.roots
            return []
        transcript = self.prompts.transcript()
        prompt = transcript.opening(self._instructions, observation)
        if len(prompt) + max_tokens > self.engine.context:
            raise ValueError(
                f"the prompt of task {tree.task_id!r} has {len(prompt)} tokens, which leaves no room for an action of "
                f"{max_tokens} in a context of {self.engine.context}: choose a model with a longer context, shorter "
                "observations or shorter actions"
            )
        tree.segments[ROOT].read(prompt, 0)
        trunk = self.engine.open()
        self.engine.encode(trunk, prompt[:-1])
        leaves = []
        for root, env in enumerate(envs):
            sequence = self.engine.fork(trunk, len(prompt) - 1)
            key = derive_seed(seed, index, root)
            leaves.append(
                Leaf(
                    index, tree.grow(ROOT), env, transcript.fork(), sequence, key, prompt[-1:], len(prompt), len(prompt)
                )
            )
        self.engine.close(trunk)
        return leaves

    def _turn(self, trees: list[Tree], live: list[Leaf], rule: BranchRule | None, sampling: Sampling) -> list[Leaf]:
        """One action for every live episode; returns the episodes that are live afterwards."""
        requests = [
            Request(leaf.sequence, leaf.pending, leaf.seed, sampling.max_tokens - len(leaf.turn_tokens))
            for leaf in live
        ]
        completions = self.engine.generate(requests, sampling, self.prompts.stop)
        siblings: list[list[Leaf]] = []
        for leaf, completion in zip(live, completions, strict=True):
            tree = trees[leaf.tree]
            self._write(tree, leaf, completion)
            siblings.append([])
            if rule is not None and leaf.backbone:
                mark = leaf.mark()
                if rule.retrospective:
                    self._remember(tree, leaf, mark)
                else:
                    siblings[-1] = self._branch(tree, leaf, mark, rule)
        after: list[Leaf] = []
        for leaf, new, answer in zip(live, siblings, self._answers(live), strict=True):
            tree = trees[leaf.tree]
            after += new
            if self._step(tree, leaf, answer, sampling.max_tokens):
                after.append(leaf)
                continue
            if rule is not None and leaf.backbone and rule.retrospective:
                after += self._branch_finished(tree, leaf, rule)
            self.engine.close(leaf.sequence)
            self._close(leaf.env)
        return after

    def _write(self, tree: Tree, leaf: Leaf, completion: Completion) -> None:
        tree.segments[leaf.segment].write(completion.tokens, completion.logprobs, completion.entropies, leaf.step)
        leaf.turn_tokens += completion.tokens
        leaf.turn_entropies += completion.entropies
        leaf.position += len(completion.tokens)
        self.ledger.generated_tokens += len(completion.tokens)

    def _remember(self, tree: Tree, leaf: Leaf, mark: Mark) -> None:
        """Keep a turn to which a retrospective rule may come back."""
        leaf.marks.append(mark)
        try:
            mark.snapshot = leaf.env.snapshot()
            self._count_snapshots(leaf.env, 1)
        except SandboxError as error:  # it costs the branch, not the backbone
            tree.info["failure"] = str(error)

    def _branch(self, tree: Tree, leaf: Leaf, mark: Mark, rule: BranchRule) -> list[Leaf]:
        """Branch at the turn that was just sampled when a causal rule says so."""
        token = rule.choose(mark.turn)
        if token is None:
            return []
        try:
            envs = self._fork(leaf.env, rule.children - 1)
            self._count_snapshots(leaf.env, rule.children - 1)
        except SandboxError as error:  # it costs the branch, not the backbone
            tree.info["failure"] = str(error)
            return []
        return self._siblings(tree, leaf, mark, token, envs)

    def _branch_finished(self, tree: Tree, leaf: Leaf, rule: BranchRule) -> list[Leaf]:
        """Branch a finished backbone at the turns that a retrospective rule chooses."""
        leaves: list[Leaf] = []
        for number, token in rule.choose_finished([m.turn for m in leaf.marks]):
            mark = leaf.marks[number]
            if mark.snapshot is None:
                continue
            try:
                envs = self._fork(leaf.env, rule.children - 1)
                for env in envs:
                    env.restore(mark.snapshot)
            except SandboxError as error:
                tree.info["failure"] = str(error)
                continue
            leaves += self._siblings(tree, leaf, mark, token, envs)
        return leaves

    def _siblings(self, tree: Tree, leaf: Leaf, mark: Mark, token: int, envs: list[TextEnv]) -> list[Leaf]:
        """Alternatives to a backbone from one of its tokens on; the tokens before it are forced."""
        position = mark.position + token
        head, tail = tree.branch(leaf.segment, position)
        if head == leaf.segment:
            leaf.segment = tail
        branch, leaf.branches = leaf.branches, leaf.branches + 1
        self.ledger.branches += 1
        last = mark.tokens[token - 1] if token else self._token_before(tree, head)
        paid = sum(sum(tree.segments[i].rewards) for i in tree.path(head))
        siblings = []
        for k, env in enumerate(envs):
            siblings.append(
                Leaf(
                    tree=leaf.tree,
                    segment=tree.grow(head),
                    env=env,
                    transcript=mark.transcript.fork(),
                    sequence=self.engine.fork(leaf.sequence, position - 1),
                    seed=derive_seed(leaf.seed, branch, k),
                    pending=[last],
                    position=position,
                    turn_start=mark.position,
                    step=mark.turn.step,
                    backbone=False,
                    invalid=mark.invalid,
                    return_=paid,
                    turn_tokens=mark.tokens[:token],
                    turn_entropies=list(mark.turn.entropies[:token]),
                )
            )
        return siblings

    @staticmethod
    def _token_before(tree: Tree, head: int) -> int:
        return next(tree.segments[i].tokens[-1] for i in reversed(tree.path(head)) if len(tree.segments[i]))

    def _answers(self, live: Sequence[Leaf]) -> list[_Answer | SandboxError]:
        """What the environments answer to the actions; those that wait for other processes are asked at once."""
        with self._env_time():
            return list(self._pool.map(_answer, live) if self._pool is not None else map(_answer, live))

    @contextmanager
    def _env_time(self) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.ledger.env_seconds += time.perf_counter() - started

    def _step(self, tree: Tree, leaf: Leaf, answer: _Answer | SandboxError, max_tokens: int) -> bool:
        """Enter the environment's answer; False when the episode is over."""
        segment = tree.segments[leaf.segment]
        if isinstance(answer, SandboxError):
            segment.outcome = Outcome(failed=True)
            tree.info["failure"] = str(answer)
            self.ledger.failed += 1
            return False
        observation, reward, terminated, truncated, info = answer
        self.ledger.env_steps += 1
        leaf.invalid += not info.get("action_valid", True)
        limit = self.config.max_invalid_actions
        given_up = limit is not None and leaf.invalid >= limit
        following = leaf.transcript.following(observation, leaf.turn_tokens[-1] in self.prompts.stop)
        full = leaf.position + len(following) + max_tokens > self.engine.context
        over = terminated or truncated or given_up or full
        weight = self.config.success_weight
        shaped = (1 - weight) * float(reward) + weight * (over and info["success"])
        segment.pay(shaped)
        leaf.return_ += shaped
        if over:
            cut = not terminated and not given_up
            if cut and not full:
                segment.read(following, leaf.step + 1)
            segment.outcome = Outcome(leaf.return_, info["score"], info["success"], info["step"], cut)
            self.ledger.episodes += 1
            return False
        segment.read(following, leaf.step + 1)
        leaf.pending = [leaf.turn_tokens[-1], *following]
        leaf.position += len(following)
        leaf.turn_start, leaf.step = leaf.position, leaf.step + 1
        leaf.turn_tokens, leaf.turn_entropies = [], []
        return True

    def _fork(self, env: TextEnv, count: int) -> list[TextEnv]:
        """Forks that ``collect`` closes in the end if nobody did before."""
        with self._env_time():
            envs = env.fork(count)
        self._open |= {id(fork): fork for fork in envs}
        return envs

    def _close(self, env: TextEnv) -> None:
        del self._open[id(env)]
        env.close()

    def _count_snapshots(self, env: TextEnv, count: int) -> None:
        self.ledger.snapshots += count
        self.ledger.snapshot_bytes += count * len(pickle.dumps(env.snapshot(), pickle.HIGHEST_PROTOCOL))


def _answer(leaf: Leaf) -> _Answer | SandboxError:
    try:
        return leaf.env.step(leaf.transcript.action(leaf.turn_tokens))
    except SandboxError as error:
        return error
