"""A small HTTP server that answers as ``vllm serve`` does (0.32), over a real model run by plain transformers.

It samples with each request's own seed, reports log-probs of the distribution that it sampled from, caches prefixes by
blocks, keeps them when weights are loaded (as vLLM does) until it is told to forget them, and fails while asleep.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from algos.engines.transformers import truncate

BLOCK = 16


class FakeVLLM(ThreadingHTTPServer):
    """Starts at once; ``close`` stops it.

    Attributes:
        asked: (path, body) of every request but completions.
        stale: completions that used a prefix which other weights had computed.
    """

    daemon_threads = True
    request_queue_size = 512

    def __init__(
        self, folder: Path, context: int = 512, dev_mode: bool = True, device: str = "cuda", **model_config: Any
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.context, self.dev_mode, self.device = context, dev_mode, device
        self.model_config = {
            "logprobs_mode": "processed_logprobs",
            "max_logprobs": 20,
            "enable_sleep_mode": True,
        } | model_config
        self.asked: list[tuple[str, Any]] = []
        self.completions: list[dict[str, Any]] = []
        self.stale = 0
        self.sleep_level: int | None = None
        self.version = 0
        self.blocks: dict[tuple[str, tuple[int, ...]], int] = {}
        self.adapters: dict[str, Any] = {}
        self.model = self._load(folder)
        self.guard = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    @staticmethod
    def _load(folder: Path) -> Any:
        return AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()

    def answer(self, path: str, body: Any) -> tuple[int, Any]:
        with self.guard:
            route, _, query = path.partition("?")
            if route == "/v1/completions":
                self.completions.append(body)
                return self._complete(body)
            self.asked.append((path, body))
            served = [{"id": "base", "max_model_len": self.context}] + [{"id": n} for n in self.adapters]
            if route == "/v1/models":
                return 200, {"data": served}
            if route == "/v1/load_lora_adapter":
                trunk = self._load(Path(self.base)) if hasattr(self, "base") else self.model
                self.adapters[body["lora_name"]] = PeftModel.from_pretrained(trunk, body["lora_path"]).eval()
                return 200, "Success: adapter added"
            if route == "/v1/unload_lora_adapter":
                del self.adapters[body["lora_name"]]
                return 200, "Success: adapter removed"
            return self._develop(route, query, body) if self.dev_mode else (404, {"detail": "Not Found"})

    def _develop(self, route: str, query: str, body: Any) -> tuple[int, Any]:
        if route == "/server_info":
            return 200, {
                "vllm_config": {"model_config": self.model_config, "device_config": {"device_type": self.device}}
            }
        if route == "/collective_rpc":
            assert body["method"] == "reload_weights"
            self.model = self._load(Path(body["kwargs"]["weights_path"]))
            self.version += 1
            return 200, {"results": [None]}
        if route == "/reset_prefix_cache":
            self.blocks.clear()
            return 200, {"success": True}
        if route == "/sleep":
            self.sleep_level = int(query.removeprefix("level="))
            self.blocks.clear()
            if self.sleep_level == 2:
                self.model = None
            return 200, {"status": "sleeping"}
        if route == "/wake_up":
            self.sleep_level = None
            return 200, {"status": "awake"}
        return 404, {"detail": "Not Found"}

    @torch.no_grad()
    def _complete(self, body: Any) -> tuple[int, Any]:
        if self.sleep_level is not None:
            return 500, {"error": {"message": "the engine sleeps"}}
        prompt, name = body["prompt"], body["model"]
        if len(prompt) + body["max_tokens"] > self.context or body["logprobs"] > self.model_config["max_logprobs"]:
            return 400, {"error": {"message": "out of bounds"}}
        model = self.model if name == "base" else self.adapters[name]
        cached = self._cached(name, prompt)
        draw = torch.Generator().manual_seed(body["seed"])
        tokens: list[int] = []
        logprobs: list[float] = []
        tops: list[dict[str, float]] = []
        while len(tokens) < body["max_tokens"] and not (tokens and tokens[-1] in body["stop_token_ids"]):
            row = model(torch.tensor([[*prompt, *tokens]])).logits[:, -1].float()
            greedy = body["temperature"] == 0
            row = (row if greedy else row / body["temperature"]).log_softmax(-1)
            if not greedy and (body["top_p"] < 1 or body["top_k"]):
                row = truncate(row, body["top_p"], body["top_k"])
            row = row[0]
            token = int(row.argmax()) if greedy else int(torch.multinomial(row.exp(), 1, generator=draw))
            shown = {token, *row.topk(body["logprobs"]).indices.tolist()}
            tops.append({f"token_id:{t}": max(float(row[t]), -9999.0) for t in shown})
            tokens.append(token)
            logprobs.append(float(row[token]))
        self._remember(name, [*prompt, *tokens[:-1]])
        choice = {
            "index": 0,
            "text": "",
            "token_ids": tokens if body.get("return_token_ids") else None,
            "logprobs": {
                "tokens": [f"token_id:{t}" for t in tokens],
                "token_logprobs": logprobs,
                "top_logprobs": tops,
            },
        }
        usage = {"prompt_tokens": len(prompt), "prompt_tokens_details": {"cached_tokens": cached}}
        return 200, {"choices": [choice], "usage": usage}

    def _cached(self, name: str, prompt: list[int]) -> int:
        """Tokens in whole blocks that were computed before; the last token of a prompt is always computed."""
        cached = 0
        while cached + BLOCK < len(prompt):
            version = self.blocks.get((name, tuple(prompt[: cached + BLOCK])))
            if version is None:
                break
            self.stale += version != self.version
            cached += BLOCK
        return cached

    def _remember(self, name: str, text: list[int]) -> None:
        for end in range(BLOCK, len(text) + 1, BLOCK):
            self.blocks.setdefault((name, tuple(text[:end])), self.version)


class _Handler(BaseHTTPRequestHandler):
    server: FakeVLLM

    def do_GET(self) -> None:
        self._reply(*self.server.answer(self.path, None))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._reply(*self.server.answer(self.path, json.loads(body)))

    def _reply(self, status: int, answer: Any) -> None:
        data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass
