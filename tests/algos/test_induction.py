"""A fresh model that can copy."""

import pytest
import torch

from algos.tiny import TinyConfig, build_model


class Vocabulary:
    """As much of a tokenizer as a model needs to know."""

    pad_token_id = 0

    def __len__(self) -> int:
        return 1500


def copied(model, length: int) -> float:
    """Share of the tokens of a random sequence, said for the second time, that the model foresees."""
    once = torch.randint(0, len(Vocabulary()), (4, length), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        hidden = model.get_decoder()(input_ids=torch.cat([once, once], 1), use_cache=False).last_hidden_state
        said = model.get_output_embeddings()(hidden).argmax(-1)[:, length:-1]
    return float((said == once[:, 1:]).float().mean())


@pytest.mark.parametrize("length", [8, 40, 300])
@pytest.mark.parametrize(("size", "share"), [({}, 0.6), ({"hidden": 96, "layers": 3, "intermediate": 288}, 0.4)])
def test_it_copies_before_the_first_step(size, share, length):
    model = build_model(Vocabulary(), TinyConfig(induction=True, **size), 0)
    assert copied(model, length) > share
    assert copied(build_model(Vocabulary(), TinyConfig(**size), 0), length) < 0.05


def test_another_seed_is_another_model():
    one, other = (build_model(Vocabulary(), TinyConfig(induction=True), seed) for seed in (0, 1))
    a, b = (model.model.layers[1].self_attn for model in (one, other))
    assert not a.v_proj.weight.equal(b.v_proj.weight)
    assert a.k_proj.weight.equal(b.k_proj.weight), "which compares the first heads' notes as they are"


def test_too_small_a_model_is_an_error():
    with pytest.raises(ValueError, match="two layers"):
        build_model(Vocabulary(), TinyConfig(layers=1, induction=True), 0)
