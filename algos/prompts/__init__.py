"""The append-only transcript: how observations become tokens and tokens become actions.

Invariant: a transcript only grows; sampled token ids are kept as they are and never
re-tokenized.
"""

from __future__ import annotations

from typing import Any

from algos.prompts.base import PromptConfig, PromptFormat, TokenizerFormat, Transcript
from algos.prompts.chat import ChatFormat
from algos.prompts.marked import ACTION, END, IDENTIFIER, MARKERS, NAMES, OBSERVATION, MarkedFormat, MarkedTranscript
from algos.prompts.plain import PlainFormat

__all__ = [
    "ACTION",
    "END",
    "IDENTIFIER",
    "MARKERS",
    "NAMES",
    "OBSERVATION",
    "ChatFormat",
    "MarkedFormat",
    "MarkedTranscript",
    "PlainFormat",
    "PromptConfig",
    "PromptFormat",
    "TokenizerFormat",
    "Transcript",
    "format_for",
]


def format_for(tokenizer: Any, config: PromptConfig | None = None) -> TokenizerFormat:
    """The format that the settings name; what they leave open, the tokenizer decides.

    Raises:
        ValueError: the tokenizer has not got what the format needs.
    """
    config = config or PromptConfig()
    vocabulary = tokenizer.get_vocab()
    marked = all(m in vocabulary for m in MARKERS)
    kind = config.format
    if kind == "auto":
        kind = "marked" if marked else "chat" if getattr(tokenizer, "chat_template", None) else "plain"
    if kind == "chat":
        return ChatFormat(tokenizer, "line" if config.action == "auto" else config.action, bool(config.thinking))
    if config.action == "tag":
        raise ValueError(f"actions in tags need a chat template, and the format is {kind!r}: set prompts.action=line")
    if kind == "plain":
        return PlainFormat(tokenizer)
    if not marked:
        raise ValueError("the tokenizer lacks the markers of the marked format: set prompts.format to chat or plain")
    return MarkedFormat(tokenizer)
