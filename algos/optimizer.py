"""AdamW that steps in float32, whatever precision the weights are kept in.

A bfloat16 weight has eight significant bits: a step of 1e-6 on a weight of 1e-2 would be rounded away, every time.
So each weight of a lower precision has a float32 copy that learns, and is set to its rounded value after every step
(Micikevicius et al., Mixed Precision Training, arXiv:1710.03740).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

COPIES = "copies"


class AdamW(torch.optim.AdamW):
    """``torch.optim.AdamW`` on weights of any precision; with those of 32 bits or more it is torch's own.

    Args:
        groups: of parameters, as torch's.
        settings: torch's.
    """

    def __init__(self, groups: Sequence[dict[str, Any]], **settings: Any) -> None:
        self._copied: list[tuple[Tensor, Tensor]] = []
        learning = [{**group, "params": [self._learning(weight) for weight in group["params"]]} for group in groups]
        super().__init__(learning, **settings)

    def _learning(self, weight: Tensor) -> Tensor:
        if torch.finfo(weight.dtype).bits >= 32:
            return weight
        copy = weight.detach().float().requires_grad_()
        self._copied.append((weight, copy))
        return copy

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One step by the weights' gradients."""
        for weight, copy in self._copied:
            copy.grad = None if weight.grad is None else weight.grad.float()
        super().step()
        for weight, copy in self._copied:
            copy.grad = None
            weight.copy_(copy)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the weights' gradients."""
        super().zero_grad(set_to_none)
        for weight, _ in self._copied:
            weight.grad = None

    def state_dict(self) -> dict[str, Any]:
        """As torch's, with the float32 copies."""
        return super().state_dict() | {COPIES: [copy.detach() for _, copy in self._copied]}

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """See torch's.

        Raises:
            ValueError: the state is of weights of another precision.
        """
        copies = state_dict.get(COPIES, [])
        if len(copies) != len(self._copied):
            raise ValueError("the optimizer's state is of weights of another precision")
        super().load_state_dict({name: value for name, value in state_dict.items() if name != COPIES})
        for (_, copy), saved in zip(self._copied, copies, strict=True):
            copy.copy_(saved)
