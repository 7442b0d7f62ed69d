"""Transcripts: markers for tiny's tokenizer, plain lines for any other."""

import pytest
from letters import TEXTS
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from algos.prompts import MarkedFormat, PlainFormat, format_for


@pytest.fixture(scope="module")
def plain_tokenizer():
    """A byte-level tokenizer like those of larger models; it has learned that a bracket often ends a line."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=280, special_tokens=["<eos>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(["search[red lamp]\nclick[blue]\n"] * 20, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>")


def test_the_format_follows_the_tokenizer(letters_tokenizer, plain_tokenizer):
    assert isinstance(format_for(letters_tokenizer), MarkedFormat)
    assert isinstance(format_for(plain_tokenizer), PlainFormat)


def test_marked_transcripts(letters_tokenizer):
    prompts = format_for(letters_tokenizer)
    observation, action, end = letters_tokenizer.convert_tokens_to_ids(["<|obs|>", "<|act|>", "<|end|>"])
    text = letters_tokenizer.encode("spell apple", add_special_tokens=False)
    assert prompts.stop == {end}
    assert prompts.opening("rules", "spell apple") == [observation, *text, action]
    assert prompts.following("spell apple", closed=True) == [observation, *text, action]
    assert prompts.following("spell apple", closed=False) == [end, observation, *text, action]
    said = prompts.encode_action("far now")
    assert said[-1] == end
    assert end not in said[:-1]
    assert prompts.action(said) == "far now"
    assert prompts.action(said[:-1]) == "far now"
    assert prompts.action([end]) == ""


@pytest.mark.parametrize("text", TEXTS[::9])
def test_observations_come_back(letters_tokenizer, text):
    tokens = format_for(letters_tokenizer).opening("", text)
    assert letters_tokenizer.decode(tokens[1:-1]).strip() == text


def test_plain_transcripts(plain_tokenizer):
    prompts = format_for(plain_tokenizer)
    assert plain_tokenizer.decode(prompts.opening("Rules.", "a page")) == "Rules.\n\nObservation: a page\nAction:"
    assert plain_tokenizer.decode(prompts.following("next", closed=True)) == "Observation: next\nAction:"
    assert plain_tokenizer.decode(prompts.following("next", closed=False)) == "\nObservation: next\nAction:"
    assert plain_tokenizer.eos_token_id in prompts.stop


@pytest.mark.parametrize("action", ["click[blue]", "search[red lamp]", "look"])
def test_plain_actions_end_with_a_stop_token(plain_tokenizer, action):
    """Also where the tokenizer writes the bracket and the end of the line as one token."""
    prompts = format_for(plain_tokenizer)
    said = prompts.encode_action(action)
    assert said[-1] in prompts.stop
    assert not prompts.stop & set(said[:-1])
    assert prompts.action(said) == action


def test_a_tokenizer_without_an_end_is_an_error():
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    with pytest.raises(ValueError, match="neither a newline token nor an end-of-text token"):
        PlainFormat(PreTrainedTokenizerFast(tokenizer_object=tokenizer))
