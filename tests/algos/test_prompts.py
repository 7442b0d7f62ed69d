"""Transcripts: markers for tiny's tokenizer, plain lines for any other."""

import pytest
from letters import TEXTS
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from algos.prompts import NAMES, MarkedFormat, PlainFormat, format_for


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
    prompts = prompts.transcript()
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
    tokens = format_for(letters_tokenizer).transcript().opening("", text)
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


def test_identifiers_are_named_in_the_order_in_which_they_appear(letters_tokenizer):
    transcript = format_for(letters_tokenizer).transcript()
    page = transcript.opening("", "B0AAAA1111 far B0BBBB2222 and B0AAAA1111")
    first, second = letters_tokenizer.convert_tokens_to_ids(list(NAMES[:2]))
    assert [t for t in page if t in (first, second)] == [first, second, first]
    said = transcript.encode_action("click[B0BBBB2222]")
    assert said.count(second) == 1
    assert transcript.action(said).lower() == "click[b0bbbb2222]"
    assert first not in format_for(letters_tokenizer).transcript().opening("", "no identifier at all")


def test_forks_name_for_themselves(letters_tokenizer):
    transcript = format_for(letters_tokenizer).transcript()
    transcript.opening("", "B0AAAA1111")
    fork = transcript.fork()
    ours, theirs = transcript.following("B0BBBB2222", True), fork.following("B0CCCC3333", True)
    assert ours == theirs, "each has its second name"
    second = letters_tokenizer.convert_tokens_to_ids(NAMES[1])
    assert [t.action([second]).lower() for t in (transcript, fork)] == ["b0bbbb2222", "b0cccc3333"]


def test_when_the_names_are_used_up_identifiers_stay_as_they_are(letters_tokenizer):
    transcript = format_for(letters_tokenizer).transcript()
    many = [f"B0AAAA{n:04d}" for n in range(len(NAMES) + 3)]
    transcript.opening("", " ".join(many))
    for identifier in (many[0], many[len(NAMES) - 1], many[-1]):
        said = transcript.action(transcript.encode_action(f"click[{identifier}]"))
        assert said.lower() == f"click[{identifier.lower()}]"


def test_identifiers_keep_the_spelling_in_which_they_first_appeared(letters_tokenizer):
    transcript = format_for(letters_tokenizer).transcript()
    transcript.opening("", "B0aAAA1111 far b0bbbb2222")
    again = transcript.following("b0AAAA1111 B0BBBB2222", True)
    first, second = letters_tokenizer.convert_tokens_to_ids(list(NAMES[:2]))
    assert [t for t in again if t in (first, second)] == [first, second], "another spelling is no other identifier"
    assert transcript.action([first]) == "B0aAAA1111"
    assert transcript.action(transcript.encode_action("click[B0BBBB2222]")) == "click[b0bbbb2222]"


def test_identifiers_beyond_the_names_are_text(letters_tokenizer):
    names = set(letters_tokenizer.convert_tokens_to_ids(list(NAMES)))
    transcript = format_for(letters_tokenizer).transcript()
    many = [f"B0AAAA{n:04d}" for n in range(65)]
    page = transcript.opening("", " ".join(many))
    assert [t for t in page if t in names] == letters_tokenizer.convert_tokens_to_ids(list(NAMES))
    spelled = letters_tokenizer.encode(f"click[{many[64]}]", add_special_tokens=False)
    said = transcript.encode_action(f"click[{many[64]}]")
    assert said[:-1] == spelled
    assert not names & set(said)
    assert transcript.action(said) == f"click[{many[64]}]"
