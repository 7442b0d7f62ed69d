"""Where the harness gets its engine from, whichever it is.

Invariant: an engine that a source hands out samples from the policy's weights as they are at that moment.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Literal, Protocol

from algos.engines.base import Engine
from algos.engines.vllm import Backend, VLLMConfig, VLLMEngine, adapter_rank, save_weights

EngineKind = Literal["transformers", "vllm"]


class EngineSource(Protocol):
    """Hands out engines; close it at the end."""

    def engine(self, policy: Any) -> Engine:
        """An engine that samples from the policy's present weights; those handed out before are void."""

    def rest(self) -> None:
        """Give memory back until the next engine is asked for."""

    def close(self) -> None:
        """Free everything."""


class TransformersSource:
    """A fresh engine over the policy's own model each time."""

    def engine(self, policy: Any) -> Engine:
        """See ``EngineSource``."""
        engine: Engine = policy.engine()
        return engine

    def rest(self) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing is held."""


class VLLMSource:
    """One vLLM, started with the first policy; weights are pushed to it for every engine."""

    def __init__(self, config: VLLMConfig) -> None:
        self.config = config
        self._engine: VLLMEngine | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._rank: int | None = None

    def engine(self, policy: Any) -> Engine:
        """See ``EngineSource``.

        Raises:
            EngineError: vLLM is missing, does not answer or cannot load the policy.
        """
        rank = adapter_rank(policy)
        if self._engine is not None and rank != self._rank:  # vLLM decides at its start whether it takes adapters
            self.close()
        if self._engine is None:
            self._rank = rank
            self._engine = VLLMEngine(self._backend(policy), policy.model.config.vocab_size, self.config.top_logprobs)
        self._engine.push(policy)
        return self._engine

    def _backend(self, policy: Any) -> Backend:
        if self.config.address is not None:
            from algos.engines.vllm_server import VLLMServer

            tied = self._rank is None and bool(policy.model.config.tie_word_embeddings)
            return VLLMServer(self.config.address, policy.context, self.config, tied)
        from algos.engines.vllm_local import LocalVLLM

        dtype = str(policy.model.dtype).removeprefix("torch.")
        revision = policy.base.revision if self._rank is not None else None
        return LocalVLLM(self._base(policy), dtype, policy.context, self.config, self._rank, revision)

    def _base(self, policy: Any) -> str:
        """Folder or hub id of the model without an adapter, for vLLM to start with."""
        if self._rank is None:
            self._folder = tempfile.TemporaryDirectory(prefix="sandgym-vllm-")
            save_weights(policy.model, Path(self._folder.name))
            return self._folder.name
        from algos.pretrained import located

        return str(located(policy.base.source))

    def rest(self) -> None:
        """Lets vLLM sleep, where it can."""
        if self._engine is not None:
            self._engine.rest(weights=self._rank is None)

    def close(self) -> None:
        """End vLLM."""
        if self._engine is not None:
            self._engine.backend.close()
            self._engine = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def engine_source(kind: EngineKind, vllm: VLLMConfig) -> EngineSource:
    """The source for a setting."""
    return VLLMSource(vllm) if kind == "vllm" else TransformersSource()
