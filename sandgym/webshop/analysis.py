"""Text analysis of the search index: what Lucene's English analyser makes of a text.

Invariant: ``tokenize`` gives the terms of Lucene 8's StandardTokenizer (Unicode Annex
29 words plus emoji), EnglishPossessiveFilter, LowerCaseFilter, the 33 English stop
words and the Porter stemmer, in that order. Queries and documents go through the same
function.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

STOP_WORDS = frozenset(
    """a an and are as at be but by for if in into is it no not of on or such that the
    their then there these they this to was will with""".split()  # noqa: SIM905  a list of 33 strings reads worse
)
MAX_TOKEN = 255  # StandardTokenizer cuts longer words

# Annex 29 restricted to ASCII: ``.``, ``:`` and ``'`` join letters; ``.``, ``,``, ``;``
# and ``'`` join digits; ``_`` joins anything; underscores alone are no word.
_ASCII_WORDS = re.compile(
    r"_*[a-z0-9](?:[a-z0-9_]|(?<=[a-z])[.:'](?=[a-z])|(?<=[0-9])[.,;'](?=[0-9])){0,254}",
).findall

# Extended_Pictographic as of Unicode 11, which Lucene 8 uses; later versions dropped many of them.
_PICTOGRAPHS = (
    r"\u00A9\u00AE\u203C\u2049\u2122\u2139\u2194-\u2199\u21A9\u21AA\u231A\u231B\u2328\u2388\u23CF\u23E9-\u23F3"
    r"\u23F8-\u23FA\u24C2\u25AA\u25AB\u25B6\u25C0\u25FB-\u25FE\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705"
    r"\u2708-\u2712\u2714\u2716\u271D\u2721\u2728\u2733\u2734\u2744\u2747\u274C\u274E\u2753-\u2755\u2757"
    r"\u2763-\u2767\u2795-\u2797\u27A1\u27B0\u27BF\u2934\u2935\u2B05-\u2B07\u2B1B\u2B1C\u2B50\u2B55\u3030\u303D"
    r"\u3297\u3299\U0001F000-\U0001F0FF\U0001F10D-\U0001F10F\U0001F12F\U0001F16C-\U0001F171\U0001F17E\U0001F17F"
    r"\U0001F18E\U0001F191-\U0001F19A\U0001F1AD-\U0001F1E5\U0001F201-\U0001F20F\U0001F21A\U0001F22F"
    r"\U0001F232-\U0001F23A\U0001F23C-\U0001F23F\U0001F249-\U0001F3FA\U0001F400-\U0001F53D\U0001F546-\U0001F64F"
    r"\U0001F680-\U0001F6FF\U0001F774-\U0001F77F\U0001F7D5-\U0001F7FF\U0001F80C-\U0001F80F\U0001F848-\U0001F84F"
    r"\U0001F85A-\U0001F85F\U0001F888-\U0001F88F\U0001F8AE-\U0001F8FF\U0001F90C-\U0001F93A\U0001F93C-\U0001F945"
    r"\U0001F947-\U0001FFFD"
)

# Suffix rules of the Porter stemmer, longest first: (suffix, replacement).
_STEP_2 = (
    "ational ate,ization ize,iveness ive,fulness ful,ousness ous,tional tion,biliti ble,ation ate,alism al,"
    "aliti al,iviti ive,entli ent,ousli ous,enci ence,anci ance,izer ize,ator ate,alli al,logi log,bli ble,eli e"
)
_STEP_3 = "icate ic,ative ,alize al,iciti ic,ical ic,ness ,ful "
_STEP_4 = "ement ,ance ,ence ,able ,ible ,ment ,ant ,ent ,ion ,ism ,ate ,iti ,ous ,ive ,ize ,al ,er ,ic ,ou "


def tokenize(text: str) -> list[str]:
    """The index terms of ``text``, in order, with repeats."""
    words = _ASCII_WORDS(text.lower()) if text.isascii() else _unicode_words(text)
    return [term for word in words if (term := _term(word))]


@functools.lru_cache(maxsize=1 << 18)
def _term(word: str) -> str:
    """Possessive, stop words and stem of a lower-case word; empty for a stop word."""
    if len(word) > 2 and word[-1] == "s" and word[-2] in "'\u2019\uff07":
        word = word[:-2]
    if word in STOP_WORDS:
        return ""
    return word if len(word) < 3 else _stem(word)


def _unicode_words(text: str) -> list[str]:
    words = []
    for word in _unicode_pattern()(text):
        word = word.lower()
        words += [word] if len(word) <= MAX_TOKEN else [word[i : i + MAX_TOKEN] for i in range(0, len(word), MAX_TOKEN)]
    return words


@functools.cache
def _unicode_pattern() -> Callable[[str], list[str]]:
    """Word pattern of Annex 29 with Lucene's additions, built on first use.

    ``X`` below is a character with the marks that follow it (rule WB4). Han and
    Hiragana characters are words of one character, Katakana runs and South-East Asian
    runs are words; symbols that may be shown as emoji are words of their own.
    """
    import regex

    marks = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
    letter = rf"[[\p{{WB=ALetter}}\p{{WB=Hebrew_Letter}}]--[:]]{marks}"
    number = rf"[\p{{WB=Numeric}}\uFF10-\uFF19]{marks}"
    katakana = rf"\p{{WB=Katakana}}{marks}"
    joiner = rf"\p{{WB=ExtendNumLet}}{marks}"
    mid_letter = rf"[:\u00B7\u0387\u055F\u05F4\u2027\uFE13\uFE55\uFF1A.'\u2018\u2019\u2024\uFE52\uFF07\uFF0E]{marks}"
    mid_number = rf"[\p{{WB=MidNum}}.'\u2018\u2019\u2024\uFE52\uFF07\uFF0E]{marks}"
    letters = rf"{letter}(?:{mid_letter}{letter}|{letter})*+"
    numbers = rf"{number}(?:{mid_number}{number}|{number})*+"
    run = rf"(?:{katakana})++|(?:{letters}|{numbers})++"
    word = rf"(?:{joiner})*+(?:{run})(?:(?:{joiner})++(?:{run}))*+(?:{joiner})*+"
    single = rf"[\p{{Han}}\p{{Hiragana}}]{marks}"
    complex_run = r"\p{Line_Break=Complex_Context}++"
    presented = rf"[{_PICTOGRAPHS}]\p{{Emoji_Modifier}}?{marks}"
    emoji = rf"{presented}(?:(?<=\u200D){presented})*+|\p{{Regional_Indicator}}{{2}}|[0-9#*]\uFE0F?\u20E3"
    find: Callable[[str], list[str]] = regex.compile(rf"{emoji}|{single}|{complex_run}|{word}", regex.V1).findall
    return find


def _rules(table: str) -> tuple[tuple[str, str], ...]:
    return tuple((suffix, replacement) for suffix, _, replacement in (rule.partition(" ") for rule in table.split(",")))


_RULES_2, _RULES_3, _RULES_4 = _rules(_STEP_2), _rules(_STEP_3), _rules(_STEP_4)


def _stem(word: str) -> str:
    """Porter's stemmer (1980) with its author's later changes: ``bli``, ``logi``, two-letter words kept."""
    word = _step_1(word)
    for rules in (_RULES_2, _RULES_3):
        stem, replacement = _match(word, rules)
        if replacement is not None and _measure(stem) > 0:
            word = stem + replacement
    stem, replacement = _match(word, _RULES_4)
    if replacement is not None and _measure(stem) > 1 and (not word.endswith("ion") or stem.endswith(("s", "t"))):
        word = stem
    return _step_5(word)


def _match(word: str, rules: tuple[tuple[str, str], ...]) -> tuple[str, str | None]:
    """What is left of the first suffix that fits, and its replacement (none: no suffix fits)."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            return word[: len(word) - len(suffix)], replacement
    return word, None


