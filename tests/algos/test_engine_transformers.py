"""The engine says what plain transformers says, and encodes each token once."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from policies import entropy, plain_copy, plain_logprobs

from algos.engines.base import Request, Sampling
from algos.engines.transformers import TransformersEngine, uniforms

STOP = frozenset({4})


@pytest.fixture(autouse=True)
def double_precision(policy):
    """So that differences are mistakes and not rounding, which the sharpened weights amplify."""
    policy.model.double()


class Checked:
    """An engine beside what each of its sequences should hold, and what plain transformers says of it."""

    def __init__(self, policy) -> None:
        self.engine = policy.engine()
        self.plain = plain_copy(policy.model)
        self.texts: dict[int, list[int]] = {}
        self.encoded = 0

    def open(self, tokens: list[int]) -> int:
        sequence = self.engine.open()
        self.engine.encode(sequence, tokens)
        self.texts[sequence] = list(tokens)
        self.encoded += len(tokens)
        return sequence

    def fork(self, sequence: int, length: int) -> int:
        child = self.engine.fork(sequence, length)
        self.texts[child] = self.texts[sequence][:length]
        assert self.engine.encoded_tokens == self.encoded, "a fork encodes nothing"
        return child

    def close(self, sequence: int) -> None:
        self.engine.close(sequence)
        del self.texts[sequence]

    def generate(self, pending: dict[int, list[int]], sampling: Sampling, limits: dict[int, int] | None = None):
        """One turn; compares log-probs, entropies, lengths and the number of encoded tokens."""
        requests = [
            Request(s, tokens, 1000 + s, (limits or {}).get(s, sampling.max_tokens)) for s, tokens in pending.items()
        ]
        completions = self.engine.generate(requests, sampling, STOP)
        for request, completion in zip(requests, completions, strict=True):
            self._check(request, completion, sampling)
        assert self.engine.encoded_tokens == self.encoded
        return {r.sequence: c.tokens for r, c in zip(requests, completions, strict=True)}

    @torch.no_grad()
    def _check(self, request: Request, completion, sampling: Sampling) -> None:
        before = self.texts[request.sequence] + list(request.tokens)
        text = before + completion.tokens
        assert 1 <= len(completion.tokens) <= request.max_tokens
        assert not STOP & set(completion.tokens[:-1])
        assert completion.tokens[-1] in STOP or len(completion.tokens) == request.max_tokens
        logprobs = plain_logprobs(self.plain, text, sampling.temperature or 1.0)[len(before) - 1 :]
        chosen = logprobs[torch.arange(len(completion.tokens)), torch.tensor(completion.tokens)]
        torch.testing.assert_close(torch.tensor(completion.logprobs), chosen, atol=3e-5, rtol=1e-5)
        torch.testing.assert_close(torch.tensor(completion.entropies), entropy(logprobs), atol=3e-5, rtol=1e-5)
        if not sampling.temperature:
            assert completion.tokens == logprobs.argmax(-1).tolist()
        self.texts[request.sequence] = text[:-1]  # the last token is not encoded yet
        self.encoded += len(request.tokens) + len(completion.tokens) - 1
        assert self.engine.length(request.sequence) == len(text) - 1


@pytest.mark.parametrize("temperature", [1.0, 0.5, 0.0])
def test_turns_forks_and_moves_equal_plain_transformers(policy, temperature):
    checked = Checked(policy)
    rng = np.random.default_rng(0)
    sampling = Sampling(temperature, 12)

    def text(n: int) -> list[int]:
        return rng.integers(5, 150, n).tolist()

    first = [checked.open(text(n)) for n in (3, 40, 1, 17, 8)]
    tokens = checked.generate({s: text(2) for s in first}, sampling, {first[0]: 3})
    middle = checked.fork(first[1], 41 + len(tokens[first[1]]) // 2)  # inside the turn that was just sampled
    start = checked.fork(first[3], 10)
    checked.close(first[2])
    again = checked.open(text(300))  # takes the freed slot and makes the cache grow
    order = [again, middle, first[4], start, first[0], first[1]]  # every slot moves
    tokens = checked.generate({s: [7, *text(n)] for n, s in enumerate(order)}, sampling)
    checked.close(again)
    for _ in range(2):
        tokens = checked.generate({s: [tokens[s][-1], 9] for s in (start, middle, first[0])}, sampling)
    deep = checked.fork(start, 3)
    checked.generate({deep: text(5), first[3]: text(1), middle: [8]}, sampling)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_order_of_calls_equals_plain_transformers(policy, data):
    checked = Checked(policy)
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    for _ in range(data.draw(st.integers(2, 8))):
        live = sorted(checked.texts)
        call = data.draw(st.sampled_from(["open", "fork", "close", "generate", "generate"] if live else ["open"]))
        if call == "open":
            checked.open(rng.integers(5, 150, int(rng.integers(1, 30))).tolist())
        elif call == "fork":
            chosen = data.draw(st.sampled_from(live))
            checked.fork(chosen, data.draw(st.integers(0, len(checked.texts[chosen]))))
        elif call == "close":
            checked.close(data.draw(st.sampled_from(live)))
        else:
            chosen = data.draw(st.lists(st.sampled_from(live), unique=True, min_size=1))
            pending = {s: rng.integers(5, 150, int(rng.integers(1, 5))).tolist() for s in chosen}
            checked.generate(pending, Sampling(1.0, 6))


def test_the_same_seed_gives_the_same_tokens_in_any_company(policy):
    prompt, sampling = [20, 30, 40], Sampling(1.0, 20)

    def play(others: int, place: int) -> list[int]:
        engine = policy.engine()
        requests = [Request(engine.open(), [50 + n, 60], n, 5 + n) for n in range(others)]
        mine = engine.open()
        engine.encode(mine, prompt)
        requests.insert(place, Request(mine, [41], 12345, 20))
        return engine.generate(requests, sampling, STOP)[place].tokens

    alone = play(0, 0)
    assert len(set(alone)) > 1
    assert [play(7, place) for place in (0, 3, 7)] == [alone] * 3


def test_token_n_of_a_sequence_uses_draw_n_however_it_came_there(policy):
    whole = policy.engine()
    sequence = whole.open()
    together = whole.generate([Request(sequence, [20, 30], 7, 6)], Sampling(1.0, 6), frozenset())[0].tokens
    parts = policy.engine()
    sequence = parts.open()
    head = parts.generate([Request(sequence, [20, 30], 7, 2)], Sampling(1.0, 6), frozenset())[0].tokens
    tail = parts.generate([Request(sequence, head[-1:], 7, 4)], Sampling(1.0, 6), frozenset())[0].tokens
    assert head + tail == together


def test_sampling_follows_the_distribution(policy):
    """4,000 draws of one next token against its probabilities: chi-square, 5 standard deviations."""
    engine = policy.engine()
    root = engine.open()
    engine.encode(root, [20, 30])
    draws = 4000
    seeds = np.random.default_rng(0).integers(0, 2**63, draws).tolist()
    counts = np.zeros(policy.model.config.vocab_size)
    for part in range(0, draws, 500):
        requests = [Request(engine.fork(root, 2), [40], s, 1) for s in seeds[part : part + 500]]
        for completion in engine.generate(requests, Sampling(1.0, 1), STOP):
            counts[completion.tokens[0]] += 1
        for request in requests:
            engine.close(request.sequence)
    probs = plain_logprobs(plain_copy(policy.model), [20, 30, 40, 0]).exp()[-1].detach().numpy()
    often = probs * draws >= 5
    expected = np.append(probs[often], probs[~often].sum()) * draws
    observed = np.append(counts[often], counts[~often].sum())
    freedom = len(expected) - 1
    assert freedom > 3
    assert ((observed - expected) ** 2 / expected).sum() < freedom + 5 * np.sqrt(2 * freedom)


def test_too_long_a_sequence_is_an_error(policy):
    engine = TransformersEngine(policy.model, context=10)
    sequence = engine.open()
    with pytest.raises(ValueError, match="11 tokens exceeds the context of 10"):
        engine.encode(sequence, [5] * 11)
    assert engine.length(sequence) == 0
    with pytest.raises(ValueError, match="exceeds the context of 10"):
        engine.generate([Request(sequence, [5] * 8, 0, 9)], Sampling(1.0, 9), frozenset())


def test_a_sequence_may_fill_the_context_while_others_go_on(policy):
    engine = TransformersEngine(policy.model, context=10)
    requests = [Request(engine.open(), [5] * 10, 0, 1)]
    requests += [Request(engine.open(), [6 + n], 1 + n, 5) for n in range(7)]
    completions = engine.generate(requests, Sampling(1.0, 5), frozenset())
    assert [len(c.tokens) for c in completions] == [1] + [5] * 7


def test_a_fork_past_the_end_is_an_error(policy):
    engine = policy.engine()
    sequence = engine.open()
    engine.encode(sequence, [5, 6])
    with pytest.raises(ValueError, match="cannot fork at 3: only 2 tokens"):
        engine.fork(sequence, 3)


def test_reset_forgets_and_nothing_asked_is_nothing_given(policy):
    engine = policy.engine()
    engine.encode(engine.open(), [5, 6, 7])
    engine.reset()
    assert engine.generate([], Sampling(), STOP) == []
    checked = Checked(policy)
    checked.engine = engine
    checked.encoded = engine.encoded_tokens
    checked.generate({checked.open([9, 8]): [7]}, Sampling(1.0, 8))


@pytest.mark.parametrize("arguments", [{"temperature": -1.0}, {"max_tokens": 0}])
def test_bad_sampling_is_an_error(arguments):
    with pytest.raises(ValueError, match="temperature >= 0 and max_tokens >= 1"):
        Sampling(**arguments)


def test_uniforms_are_splitmix64():
    """The published outputs for seed 1234567, of which the top 53 bits are kept."""
    known = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert uniforms([1234567] * 5, range(5)).tolist() == [(k >> 11) / 2**53 for k in known]


@pytest.mark.parametrize("along", ["seeds", "draws"])
def test_uniforms_are_uniform(along):
    numbers = np.arange(100_000)
    drawn = uniforms(numbers, np.full(100_000, 3)) if along == "seeds" else uniforms(np.full(100_000, 3), numbers)
    counts, _ = np.histogram(drawn, 100, (0, 1))
    assert ((counts - 1000) ** 2 / 1000).sum() < 99 + 5 * np.sqrt(2 * 99)
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 5 / np.sqrt(100_000)
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
