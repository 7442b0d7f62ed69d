"""Search against the original's results, against its formula, and against no pruning."""

import math
from collections import Counter

import numpy as np
import pytest
from golden import golden, real_products
from hypothesis import given, settings
from hypothesis import strategies as st

from sandgym.webshop import search as module
from sandgym.webshop.products import document_text
from sandgym.webshop.search import LENGTHS, SearchIndex

WORDS = ["red", "shoe", "blue", "sock", "hat", "wool", "cap", "belt"]


@pytest.fixture(scope="module")
def real_index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    SearchIndex.build((product.asin, document_text(product)) for product in real_products()).save(folder)
    return SearchIndex.open(folder)


@pytest.mark.parametrize("leading", [50_000, 1])
def test_every_golden_query_has_the_original_results(real_index, monkeypatch, leading):
    monkeypatch.setattr(module, "_LEADING", leading)
    rows = golden("search")
    assert len(rows) == 250
    for row in rows:
        docs, scores = real_index.rank(row["q"])
        assert [real_index.asins[doc].decode() for doc in docs] == [asin for asin, _ in row["hits"]], row["q"]
        assert scores == pytest.approx([score for _, score in row["hits"]], abs=5e-4)
        assert real_index.search(row["q"]) == tuple(docs)


def test_score_of_one_term_by_hand():
    # 3 documents of 2, 1 and 1 tokens; "red" in two of them, twice in the first.
    index = SearchIndex.build([("B1", "red red"), ("B2", "red"), ("B3", "hat")])
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    average = 4 / 3

    def score(frequency, length):
        return idf * frequency / (frequency + 0.9 * (0.6 + 0.4 * length / average))

    docs, scores = index.rank("red")
    assert docs.tolist() == [0, 1]
    assert scores == pytest.approx([score(2, 2), score(1, 1)], rel=1e-6)
    assert index.rank("red red")[1] == pytest.approx(2 * scores, rel=1e-6)
    assert scores.dtype == np.float32


def test_equal_scores_come_in_the_order_of_asins():
    index = SearchIndex.build([("B3", "hat"), ("B10", "hat"), ("A9", "hat"), ("B2", "hat red"), ("B1", "sock")])
    assert index.search("hat") == (2, 1, 0, 3)
    assert index.search("hat", k=2) == (2, 1)


@pytest.mark.parametrize("query", ["", " ", "the of", "absent", "½"])
def test_queries_without_a_known_term_find_nothing(query):
    docs, scores = SearchIndex.build([("B1", "red hat")]).rank(query)
    assert len(docs) == len(scores) == 0


@pytest.mark.parametrize("documents", [[], [("B1", "")], [("B1", "the"), ("B2", "½")]])
def test_an_index_without_terms_finds_nothing(documents, tmp_path):
    index = SearchIndex.build(documents)
    assert (len(index), index.search("hat")) == (len(documents), ())
    index.save(tmp_path)
    assert SearchIndex.open(tmp_path).search("hat") == ()


def test_k_below_one_is_an_error():
    with pytest.raises(ValueError, match="k must be at least 1"):
        SearchIndex.build([("B1", "hat")]).search("hat", k=0)


def test_length_bytes_are_exact_to_forty_then_coarser():
    # SmallFloat.intToByte4: 24 exact values, then three bits after the leading one.
    assert LENGTHS[:49].tolist() == [*range(41), 42, 44, 46, 48, 50, 52, 54, 56]
    assert all(np.diff(LENGTHS) > 0)


@st.composite
def collections(draw):
    texts = draw(st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=60))
    asins = draw(st.permutations([f"B{number:03d}" for number in range(len(texts))]))
    return list(zip(asins, texts, strict=True))


@settings(max_examples=150, deadline=None)
@given(collections(), st.lists(st.sampled_from(WORDS), min_size=1, max_size=7), st.integers(1, 12))
def test_pruning_changes_neither_results_nor_scores(documents, words, k):
    index = SearchIndex.build(documents)
    query = " ".join(words)
    expected = _plain_bm25(documents, query)[:k]
    with pytest.MonkeyPatch.context() as patch:
        for leading, seed in ((50_000, 1500), (1, 1500), (1, 3)):
            patch.setattr(module, "_LEADING", leading)
            patch.setattr(module, "_SEED", seed)
            docs, scores = index.rank(query, k)
            assert [(float(s), documents[d][0]) for d, s in zip(docs, scores, strict=True)] == expected


def _plain_bm25(documents, query):
    """Lucene's formula written out document by document, in its float32 steps."""
    f = np.float32
    tokens = [text.split() for _, text in documents]
    filled = [t for t in tokens if t]
    if not filled:
        return []
    average = f(sum(map(len, filled)) / len(filled))
    found = []
    for (asin, _), words in zip(documents, tokens, strict=True):
        total, norm = 0.0, f(1) / (f(0.9) * ((f(1) - f(0.4)) + f(0.4) * f(len(words)) / average))
        for word, count in Counter(query.split()).items():
            if word in words:
                containing = sum(word in t for t in filled)
                weight = f(count) * f(math.log(1 + (len(filled) - containing + 0.5) / (containing + 0.5)))
                total += float(weight - weight / (f(1) + f(words.count(word)) * norm))
        if total:
            found.append((float(f(total)), asin))
    return sorted(found, key=lambda hit: (-hit[0], hit[1]))


def test_documents_are_indexed_alike_in_one_chunk_and_in_many(monkeypatch):
    from sandgym.webshop import postings

    documents = [(f"B{i:03d}", " ".join(WORDS[j % 8] for j in range(i, i + i % 5))) for i in range(50)]
    whole = SearchIndex.build(documents)
    monkeypatch.setattr(postings, "_CHUNK", 7)
    parts = SearchIndex.build(iter(documents))
    for name in ("asins", "terms", "term_starts", "starts", "docs", "codes", "pairs", "bounds"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name)), name
