"""The append-only transcript: how observations become tokens and tokens become actions.

Invariant: a transcript only grows; sampled token ids are kept as they are and never
re-tokenized.
"""

from __future__ import annotations

from typing import Any, Protocol

OBSERVATION, ACTION, END = "<|obs|>", "<|act|>", "<|end|>"
MARKERS = (OBSERVATION, ACTION, END)


class PromptFormat(Protocol):
    """Turns text into tokens for a tokenizer."""

    stop: frozenset[int]

    def opening(self, instructions: str, observation: str) -> list[int]:
        """Tokens of the transcript before the first action; never empty."""

    def following(self, observation: str, closed: bool) -> list[int]:
        """Tokens between two actions; ``closed`` tells whether the last action ended with a stop token."""

    def action(self, tokens: list[int]) -> str:
        """Text of an action from its sampled tokens."""

    def encode_action(self, action: str) -> list[int]:
        """Tokens with which a demonstration writes an action, the stop token included."""


class MarkedFormat:
    """For tokenizers with markers of their own: observation, action and end of action.

    The instructions are left out: a policy with these markers has learned the rules
    from demonstrations.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._observation, self._action, self._end = (tokenizer.convert_tokens_to_ids(m) for m in MARKERS)
        self.stop = frozenset({self._end})

    def opening(self, instructions: str, observation: str) -> list[int]:
        """See ``PromptFormat``."""
        return [self._observation, *self._encode(observation), self._action]

    def following(self, observation: str, closed: bool) -> list[int]:
        """See ``PromptFormat``."""
        start = [] if closed else [self._end]
        return [*start, *self.opening("", observation)]

    def action(self, tokens: list[int]) -> str:
        """See ``PromptFormat``."""
        text: str = self._tokenizer.decode([t for t in tokens if t not in self.stop])
        return text.strip()

    def encode_action(self, action: str) -> list[int]:
        """See ``PromptFormat``."""
        return [*self._encode(action), self._end]

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids


class PlainFormat:
    """For any other causal language model: plain text, one action a line."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        newlines = {i for t, i in tokenizer.get_vocab().items() if tokenizer.convert_tokens_to_string([t]) == "\n"}
        end = {tokenizer.eos_token_id} if tokenizer.eos_token_id is not None else set()
        self.stop = frozenset(newlines | end)
        if not self.stop:
            raise ValueError("the tokenizer has neither a newline token nor an end-of-text token to end an action with")

    def opening(self, instructions: str, observation: str) -> list[int]:
        """See ``PromptFormat``."""
        ids: list[int] = self._tokenizer.encode(f"{instructions}\n\nObservation: {observation}\nAction:")
        return ids

    def following(self, observation: str, closed: bool) -> list[int]:
        """See ``PromptFormat``."""
        return self._encode(f"{'' if closed else chr(10)}Observation: {observation}\nAction:")

    def action(self, tokens: list[int]) -> str:
        """See ``PromptFormat``."""
        text: str = self._tokenizer.decode(tokens, skip_special_tokens=True)
        return text.strip()

    def encode_action(self, action: str) -> list[int]:
        """See ``PromptFormat``."""
        return self._encode(f" {action}\n")

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids


def format_for(tokenizer: Any) -> PromptFormat:
    """The format that a tokenizer was made for."""
    vocabulary = tokenizer.get_vocab()
    return MarkedFormat(tokenizer) if all(m in vocabulary for m in MARKERS) else PlainFormat(tokenizer)
