"""Full-text search: BM25 with Lucene's arithmetic over memory-mapped postings.

Invariant: ``rank`` gives the documents and the float32 scores of Lucene 8's
BM25Similarity (k1 0.9, b 0.4) in its order, ties by asin ascending, however many
documents were skipped on the way. Terms are scored in float32 and summed in float64,
where sums of so few float32 values are exact, so no order of summation shows.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sandgym.webshop.analysis import tokenize

K1, B = np.float32(0.9), np.float32(0.4)
RESULTS = 50  # what the shop shows of one query
_LEADING = 50_000  # postings to add before the first threshold is looked for
_SEED = 1500  # documents scored in full to find it
_LOOK_UP = 5  # a look-up of one document costs as much as adding so many postings
_SLACK = 1 - 1e-6  # float32 rounding of a final score must not hide a document


class _Term(NamedTuple):
    """One query term: its postings, Lucene's weight, and the most it adds to a score."""

    docs: NDArray[np.int32]
    codes: NDArray[np.integer[Any]]
    weight: np.float32
    bound: float


@dataclasses.dataclass(frozen=True, eq=False)
class SearchIndex:
    """An inverted index; every array may be memory-mapped and shared by processes.

    Attributes:
        asins: asin of each document, as fixed-width UTF-8.
        terms: all terms in byte order, joined.
        term_starts: where each term starts in ``terms``; one more entry than terms.
        starts: where each term's postings start; one more entry than terms.
        docs: document numbers, ascending within a term.
        codes: for each posting, the row of ``pairs``.
        pairs: distinct (term frequency, length byte) of postings.
        bounds: for each term, the largest value of tf / (tf + length norm).
        tokens: number of tokens in all documents.
        filled: number of documents that have a token.
    """

    asins: NDArray[np.bytes_]
    terms: NDArray[np.uint8]
    term_starts: NDArray[np.int64]
    starts: NDArray[np.int64]
    docs: NDArray[np.int32]
    codes: NDArray[np.integer[Any]]
    pairs: NDArray[np.int32]
    bounds: NDArray[np.float32]
    tokens: int
    filled: int

    @classmethod
    def build(cls, docs: Any) -> Self:
        """Index ``(asin, contents)`` pairs, numbered in their order."""
        from sandgym.webshop.postings import index_arrays

        return cls(**index_arrays(docs))

    def save(self, folder: str | Path) -> None:
        """Write one ``.npy`` file for each array, and ``index.json``, into a folder."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))
        (folder / "index.json").write_text(json.dumps({"tokens": self.tokens, "filled": self.filled}))

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Map what ``save`` wrote; nothing is read until it is needed."""
        folder = Path(folder)
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in _ARRAYS}
        return cls(**arrays, **json.loads((folder / "index.json").read_text()))

    @functools.cached_property
    def _strength(self) -> NDArray[np.float32]:
        """For each row of ``pairs``, tf / length norm, in Lucene's float32 steps."""
        average = np.float32(self.tokens / self.filled) if self.filled else np.float32(1)
        norms = np.float32(1) / (K1 * ((np.float32(1) - B) + B * LENGTHS[self.pairs[:, 1]] / average))
        strength: NDArray[np.float32] = self.pairs[:, 0].astype(np.float32) * norms
        return strength

    @functools.cached_property
    def _blob(self) -> memoryview:
        return memoryview(self.terms)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.asins)

    def search(self, query: str, k: int = RESULTS) -> tuple[int, ...]:
        """Numbers of the ``k`` best documents, best first."""
        return tuple(self.rank(query, k)[0].tolist())

    def rank(self, query: str, k: int = RESULTS) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The ``k`` best documents and their scores, best first.

        Raises:
            ValueError: ``k`` is less than 1.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        terms = self._query_terms(query)
        docs, sums = self._candidates(terms, k)
        return self._best(docs, sums.astype(np.float32), k)

    def _query_terms(self, query: str) -> list[_Term]:
        """Terms of a query that occur in the index, those with the highest bound first."""
        terms = []
        for text, count in Counter(tokenize(query)).items():
            number = self._find(text.encode("utf-8", "surrogatepass"))
            if number is None:
                continue
            start, stop = int(self.starts[number]), int(self.starts[number + 1])
            frequency = stop - start
            idf = np.float32(np.log(1 + (self.filled - frequency + 0.5) / (frequency + 0.5)))
            weight = np.float32(count) * idf
            bound = float(weight) * float(self.bounds[number]) * (1 + 1e-6)
            terms.append(_Term(self.docs[start:stop], self.codes[start:stop], weight, bound))
        return sorted(terms, key=lambda term: -term.bound)

    def _find(self, term: bytes) -> int | None:
        """Number of a term, by binary search in the sorted terms."""
        blob, starts = self._blob, self.term_starts
        low, high = 0, len(starts) - 1
        while low < high:
            middle = (low + high) // 2
            found = bytes(blob[starts[middle] : starts[middle + 1]])
            if found == term:
                return middle
            if found < term:
                low = middle + 1
            else:
                high = middle
        return None

    def _impacts(self, weight: np.float32, codes: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """What a term of this weight adds to the score of each posting."""
        strength, one = self._strength, np.float32(1)
        gains: NDArray[np.float32]
        if len(codes) < len(strength):
            gains = weight - weight / (one + strength[codes])
        else:
            gains = (weight - weight / (one + strength)).take(codes)
        return gains

    def _add(self, sums: NDArray[np.float64], term: _Term) -> None:
        """Add a term to the sums of all its documents."""
        docs = term.docs.astype(np.intp)
        sums[docs] += self._impacts(term.weight, term.codes)

    def _candidates(self, terms: list[_Term], k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """A superset of the ``k`` best documents, with their full sums (MaxScore).

        Terms are added to the sums of all documents, the rarest first. After the first
        ones the leading documents are scored in full: ``k`` of them reach some threshold.
        Once the terms that are left cannot lift a new document over it, they are only
        looked up in the candidates, if those are few enough for that to pay.
        """
        rest = np.cumsum([0.0] + [term.bound for term in reversed(terms)])[::-1]  # bounds of terms[i:]
        sums = np.zeros(len(self))
        threshold, added, postings = 0.0, 0, 0
        while added < len(terms):
            if rest[added] < threshold:
                docs = np.flatnonzero(sums >= threshold - rest[added])
                if len(docs) * _LOOK_UP <= len(terms[added].docs):
                    break
            self._add(sums, terms[added])
            postings += len(terms[added].docs)
            added += 1
            if threshold == 0 and postings >= _LEADING:
                threshold = self._threshold(sums, terms[:added], terms[added:], k)
        else:
            docs = np.flatnonzero(sums >= threshold if threshold > 0 else sums > 0)
        sums = sums[docs]
        for i in range(added, len(terms)):
            sums = sums + self._look_up(terms[i], docs)
            if len(sums) > k:
                threshold = max(threshold, _kth(sums, k) * _SLACK)
            keep = sums + rest[i + 1] >= threshold
            docs, sums = docs[keep], sums[keep]
        return docs, sums

    def _threshold(self, sums: NDArray[np.float64], added: list[_Term], left: list[_Term], k: int) -> float:
        """A score that at least ``k`` documents reach; 0 where none is known."""
        docs = np.concatenate([term.docs for term in added])
        if len(docs) > _SEED:
            docs = docs[np.argpartition(sums[docs], -_SEED)[-_SEED:]]
        docs = np.unique(docs)
        if len(docs) < k:
            return 0.0
        return _kth(sum((self._look_up(term, docs) for term in left), sums[docs]), k) * _SLACK

    def _look_up(self, term: _Term, docs: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """What a term adds to each of these documents."""
        places = np.searchsorted(term.docs, docs.astype(np.int32))
        places[places == len(term.docs)] = 0
        hit = term.docs[places] == docs
        gains = np.zeros(len(docs))
        gains[hit] = self._impacts(term.weight, term.codes[places[hit]])
        return gains

    def _best(
        self, docs: NDArray[np.int64], scores: NDArray[np.float32], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        if len(docs) > k:
            keep = scores >= np.partition(scores, -k)[-k]
            docs, scores = docs[keep], scores[keep]
        order = np.lexsort((self.asins[docs], -scores))[:k]
        return docs[order], scores[order]


_ARRAYS = [field.name for field in dataclasses.fields(SearchIndex) if field.name not in ("tokens", "filled")]


def _kth(values: NDArray[np.float64], k: int) -> float:
    return float(np.partition(values, -k)[-k])


def _length_table() -> NDArray[np.float32]:
    """Document length that each length byte stands for (SmallFloat.byte4ToInt)."""
    table = [*range(24), *(0,) * 232]
    for byte in range(24, 256):
        code = byte - 24
        bits, shift = code & 7, (code >> 3) - 1
        table[byte] = 24 + (bits if shift < 0 else (bits | 8) << shift)
    return np.array(table, np.float32)


LENGTHS = _length_table()
