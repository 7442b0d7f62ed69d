"""``tiny``: words are the same tokens on a page and in an action, identifiers are single tokens."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import SHOP, SMALL

from algos.prompts import format_for
from algos.tiny import build_model, build_tokenizer

quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
words = st.from_regex(r"[a-z0-9][a-z0-9.'’\-/&+×%]{0,9}", fullmatch=True)
phrases = st.lists(words, min_size=1, max_size=5).map(" ".join)
pairs = st.tuples(phrases, phrases)
options = st.one_of(phrases, pairs.map(" | ".join), pairs.map(lambda pair: f"{pair[0]} ({pair[1]})"))


def decoded(tokenizer, text: str) -> str:
    return tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)).strip()


@quick
@given(option=options, verb=st.sampled_from(["click", "search"]))
def test_actions_come_back_as_they_were(shop_tokenizer, option, verb):
    action = f"{verb}[{option}]"
    if "<|unk|>" not in shop_tokenizer.convert_ids_to_tokens(shop_tokenizer.encode(action, add_special_tokens=False)):
        assert decoded(shop_tokenizer, action) == action


@pytest.mark.parametrize("text", ["click[< prev]", "click[next >]", "search[red]", "click[5.5 x 7]", "click[men's]"])
def test_page_buttons_come_back(shop_tokenizer, text):
    assert decoded(shop_tokenizer, text) == text


def test_every_action_of_the_demonstrations_comes_back(shop_tokenizer, shop_demonstrations):
    for demonstration in shop_demonstrations:
        transcript = format_for(shop_tokenizer).transcript()
        for observation, action in zip(demonstration.observations, demonstration.actions, strict=True):
            transcript.opening("", observation)
            assert transcript.action(transcript.encode_action(action)).lower() == action.lower()


@quick
@given(phrase=phrases)
def test_a_word_is_the_same_tokens_in_an_action_as_on_a_page(shop_tokenizer, phrase):
    def encode(text: str) -> list[int]:
        return shop_tokenizer.encode(text, add_special_tokens=False)

    def holds(text: list[int], part: list[int]) -> bool:
        return any(text[n : n + len(part)] == part for n in range(len(text) - len(part) + 1))

    word = encode(f"x {phrase}")[len(encode("x")) :]
    assert holds(encode(f"click[{phrase}]"), word)


def test_case_is_ignored_only_where_the_environment_ignores_it():
    texts = ["click[Blue] A1B2C3D4E5 here"] * 3
    lower, exact = (build_tokenizer(texts, SMALL, lowercase=lowercase) for lowercase in (True, False))
    assert lower.encode("click[BLUE]") == lower.encode("click[blue]")
    assert exact.encode("click[BLUE]") != exact.encode("click[blue]")
    assert decoded(exact, "click[BLUE]") == "click[BLUE]"


def test_the_tokenizer_is_a_function_of_the_text(shop_demonstrations, shop_tokenizer):
    again = build_tokenizer((t for d in shop_demonstrations for t in d.texts()), SHOP, lowercase=True)
    assert again.get_vocab() == shop_tokenizer.get_vocab()


def test_the_model_is_a_function_of_the_seed(letters_tokenizer):
    one, two, other = (build_model(letters_tokenizer, SMALL, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_the_model_has_the_configured_size(letters_tokenizer):
    config = build_model(letters_tokenizer, SMALL, 0).config
    assert (config.hidden_size, config.num_hidden_layers, config.num_key_value_heads) == (32, 2, 2)
    assert config.vocab_size == len(letters_tokenizer)
    assert config.max_position_embeddings == 512
