"""The append-only transcript: how observations become tokens and tokens become actions.

Invariant: a transcript only grows; sampled token ids are kept as they are and never
re-tokenized.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

OBSERVATION, ACTION, END = "<|obs|>", "<|act|>", "<|end|>"
MARKERS = (OBSERVATION, ACTION, END)
IDENTIFIER = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{8,}\b")
NAMES = tuple(f"<|id{n}|>" for n in range(64))
_NAME = re.compile(r"<\|id\d+\|>")


class Transcript(Protocol):
    """One episode's text as tokens."""

    def opening(self, instructions: str, observation: str) -> list[int]:
        """Tokens before the first action; never empty."""

    def following(self, observation: str, closed: bool) -> list[int]:
        """Tokens between two actions; ``closed`` tells whether the last action ended with a stop token."""

    def action(self, tokens: list[int]) -> str:
        """Text of an action from its sampled tokens."""

    def encode_action(self, action: str) -> list[int]:
        """Tokens with which a demonstration writes an action, the stop token included."""

    def fork(self) -> Transcript:
        """A transcript with this past and a future of its own."""


class PromptFormat(Protocol):
    """How a tokenizer's policy reads and writes; ``stop`` are the tokens that end an action."""

    stop: frozenset[int]

    def transcript(self) -> Transcript:
        """A new episode's."""


class MarkedFormat:
    """For tokenizers with markers of their own; see ``MarkedTranscript``."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.observation, self.action, self.end = (tokenizer.convert_tokens_to_ids(m) for m in MARKERS)
        self.stop = frozenset({self.end})

    def transcript(self) -> MarkedTranscript:
        """See ``PromptFormat``."""
        return MarkedTranscript(self, {}, {})


class MarkedTranscript:
    """Observation, action and end of action have markers; identifiers have names.

    Words of eight characters or more that mix letters and digits, such as product
    numbers, mean nothing by themselves. Each is named by the order in which it first
    appears, so that a small policy needs to know a few names and not every identifier
    there is; an action gets it back as it was first spelled, whatever its case later.
    When the names are used up, further identifiers stay as they are.

    The instructions are left out: a policy with these markers has learned the rules
    from demonstrations.
    """

    def __init__(self, prompts: MarkedFormat, names: dict[str, str], identifiers: dict[str, str]) -> None:
        """Go on from the names of identifiers (in lower case) and the identifiers (as spelled) of the names."""
        self._prompts, self._names, self._identifiers = prompts, names, identifiers

    def opening(self, instructions: str, observation: str) -> list[int]:
        """See ``Transcript``."""
        return [self._prompts.observation, *self._encode(observation), self._prompts.action]

    def following(self, observation: str, closed: bool) -> list[int]:
        """See ``Transcript``."""
        start = [] if closed else [self._prompts.end]
        return [*start, *self.opening("", observation)]

    def action(self, tokens: list[int]) -> str:
        """See ``Transcript``."""
        text: str = self._prompts.tokenizer.decode([t for t in tokens if t not in self._prompts.stop])
        return _NAME.sub(lambda match: self._identifiers.get(match[0], match[0]), text).strip()

    def encode_action(self, action: str) -> list[int]:
        """See ``Transcript``."""
        return [*self._encode(action), self._prompts.end]

    def fork(self) -> MarkedTranscript:
        """See ``Transcript``."""
        return MarkedTranscript(self._prompts, dict(self._names), dict(self._identifiers))

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._prompts.tokenizer.encode(IDENTIFIER.sub(self._name, text), add_special_tokens=False)
        return ids

    def _name(self, match: re.Match[str]) -> str:
        key = match[0].lower()
        if key not in self._names:
            if len(self._names) == len(NAMES):
                return match[0]
            name = self._names[key] = NAMES[len(self._names)]
            self._identifiers[name] = match[0]
        return self._names[key]


class PlainFormat:
    """For any other causal language model: plain text, one action a line. It is its own transcript."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        newlines = {i for t, i in tokenizer.get_vocab().items() if "\n" in tokenizer.convert_tokens_to_string([t])}
        end = {tokenizer.eos_token_id} if tokenizer.eos_token_id is not None else set()
        self.stop = frozenset(newlines | end)
        if not self.stop:
            raise ValueError("the tokenizer has neither a newline token nor an end-of-text token to end an action with")

    def transcript(self) -> PlainFormat:
        """See ``PromptFormat``."""
        return self

    def fork(self) -> PlainFormat:
        """See ``Transcript``."""
        return self

    def opening(self, instructions: str, observation: str) -> list[int]:
        """See ``Transcript``."""
        ids: list[int] = self._tokenizer.encode(f"{instructions}\n\nObservation: {observation}\nAction:")
        return ids

    def following(self, observation: str, closed: bool) -> list[int]:
        """See ``Transcript``."""
        return self._encode(f"{'' if closed else chr(10)}Observation: {observation}\nAction:")

    def action(self, tokens: list[int]) -> str:
        """See ``Transcript``."""
        text: str = self._tokenizer.decode(tokens, skip_special_tokens=True)
        return text.strip().split("\n")[0].strip()

    def encode_action(self, action: str) -> list[int]:
        """See ``Transcript``."""
        return self._encode(f" {action}\n")

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids


def format_for(tokenizer: Any) -> PromptFormat:
    """The format that a tokenizer was made for."""
    vocabulary = tokenizer.get_vocab()
    return MarkedFormat(tokenizer) if all(m in vocabulary for m in MARKERS) else PlainFormat(tokenizer)
