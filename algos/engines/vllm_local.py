"""vLLM in this process (its workers are processes of their own).

Invariant: log-probs are those of the distribution that was sampled from (``logprobs_mode``), and a prefix that was
computed with older weights is never used again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from algos.engines.vllm import INSTALL, EngineError, Sampled, VLLMConfig


class LocalVLLM:
    """``vllm.LLM``; see ``algos.engines.vllm.Backend``.

    Args:
        model: folder or hub id of the model, without an adapter.
        dtype: of the weights, such as ``"bfloat16"``.
        context: the model's own; ``max_model_len`` among the options makes it shorter.
        config: see there.
        rank: of the LoRA adapters that will be loaded; None: none will.
        revision: commit of a hub id.

    Raises:
        EngineError: vLLM is not installed.
    """

    def __init__(
        self, model: str, dtype: str, context: int, config: VLLMConfig, rank: int | None, revision: str | None = None
    ) -> None:
        try:
            import vllm
            from vllm.lora.request import LoRARequest
            from vllm.platforms import current_platform
        except ImportError as error:
            raise EngineError(f"{INSTALL} ({error})") from error
        self._params, self._lora_request = vllm.SamplingParams, LoRARequest
        self._can_sleep = config.sleep and current_platform.is_sleep_mode_available()
        self._adapter: Any = None
        self._asleep = False
        adapters: dict[str, Any] = {}
        if rank is not None:
            adapters = {
                "enable_lora": True,
                "max_lora_rank": next(n for n in (8, 16, 32, 64, 128, 256, 512) if n >= rank),
            }
        settings: dict[str, Any] = {
            "dtype": dtype,
            "revision": revision,
            "max_model_len": context,
            "skip_tokenizer_init": True,
            "enable_prefix_caching": True,
            "logprobs_mode": "processed_logprobs",
            "max_logprobs": config.top_logprobs,
            "generation_config": "vllm",
            "gpu_memory_utilization": config.memory,
            "enable_sleep_mode": self._can_sleep,
        }
        if current_platform.is_cpu():
            settings |= on_cpu(context, rank is not None)
        settings |= adapters | config.options
        self.context = int(settings["max_model_len"])
        self._llm = vllm.LLM(model, **settings)

    def generate(self, prompts: Sequence[list[int]], settings: Sequence[dict[str, Any]]) -> list[Sampled]:
        """See ``Backend``."""
        outputs = self._llm.generate(
            [{"prompt_token_ids": prompt} for prompt in prompts],
            [self._params(detokenize=False, **mine) for mine in settings],
            use_tqdm=False,
            lora_request=self._adapter,
        )
        return [self._sampled(output) for output in outputs]

    @staticmethod
    def _sampled(output: Any) -> Sampled:
        completion = output.outputs[0]
        tokens = list(completion.token_ids)
        positions = completion.logprobs[: len(tokens)]
        return Sampled(
            tokens,
            [position[token].logprob for token, position in zip(tokens, positions, strict=True)],
            [[entry.logprob for entry in position.values()] for position in positions],
            output.num_cached_tokens or 0,
        )

    def load(self, folder: Path) -> None:
        """See ``Backend``."""
        self._llm.collective_rpc("reload_weights", kwargs={"weights_path": str(folder)})
        if not self._llm.reset_prefix_cache():
            raise EngineError("vLLM could not forget what it computed with the old weights: requests are still running")

    def load_adapter(self, folder: Path, number: int) -> None:
        """See ``Backend``."""
        previous, self._adapter = self._adapter, self._lora_request(f"sandgym-{number}", number, str(folder))
        if previous is not None:
            self._llm.llm_engine.remove_lora(previous.lora_int_id)
        self._llm.llm_engine.add_lora(self._adapter)  # now: the folder does not stay

    def sleep(self, weights: bool) -> None:
        """See ``Backend``."""
        if self._can_sleep and not self._asleep:
            self._llm.sleep(level=2 if weights else 1)
            self._asleep = True

    def wake(self) -> None:
        """See ``Backend``."""
        if self._asleep:
            self._llm.wake_up()
            self._asleep = False

    def close(self) -> None:
        """End vLLM's processes."""
        self._llm.llm_engine.engine_core.shutdown()


def on_cpu(context: int, adapters: bool) -> dict[str, Any]:
    """What vLLM (0.32) needs on CPUs.

    A request with a seed fails when its prompt is encoded in pieces, and an output head that shares the embeddings'
    weights does not take new ones: it gets weights of its own, which ``save_weights`` writes.
    """
    whole = {"enable_chunked_prefill": False, "max_num_batched_tokens": max(context, 8192)}
    return whole if adapters else whole | {"hf_overrides": {"tie_word_embeddings": False}}
