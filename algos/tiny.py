"""``tiny``: a small Llama with a tokenizer of its own, for machines without a GPU.

Invariant: a word is the same token wherever it stands, on a page or as the argument
of an action, so that acting is copying. To that end the tokenizer puts a space after
an opening bracket and takes it away again when it decodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from algos.attention import ATTENTION
from algos.induction import add_induction_head
from algos.prompts import IDENTIFIER, MARKERS, NAMES

WORDS = r"▁\[\w+\]|▁?[^\W\d_]+(?:['’-]\w+)+|▁?\d+|\.\d+|▁?[^\w▁]"


@dataclass(frozen=True)
class TinyConfig:
    """Size of the model; about 1.2 million parameters.

    ``induction`` gives the fresh model an induction head (see ``algos.induction``), so that it copies from the start.
    """

    vocabulary: int = 2000
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    intermediate: int = 384
    context: int = 4096
    rope_theta: float = 500_000.0
    induction: bool = False


def is_tiny(source: str | Path) -> bool:
    """Whether a model is ``tiny`` by its name, or by the markers in its folder's tokenizer."""
    file = Path(source).expanduser() / "tokenizer.json"
    return source == "tiny" or (file.is_file() and all(m in file.read_text(encoding="utf-8") for m in MARKERS))


def build_tokenizer(texts: Iterable[str], config: TinyConfig, lowercase: bool) -> PreTrainedTokenizerFast:
    """Train a byte-pair encoding on environment text."""
    corpus: Counter[str] = Counter()
    for text in texts:
        corpus[IDENTIFIER.sub(" ", text)] += 1
    tokenizer = Tokenizer(models.BPE(unk_token="<|unk|>"))
    steps: list[Any] = [normalizers.Lowercase()] if lowercase else []
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(Regex(r"(?<=\w)\["), "[ ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(prepend_scheme="first"),
            pre_tokenizers.Split(Regex(WORDS), "isolated"),
        ]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Metaspace(prepend_scheme="first"), decoders.Fuse(), decoders.Replace("[ ", "[")]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=config.vocabulary,
        special_tokens=["<|pad|>", "<|unk|>", *MARKERS],
        initial_alphabet=[chr(c) for c in range(32, 127)],
        show_progress=False,
    )
    tokenizer.train_from_iterator(list(corpus.elements()), trainer)
    tokenizer.add_tokens([AddedToken(name, lstrip=True, normalized=False) for name in NAMES])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<|unk|>", pad_token="<|pad|>", clean_up_tokenization_spaces=False
    )


def build_model(tokenizer: Any, config: TinyConfig, seed: int) -> LlamaForCausalLM:
    """A randomly initialised model for a tokenizer."""
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=config.hidden,
            intermediate_size=config.intermediate,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.kv_heads,
            max_position_embeddings=config.context,
            rope_theta=config.rope_theta,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=None,
            attn_implementation=ATTENTION,
        )
    )
    # Embeddings of length 1: a token that attention copies is the output's favourite from the first step on.
    torch.nn.init.normal_(model.get_input_embeddings().weight, std=config.hidden**-0.5)
    if config.induction:
        add_induction_head(model, seed)
    return model
