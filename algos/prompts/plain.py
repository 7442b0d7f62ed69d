"""The transcript of a base model: plain text, one action a line.

Invariant: an action ends with the first token that has a line break in it.
"""

from __future__ import annotations

from typing import Any

from algos.prompts.base import PromptConfig


class PlainFormat:
    """For any other causal language model: plain text, one action a line. It is its own transcript."""

    config = PromptConfig("plain", "line", False)

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
