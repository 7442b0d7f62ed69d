"""Building the arrays of a search index from a stream of documents.

Invariant: documents are read once and forgotten; memory holds the vocabulary and ten
bytes a posting.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandgym.webshop.analysis import tokenize
from sandgym.webshop.search import K1, LENGTHS, B

_CHUNK = 1 << 16  # documents inverted at a time


class _Vocabulary(dict[str, int]):
    """Numbers terms in the order in which they are first looked up."""

    def __missing__(self, term: str) -> int:
        self[term] = number = len(self)
        return number


def index_arrays(docs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Arguments of ``SearchIndex`` for ``(asin, contents)`` documents, numbered in order."""
    vocabulary = _Vocabulary()
    number = vocabulary.__getitem__
    asins: list[bytes] = []
    lengths = array("i")
    stream = array("i")
    chunks = []
    for asin, contents in docs:
        asins.append(asin.encode())
        terms = tokenize(contents)
        stream.extend(map(number, terms))
        lengths.append(len(terms))
        if len(lengths) % _CHUNK == 0:
            chunks.append(_invert(stream, lengths[-_CHUNK:], len(lengths) - _CHUNK))
            stream = array("i")
    if tail := len(lengths) % _CHUNK:
        chunks.append(_invert(stream, lengths[-tail:], len(lengths) - tail))
    all_lengths = np.array(lengths, np.int64)
    return {
        "asins": np.array(asins, dtype=f"S{max(map(len, asins), default=1)}"),
        "tokens": int(all_lengths.sum()),
        "filled": int(np.count_nonzero(all_lengths)),
        **_merge(chunks, vocabulary, all_lengths),
    }


_Chunk = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]


def _invert(stream: array[int], lengths: array[int], first: int) -> _Chunk:
    """Postings (term, document, frequency) of consecutive documents, sorted by term, then document."""
    docs = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    keys = np.array(stream, np.int64) * _CHUNK + docs
    keys.sort()
    keys, counts = np.unique(keys, return_counts=True)
    return (keys // _CHUNK).astype(np.int32), (keys % _CHUNK + first).astype(np.int32), counts.astype(np.int32)


def _merge(chunks: list[_Chunk], vocabulary: _Vocabulary, lengths: NDArray[np.int64]) -> dict[str, Any]:
    """Join the chunks' postings term by term, terms in byte order; empties ``chunks``."""
    terms = [term.encode("utf-8", "surrogatepass") for term in vocabulary]
    order = sorted(range(len(terms)), key=terms.__getitem__)
    ranks = np.empty(len(terms), np.int64)
    ranks[order] = np.arange(len(terms))
    blob = np.frombuffer(b"".join(terms[i] for i in order), np.uint8)
    term_starts = _starts(np.array([len(terms[i]) for i in order], np.int64))
    del terms, order
    vocabulary.clear()
    frequencies = sum((np.bincount(chunk[0], minlength=len(ranks)) for chunk in chunks), np.zeros(len(ranks), np.int64))
    starts = _starts(_permuted(frequencies, ranks))

    bytes_ = _length_bytes(lengths)
    distinct = np.unique(np.concatenate([np.unique(_pair_keys(c, bytes_)) for c in chunks] or [np.zeros(0, np.int64)]))
    docs = np.empty(starts[-1], np.int32)
    codes = np.empty(starts[-1], np.uint16 if len(distinct) <= 1 << 16 else np.uint32)
    cursor = starts[:-1].copy()
    for i, chunk in enumerate(chunks):
        rows, chunk_docs, _ = chunk
        firsts = np.flatnonzero(np.diff(rows, prepend=-1))
        counts = np.diff(firsts, append=len(rows))
        touched = ranks[rows[firsts]]
        places = np.repeat(cursor[touched] - firsts, counts) + np.arange(len(rows))
        docs[places] = chunk_docs
        codes[places] = np.searchsorted(distinct, _pair_keys(chunk, bytes_))
        cursor[touched] += counts
        chunks[i] = (rows[:0], rows[:0], rows[:0])
    pairs = np.stack([distinct >> 8, distinct & 255], axis=1).astype(np.int32)
    return {
        "terms": blob,
        "term_starts": term_starts,
        "starts": starts,
        "docs": docs,
        "codes": codes,
        "pairs": pairs,
        "bounds": _bounds(starts, codes, pairs, lengths),
    }


def _bounds(
    starts: NDArray[np.int64], codes: NDArray[Any], pairs: NDArray[np.int32], lengths: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Largest tf / (tf + norm) among each term's postings."""
    if not len(codes):
        return np.zeros(0, np.float32)
    average = lengths.sum() / np.count_nonzero(lengths)
    norms = float(K1) * (1 - float(B) + float(B) * LENGTHS[pairs[:, 1]].astype(np.float64) / average)
    shares = (pairs[:, 0] / (pairs[:, 0] + norms)).astype(np.float32)
    return np.maximum.reduceat(shares[codes], starts[:-1])


def _length_bytes(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Lucene's one-byte length: the largest representable length not above the true one."""
    return np.searchsorted(LENGTHS.astype(np.int64), lengths, side="right") - 1


def _pair_keys(chunk: _Chunk, length_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    _, docs, counts = chunk
    return counts.astype(np.int64) << 8 | length_bytes[docs]


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _permuted(values: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    out = np.empty_like(values)
    out[ranks] = values
    return out
