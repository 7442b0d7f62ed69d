"""The transcript of an instruct model, in turns of its tokenizer's chat template.

Invariant: what has been said stays as it was said. A template renders a whole conversation, and some
rewrite its past (drop earlier thoughts, say); here it is asked once what it writes before the first answer
and what between an answer and the next one, and those two frames are filled in turn by turn.
"""

from __future__ import annotations

import logging
import re
from typing import Any, Literal

from algos.prompts.base import PromptConfig

FIRST, ANSWER, LATER = "sandgymfirst", "sandgymanswer", "sandgymlater"  # stand for texts that templates leave alone
TAG = re.compile(r"<action>(.*?)</action>", re.DOTALL)
NOTES = {
    "line": "Your answer ends with your action, in a line of its own.",
    "tag": "Your answer ends with your action between <action> and </action>.",
}
PLAIN_INSTEAD = "use plain text instead: --set prompts.format=plain"
log = logging.getLogger("sandgym")


class ChatFormat:
    """For tokenizers with a chat template. It is its own transcript.

    The rules are part of the first user turn, as not every template has a system turn. Text of the
    environment that spells a special token is spaced out, so that it cannot end a turn or begin one.

    Args:
        tokenizer: with a chat template.
        action: where the answer has its action (see ``PromptConfig``).
        thinking: see ``PromptConfig``.

    Attributes:
        rewrites: whether the template itself would write earlier turns of a longer conversation in another way.

    Raises:
        ValueError: there is no template, it drops or changes what was said, or nothing ends an answer.
    """

    def __init__(self, tokenizer: Any, action: Literal["line", "tag"] = "line", thinking: bool = False) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise ValueError(f"the tokenizer has no chat template; {PLAIN_INSTEAD}")
        self.config = PromptConfig("chat", action, thinking)
        self._tokenizer, self._action, self._thinking = tokenizer, action, thinking
        special = {str(t) for t in tokenizer.all_special_tokens}
        special |= {t.content for t in tokenizer.added_tokens_decoder.values() if t.special}
        self._special = re.compile("|".join(map(re.escape, sorted(special, key=len, reverse=True))) or r"(?!)")
        self._opening = _parts(self._render(FIRST), FIRST)
        before, self._between, self._after = _parts(self._render(FIRST, ANSWER, LATER), ANSWER, LATER)
        opening = FIRST.join(self._opening)
        lead = before.removeprefix(opening) if before.startswith(opening) else ""
        self._space = lead if not lead.strip() else ""  # which the model is to write before an answer
        header = lead if lead.strip() else ""  # of answers, where the template ignores that one is to follow
        self._opening[1] += header
        self._after += header
        self.rewrites = self._render(FIRST, ANSWER, LATER, ANSWER, LATER) + header != "".join(
            [FIRST.join(self._opening), *[self._space, ANSWER, self._between, LATER, self._after] * 2]
        )
        if self.rewrites:
            log.info("the chat template rewrites earlier turns; here they stay as they were written")
        self.stop, self._closer = self._stop_tokens()

    def transcript(self) -> ChatFormat:
        """See ``PromptFormat``."""
        return self

    def fork(self) -> ChatFormat:
        """See ``Transcript``."""
        return self

    def opening(self, instructions: str, observation: str) -> list[int]:
        """See ``Transcript``."""
        text = self._defused(f"{instructions}\n\n{NOTES[self._action]}\n\n{observation}")
        return self._encode(text.join(self._opening))

    def following(self, observation: str, closed: bool) -> list[int]:
        """See ``Transcript``."""
        ids = self._encode(self._between + self._defused(observation) + self._after)
        ends = [place for place, token in enumerate(ids) if token in self.stop] if closed and self._closes else []
        return ids[ends[0] + 1 :] if ends else ids

    def action(self, tokens: list[int]) -> str:
        """See ``Transcript``; empty where the answer has no action."""
        text: str = self._tokenizer.decode([t for t in tokens if t not in self.stop], skip_special_tokens=True)
        if self._action == "tag":
            tagged = TAG.findall(text)
            return tagged[-1].strip() if tagged else ""
        lines = text.strip().splitlines()
        return lines[-1].strip() if lines else ""

    def encode_action(self, action: str) -> list[int]:
        """See ``Transcript``."""
        text = self._defused(action)
        text = f"<action>{text}</action>" if self._action == "tag" else text
        return [*self._encode(self._space + text), self._closer]

    def _render(self, *turns: str) -> str:
        """The template's own rendering of a conversation that the user begins, up to the next answer."""
        messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(turns)]
        try:
            text: str = self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, enable_thinking=self._thinking
            )
        except Exception as error:  # a template is a program of its own
            raise ValueError(f"the chat template fails on a conversation ({error}); {PLAIN_INSTEAD}") from error
        return text

    def _stop_tokens(self) -> tuple[frozenset[int], int]:
        """The tokens that end an answer, and the one of them that demonstrations use."""
        between = self._encode(self._between)
        special = set(self._tokenizer.all_special_ids)
        special |= {i for i, token in self._tokenizer.added_tokens_decoder.items() if token.special}
        eos = self._tokenizer.eos_token_id
        ending = next((token for token in between if token in special), None)
        stop = frozenset(token for token in (ending, eos) if token is not None)
        if not stop:
            raise ValueError(f"neither chat template nor tokenizer has a token that ends an answer; {PLAIN_INSTEAD}")
        self._closes = ending is not None
        closer = next((token for token in between if token in stop), eos)
        return stop, closer

    def _defused(self, text: str) -> str:
        return self._special.sub(lambda match: f"{match[0][:1]} {match[0][1:]}", text)

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids


def _parts(rendered: str, *marks: str) -> list[str]:
    """What a rendering has before, between and after texts that must occur in it once each, in this order."""
    parts: list[str] = []
    rest = rendered
    for mark in marks:
        if rendered.count(mark) != 1 or mark not in rest:
            raise ValueError(f"the chat template drops, repeats or changes what was said; {PLAIN_INSTEAD}")
        part, _, rest = rest.partition(mark)
        parts.append(part)
    return [*parts, rest]
