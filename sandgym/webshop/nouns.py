"""Nouns of product titles, found once when a catalogue is built.

Invariant: nothing at run time needs this module or spaCy; the nouns are stored with the
catalogue, because another model version finds others and the reward would change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sandgym.core import SandboxError

MODEL = "en_core_web_sm"


def title_nouns(titles: Iterable[str], batch_size: int = 256) -> Iterator[tuple[str, ...]]:
    """Lower-cased nouns and proper nouns of each title, in order, with repeats.

    Raises:
        SandboxError: spaCy or its English model is not installed.
    """
    try:
        import spacy

        parse = spacy.load(MODEL, exclude=["parser", "lemmatizer", "ner"])
    except (ImportError, OSError) as error:
        raise SandboxError(
            f'title nouns need spaCy and its model: `pip install "sandgym[nouns]"` and '
            f"`python -m spacy download {MODEL}`, then `sandgym data build` ({error})"
        ) from error
    for document in parse.pipe(titles, batch_size=batch_size):
        yield tuple(token.text.lower() for token in document if token.pos_ in ("NOUN", "PROPN"))
