"""The transcript of ``tiny``: markers around observations and actions, names for identifiers.

Invariant: an identifier has the same name throughout an episode, in the order of first appearance.
"""

from __future__ import annotations

import re
from typing import Any

from algos.prompts.base import PromptConfig

OBSERVATION, ACTION, END = "<|obs|>", "<|act|>", "<|end|>"
MARKERS = (OBSERVATION, ACTION, END)
IDENTIFIER = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{8,}\b")
NAMES = tuple(f"<|id{n}|>" for n in range(64))
_NAME = re.compile(r"<\|id\d+\|>")


class MarkedFormat:
    """For tokenizers with markers of their own; see ``MarkedTranscript``."""

    config = PromptConfig("marked", "line", False)

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
