"""The one rollout harness: any snapshottable environment, any engine, any plan -> trees.

Invariant: a token is sampled from exactly the transcript on its path, a fork shares
both the environment's state and the engine's cache, and nothing that decides a causal branch
or a roulette is later than its decision token.

The context is a budget: a transcript is never shortened, so that what is trained is what was seen. An
episode is played on as long as the next observation and a whole action fit in. Where they do not, it ends
truncated, with the rewards it has, and its last observation stays out of the tree. A task whose first
prompt leaves no room for an action is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from algos.base import BranchRule, Plan, RouletteRule
from algos.engines.base import Completion, Engine, Request, Sampling
from algos.episodes import Answer, Crossroads, Leaf, Mark, TextEnv
from algos.forks import Forks
from algos.ledger import Ledger, saved_by_stopping
from algos.prompts import PromptFormat
from algos.seeds import COIN_DRAWS, derive_seed, uniforms
from algos.tree import ROOT, Outcome, Tree
from sandgym.core import SandboxError


@dataclass(frozen=True)
class RolloutConfig:
    """How episodes are played and what they return.

    Attributes:
        success_weight: the return is (1 - w) * sum of rewards + w * success.
        max_invalid_actions: an episode ends with what it has after so many actions that
            the environment did not understand (None: never).
        invalid_penalty: taken from the return for each such action; success and score are as without.
        max_live: episodes played at once; bounds memory.
        copy_steps: whether an action that two siblings choose at the same state is taken once and its result
            copied; changes nothing but the time in environments.
    """

    success_weight: float = 0.5
    max_invalid_actions: int | None = 2
    invalid_penalty: float = 0.0
    max_live: int = 192
    copy_steps: bool = True


Coin = Callable[[float, int, int], bool]


def fair_coin(probability: float, seed: int, step: int) -> bool:
    """Whether an episode goes on, decided by draw ``step`` of its seed's own stream for roulettes."""
    return bool(uniforms(seed, COIN_DRAWS + step) < probability)


