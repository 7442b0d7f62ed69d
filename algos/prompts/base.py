"""What a transcript format is, and how one is chosen.

Invariant: a transcript only grows; sampled token ids are kept as they are and never
re-tokenized.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class PromptConfig:
    """How transcripts are written; what is left open is as in the model's folder, else as the tokenizer suggests.

    Attributes:
        format: ``"marked"`` for tokenizers with sandgym's markers, ``"chat"`` for a tokenizer's chat template,
            ``"plain"`` for text with one action a line; ``"auto"``: the first of these that the tokenizer can have.
        action: where a chat model's answer has its action: in its last ``"line"``, or between the ``"tag"`` words
            ``<action>`` and ``</action>`` (the last such pair; without one the action is empty, which environments
            count as not understood); ``"auto"``: ``"line"``.
        thinking: whether a chat template that has a switch for it lets the model think before it answers, which
            takes a larger ``max_turn_tokens``; None: no.
    """

    format: Literal["auto", "marked", "plain", "chat"] = "auto"
    action: Literal["auto", "line", "tag"] = "auto"
    thinking: bool | None = None

    def over(self, other: PromptConfig) -> PromptConfig:
        """This one where it says something, the other one elsewhere."""
        return PromptConfig(
            other.format if self.format == "auto" else self.format,
            other.action if self.action == "auto" else self.action,
            other.thinking if self.thinking is None else self.thinking,
        )


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
    """How a policy reads and writes; ``stop`` are the tokens that end an action."""

    stop: frozenset[int]

    def transcript(self) -> Transcript:
        """A new episode's."""


class TokenizerFormat(PromptFormat, Protocol):
    """How a tokenizer's policy does; ``config`` are the settings that it stands for, none of them left open."""

    config: PromptConfig
