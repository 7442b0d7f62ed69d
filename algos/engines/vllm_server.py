"""vLLM as a server of its own, over HTTP: token ids in, token ids and log-probs out.

Invariant: a server that would answer with other log-probs than those of the sampled distribution is refused when it
is connected to, not found out later.
"""

from __future__ import annotations

import contextlib
import json
import urllib.error
import urllib.request
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from algos.engines.vllm import EngineError, Sampled, VLLMConfig

PARALLEL = 256
SECONDS = 1800
PREFIX = "token_id:"


class VLLMServer:
    """A server started with ``vllm serve``; see ``algos.engines.vllm.Backend``.

    It loads weights and adapters from folders that this process writes, so both must see the same files.

    Args:
        address: such as ``http://localhost:8000``.
        context: the model's own; the server's may be shorter.
        config: see there.
        tied: whether weights will be loaded in which the output head shares the embeddings'.

    Raises:
        EngineError: it does not answer, or it was not started as it must be; the message says how.
    """

    def __init__(self, address: str, context: int, config: VLLMConfig, tied: bool = False) -> None:
        self.address = address.rstrip("/")
        self._start = (
            f"start it with: VLLM_SERVER_DEV_MODE=1 VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 vllm serve MODEL "
            f"--max-model-len {context} --logprobs-mode processed_logprobs --max-logprobs {config.top_logprobs} "
            "--enable-prefix-caching --enable-prompt-tokens-details (with --enable-lora --max-lora-rank RANK to learn "
            "an adapter, with --enable-sleep-mode to share a GPU, with --no-enable-chunked-prefill on a CPU)"
        )
        self._threads = ThreadPoolExecutor(PARALLEL, thread_name_prefix="vllm")
        self._run = uuid.uuid4().hex[:8]  # adapters of a run that was killed may still be there
        self._adapter: str | None = None
        self._asleep = False
        self._check(config, tied)
        self.context = min(context, self._served)

    def _check(self, config: VLLMConfig, tied: bool) -> None:
        models = self._ask("/v1/models")["data"]
        self._model, self._served = models[0]["id"], models[0]["max_model_len"]
        info = self._ask("/server_info?config_format=json")["vllm_config"]
        model = info["model_config"]
        self._can_sleep = config.sleep and bool(model.get("enable_sleep_mode"))
        most = model["max_logprobs"]
        wrong = None
        if model["logprobs_mode"] != "processed_logprobs":
            wrong = f"reports {model['logprobs_mode']}, not the log-probs of the distribution that it samples from"
        elif 0 <= most < config.top_logprobs:
            wrong = f"reports at most {most} log-probs a token"
        if tied and info["device_config"]["device_type"] == "cpu":
            raise EngineError(
                f"the vLLM server at {self.address} runs on a CPU, where it does not take new weights of an output "
                "head that shares the embeddings': let vLLM run in this process (no vllm.address), or learn an adapter "
                "(lora.rank)"
            )
        if wrong is not None:
            raise EngineError(f"the vLLM server at {self.address} {wrong}; {self._start}")

    def generate(self, prompts: Sequence[list[int]], settings: Sequence[dict[str, Any]]) -> list[Sampled]:
        """See ``Backend``; one request a prompt, since each has its own seed."""
        return list(self._threads.map(self._complete, prompts, settings))

    def _complete(self, prompt: list[int], settings: dict[str, Any]) -> Sampled:
        form = {"return_token_ids": True, "return_tokens_as_token_ids": True, "add_special_tokens": False}
        answer = self._ask(
            "/v1/completions", {"model": self._adapter or self._model, "prompt": prompt, **form, **settings}
        )
        choice = answer["choices"][0]
        logprobs = choice["logprobs"]
        tokens = choice.get("token_ids") or [int(token.removeprefix(PREFIX)) for token in logprobs["tokens"]]
        details = answer["usage"].get("prompt_tokens_details") or {}
        return Sampled(
            tokens,
            logprobs["token_logprobs"],
            [[_unclamped(p) for p in top.values()] for top in logprobs["top_logprobs"]],
            details.get("cached_tokens") or 0,
        )

    def load(self, folder: Path) -> None:
        """See ``Backend``."""
        self._ask("/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": str(folder)}})
        if not self._ask("/reset_prefix_cache", {})["success"]:
            raise EngineError(
                f"the vLLM server at {self.address} could not forget what it computed with the old weights: does "
                "anything else use it?"
            )

    def load_adapter(self, folder: Path, number: int) -> None:
        """See ``Backend``."""
        previous, name = self._adapter, f"sandgym-{self._run}-{number}"
        self._ask("/v1/load_lora_adapter", {"lora_name": name, "lora_path": str(folder)})
        self._adapter = name
        if previous is not None:
            self._ask("/v1/unload_lora_adapter", {"lora_name": previous})

    def sleep(self, weights: bool) -> None:
        """See ``Backend``."""
        if self._can_sleep and not self._asleep:
            self._ask(f"/sleep?level={2 if weights else 1}", {})
            self._asleep = True

    def wake(self) -> None:
        """See ``Backend``."""
        if self._asleep:
            self._ask("/wake_up", {})
            self._asleep = False

    def close(self) -> None:
        """Leave the server as it is, without this run's adapter."""
        if self._adapter is not None:
            with contextlib.suppress(EngineError):  # it may have ended, which may be why this does
                self._ask("/v1/unload_lora_adapter", {"lora_name": self._adapter})
            self._adapter = None
        self._threads.shutdown()

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """One request, posted where there is a body; answers that are not JSON are returned as text."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as response:
                text = response.read().decode()
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")[:500]
            hint = f"; {self._start}" if error.code in (404, 405) else ""
            raise EngineError(
                f"the vLLM server at {self.address} refused {path} ({error.code}): {said}{hint}"
            ) from error
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise EngineError(f"no vLLM server answers at {self.address} ({reason}); {self._start}") from error
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return text


def _unclamped(logprob: float) -> float:
    """The server writes -9999 for minus infinity."""
    return logprob if logprob > -9000 else float("-inf")