class Rollout:
    """Plays tasks with a policy.

    Args:
        env: any instance; it is forked for every episode.
        engine: generates tokens.
        prompts: the transcript's format.
        config: how episodes are played.
        ledger: counts what is spent.
        coin: says with a given probability, for an episode's seed and a step, that it goes on.
    """

    def __init__(
        self,
        env: TextEnv,
        engine: Engine,
        prompts: PromptFormat,
        config: RolloutConfig,
        ledger: Ledger,
        coin: Coin = fair_coin,
    ) -> None:
        self.env, self.engine, self.prompts = env, engine, prompts
        self.config, self.ledger = config, ledger
        self._coin = coin
        self._instructions: str = env.unwrapped.instructions  # type: ignore[attr-defined]
        self._forks = Forks(env, ledger, config.copy_steps)

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
        with self._forks.session():
            return self._play(tasks, plan, sampling, seed, version, progress)

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
        ended_before = self._ended()
        while live or waiting:
            while waiting and (not live or len(live) + plan.roots <= self.config.max_live):
                index = waiting.pop()
                live += self._start(trees[index], index, plan, seed, sampling.max_tokens)
            live = self._turn(trees, live, plan, sampling)
            if progress is not None:
                progress(self._ended() - ended_before)
        self.ledger.encoded_tokens += self.engine.encoded_tokens - encoded
        steps, tokens = saved_by_stopping(trees)
        self.ledger.saved_steps += steps
        self.ledger.saved_tokens += tokens
        return trees

    def _ended(self) -> int:
        return self.ledger.episodes + self.ledger.failed + self.ledger.stopped

    def _start(self, tree: Tree, index: int, plan: Plan, seed: int, max_tokens: int) -> list[Leaf]:
        """Reset the task once, encode its prompt once, fork both."""
        try:
            with self._forks.timed():
                observation, _ = self.env.reset(seed=derive_seed(seed, index, "reset"), options={"task": tree.task_id})
            envs = self._forks.fork(self.env, plan.roots)
            self._forks.count_snapshots(self.env, plan.roots)
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
        crossroads = Crossroads(plan.roots)
        leaves = []
        for root, env in enumerate(envs):
            sequence = self.engine.fork(trunk, len(prompt) - 1)
            key = derive_seed(seed, index, root)
            leaves.append(
                Leaf(
                    tree=index,
                    segment=tree.grow(ROOT),
                    env=env,
                    transcript=transcript.fork(),
                    sequence=sequence,
                    seed=key,
                    pending=prompt[-1:],
                    position=len(prompt),
                    turn_start=len(prompt),
                    crossroads=crossroads,
                )
            )
        self.engine.close(trunk)
        return leaves

    def _turn(self, trees: list[Tree], live: list[Leaf], plan: Plan, sampling: Sampling) -> list[Leaf]:
        """One action for every live episode; returns the episodes that are live afterwards."""
        requests = [
            Request(
                leaf.sequence,
                leaf.pending,
                leaf.seed,
                sampling.max_tokens - len(leaf.turn_tokens),
                self._gate(trees[leaf.tree], leaf, plan.roulette),
            )
            for leaf in live
        ]
        completions = self.engine.generate(requests, sampling, self.prompts.stop)
        rule = plan.rule
        after: list[Leaf] = []
        going: list[Leaf] = []
        for leaf, completion in zip(live, completions, strict=True):
            tree = trees[leaf.tree]
            if tree.segments[leaf.segment].outcome is not None:  # stopped
                self._end(leaf)
                continue
            self._write(tree, leaf, completion)
            going.append(leaf)
            if rule is not None and leaf.backbone:
                mark = leaf.mark()
                if rule.retrospective:
                    self._remember(tree, leaf, mark)
                else:
                    after += self._branch(tree, leaf, mark, rule)
        for leaf, answer in zip(going, self._forks.step(going), strict=True):
            tree = trees[leaf.tree]
            if self._step(tree, leaf, answer, sampling.max_tokens):
                after.append(leaf)
                continue
            if rule is not None and leaf.backbone and rule.retrospective:
                after += self._branch_finished(tree, leaf, rule)
            self._end(leaf)
        return after

    def _end(self, leaf: Leaf) -> None:
        self.engine.close(leaf.sequence)
        self._forks.close(leaf.env)

    def _gate(self, tree: Tree, leaf: Leaf, rule: RouletteRule | None) -> Callable[[float], bool] | None:
        """Lets chance stop an episode between two turns, once its last observation has been read."""
        if rule is None or not leaf.step or leaf.turn_tokens:
            return None
        return lambda value: self._survives(tree, leaf, rule, value)

    def _survives(self, tree: Tree, leaf: Leaf, rule: RouletteRule, value: float) -> bool:
        survival = rule.spin(value, leaf.survival)
        if survival >= 1.0:
            return True
        expected = leaf.return_ + value
        leaf.segment = tree.roulette(leaf.segment, survival, expected)
        if self._coin(survival, leaf.seed, leaf.step):
            leaf.survival *= survival
            return True
        tree.segments[leaf.segment].outcome = Outcome(expected, steps=leaf.step, stopped=True)
        self.ledger.stopped += 1
        return False

    def _write(self, tree: Tree, leaf: Leaf, completion: Completion) -> None:
        tree.segments[leaf.segment].write(
            completion.tokens, completion.logprobs, completion.entropies, leaf.step, completion.values
        )
        leaf.turn_tokens += completion.tokens
        leaf.turn_entropies += completion.entropies
        leaf.turn_values += completion.values or []
        leaf.position += len(completion.tokens)
        self.ledger.generated_tokens += len(completion.tokens)

    def _remember(self, tree: Tree, leaf: Leaf, mark: Mark) -> None:
        """Keep a turn to which a retrospective rule may come back."""
        leaf.marks.append(mark)
        try:
            mark.snapshot = leaf.env.snapshot()
            self._forks.count_snapshots(leaf.env, 1)
        except SandboxError as error:  # it costs the branch, not the backbone
            tree.info["failure"] = str(error)

    def _branch(self, tree: Tree, leaf: Leaf, mark: Mark, rule: BranchRule) -> list[Leaf]:
        """Branch at the turn that was just sampled when a causal rule says so."""
        token = rule.choose(mark.turn)
        if token is None:
            return []
        try:
            envs = self._forks.fork(leaf.env, rule.children - 1)
            self._forks.count_snapshots(leaf.env, rule.children - 1)
        except SandboxError as error:  # it costs the branch, not the backbone
            tree.info["failure"] = str(error)
            return []
        if leaf.crossroads is None:
            leaf.crossroads = Crossroads(1)
        leaf.crossroads.waiting += len(envs)
        siblings = self._siblings(tree, leaf, mark, token, envs, rule.share(leaf.branches))
        for sibling in siblings:
            sibling.crossroads = leaf.crossroads
        return siblings

    def _branch_finished(self, tree: Tree, leaf: Leaf, rule: BranchRule) -> list[Leaf]:
        """Branch a finished backbone at the turns that a retrospective rule chooses."""
        leaves: list[Leaf] = []
        for number, token in rule.choose_finished([m.turn for m in leaf.marks]):
            mark = leaf.marks[number]
            if mark.snapshot is None:
                continue
            try:
                envs = self._forks.fork(leaf.env, rule.children - 1)
                for env in envs:
                    env.restore(mark.snapshot)
            except SandboxError as error:
                tree.info["failure"] = str(error)
                continue
            leaves += self._siblings(tree, leaf, mark, token, envs, 1.0)
        return leaves

    def _siblings(
        self, tree: Tree, leaf: Leaf, mark: Mark, token: int, envs: list[TextEnv], share: float
    ) -> list[Leaf]:
        """Alternatives to a backbone from one of its tokens on; the tokens before it are forced."""
        position = mark.position + token
        head, tail = tree.branch(leaf.segment, position)
        tree.segments[tail].share = share
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
                    turn_values=list(mark.turn.values[:token]),
                    survival=leaf.survival,
                )
            )
        return siblings

    @staticmethod
    def _token_before(tree: Tree, head: int) -> int:
        return next(tree.segments[i].tokens[-1] for i in reversed(tree.path(head)) if len(tree.segments[i]))

    def _step(self, tree: Tree, leaf: Leaf, answer: Answer | SandboxError, max_tokens: int) -> bool:
        """Enter the environment's answer; False when the episode is over."""
        segment = tree.segments[leaf.segment]
        if isinstance(answer, SandboxError):
            segment.outcome = Outcome(failed=True)
            tree.info["failure"] = str(answer)
            self.ledger.failed += 1
            return False
        observation, reward, terminated, truncated, info = answer
        invalid = not info.get("action_valid", True)
        leaf.invalid += invalid
        limit = self.config.max_invalid_actions
        given_up = limit is not None and leaf.invalid >= limit
        following = leaf.transcript.following(observation, leaf.turn_tokens[-1] in self.prompts.stop)
        full = leaf.position + len(following) + max_tokens > self.engine.context
        over = terminated or truncated or given_up or full
        weight = self.config.success_weight
        shaped = (1 - weight) * float(reward) + weight * (over and info["success"])
        shaped -= self.config.invalid_penalty * invalid
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
        leaf.turn_tokens, leaf.turn_entropies, leaf.turn_values = [], [], []
        return True
