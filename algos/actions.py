"""The actions of a rollout's episodes, for playing them again without the policy.

Invariant: for the observations that the policy saw, the actions are the texts that the environment got.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from algos.prompts import PromptFormat
from algos.tree import Tree

Turns = tuple[tuple[int, ...], ...]


def turns(tree: Tree, leaf: int) -> Turns:
    """Tokens of each action on the path to a leaf, stop tokens included."""
    found: dict[int, list[int]] = {}
    for index in tree.path(leaf):
        segment = tree.segments[index]
        for token, written, step in zip(segment.tokens, segment.written, segment.steps, strict=True):
            if written:
                found.setdefault(step, []).append(token)
    return tuple(tuple(tokens) for _, tokens in sorted(found.items()))


def episode_actions(recorded: Turns, prompts: PromptFormat, instructions: str) -> Callable[[str], str | None]:
    """A function from each observation, in order, to the action that was taken there; ``None`` after the last.

    Args:
        recorded: of one episode (see ``turns``).
        prompts: the policy's format; what a token means may depend on the observations before it.
        instructions: of the environment.
    """
    transcript = prompts.transcript()
    said: list[Sequence[int]] = []

    def act(observation: str) -> str | None:
        if said:
            transcript.following(observation, said[-1][-1] in prompts.stop)
        else:
            transcript.opening(instructions, observation)
        if len(said) == len(recorded):
            return None
        said.append(recorded[len(said)])
        return transcript.action(list(said[-1]))

    return act
