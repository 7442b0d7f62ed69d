"""AdamW in float32 on weights of a lower precision."""

import copy

import pytest
import torch

from algos.optimizer import AdamW

LR = 1e-6


def weights(precision):
    torch.manual_seed(0)
    return [torch.nn.Parameter((0.01 * torch.randn(5, 3)).to(precision)), torch.nn.Parameter(torch.ones(2))]


def step(optimizer, parameters, sign=1.0):
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, sign)
    optimizer.step()
    optimizer.zero_grad()
    assert all(p.grad is None for p in parameters)


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_small_steps_add_up(precision):
    """With a constant gradient AdamW moves by the rate a step; a bfloat16 weight of 0.01 knows steps of 6e-5."""
    ours, theirs = weights(precision), weights(precision)
    before = ours[0].detach().float()
    optimizers = AdamW([{"params": ours}], lr=LR), torch.optim.AdamW(theirs, lr=LR, weight_decay=0.01)
    for _ in range(2000):
        for optimizer, parameters in zip(optimizers, (ours, theirs), strict=True):
            step(optimizer, parameters)
    spacing = torch.finfo(precision).eps * 0.03
    torch.testing.assert_close(ours[0].detach().float(), before - 2000 * LR, atol=spacing, rtol=0.01)
    assert ours[0].dtype == precision
    if precision == torch.bfloat16:
        assert (theirs[0].detach().float() - (before - 2000 * LR)).abs().max() > 1e-3


def test_float32_weights_are_torchs_own():
    ours, theirs = weights(torch.float32), weights(torch.float32)
    settings = {"lr": 1e-3, "betas": (0.8, 0.9), "weight_decay": 0.1}
    optimizers = AdamW([{"params": ours, "factor": 1.0}], **settings), torch.optim.AdamW(theirs, **settings)
    for sign in (1.0, -2.0, 0.5):
        for optimizer, parameters in zip(optimizers, (ours, theirs), strict=True):
            step(optimizer, parameters, sign)
    assert all(torch.equal(mine, other) for mine, other in zip(ours, theirs, strict=True))
    assert optimizers[0].param_groups[0]["params"] == ours
    assert optimizers[0].param_groups[0]["factor"] == 1.0


def test_what_was_rounded_away_is_in_the_state():
    parameters = weights(torch.bfloat16)
    optimizer = AdamW([{"params": parameters}], lr=LR)
    for _ in range(7):
        step(optimizer, parameters)
    resumed = copy.deepcopy(parameters)
    again = AdamW([{"params": resumed}], lr=LR)
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for _ in range(500):
        step(optimizer, parameters)
        step(again, resumed)
    assert all(torch.equal(mine, other) for mine, other in zip(resumed, parameters, strict=True))
    with pytest.raises(ValueError, match="another precision"):
        AdamW([{"params": weights(torch.float32)}]).load_state_dict(optimizer.state_dict())