def _step_1(word: str) -> str:
    """Plurals, ``-ed``, ``-ing`` and a final ``y``."""
    if word.endswith("s"):
        if word.endswith(("sses", "ies")):
            word = word[:-2]
        elif word[-2:-1] != "s":
            word = word[:-1]
    if word.endswith("eed"):
        if _measure(word[:-3]) > 0:
            word = word[:-1]
    elif word.endswith("ed") and _has_vowel(word[:-2]):
        word = _tidy(word[:-2])
    elif word.endswith("ing") and _has_vowel(word[:-3]):
        word = _tidy(word[:-3])
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    return word


def _tidy(stem: str) -> str:
    """A stem after ``-ed`` or ``-ing`` was cut off."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    shape = _shape(stem)
    if len(stem) > 1 and stem[-1] == stem[-2] and shape[-1] == "c":
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _short_end(stem) else stem


def _step_5(word: str) -> str:
    """A final ``e`` and a final double ``l``."""
    if word.endswith("e"):
        stem = word[:-1]
        measure = _measure(stem)
        if measure > 1 or (measure == 1 and not _short_end(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _shape(word: str) -> str:
    """``c`` for a consonant, ``v`` for a vowel; ``y`` after a consonant is a vowel."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape[-1:] == "c") else "c"
    return shape


def _measure(stem: str) -> int:
    """Vowel-consonant sequences of a stem."""
    return _shape(stem).count("vc")


def _has_vowel(stem: str) -> bool:
    return "v" in _shape(stem)


def _short_end(stem: str) -> bool:
    """Whether a stem ends consonant, vowel, consonant, the last not ``w``, ``x`` or ``y``."""
    return _shape(stem).endswith("cvc") and stem[-1] not in "wxy"
