"""Measuring WebShop: steps, searches, rewards, resets, memory and the price of a snapshot.

Invariant: what a process keeps (imports, caches) never flatters a figure that is about
a fresh one; those are measured in processes of their own. Figures of the original are
recorded ones.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sandgym.bench.measurement import (
    REPEATS,
    Measurement,
    contract,
    import_seconds,
    in_fresh_process,
    repeated,
    resident_megabytes,
)

Trace = tuple[int, tuple[str, ...]]
"""Index of a task in its split, and the actions to play."""

_MODULE = "sandgym.bench.webshop"  # whatever name it runs under
_STEPS = 15  # of a random episode
_EPISODES = 64


def measure_webshop(
    data: str = "bundled", traces: Sequence[Trace] | None = None, repeats: int = REPEATS
) -> list[Measurement]:
    """All figures of WebShop on a data set.

    Args:
        data: as in ``gymnasium.make("sandgym/WebShop-v0", data=...)``.
        traces: episodes to replay; default: random ones, the same ones each time.
        repeats: of each measurement.
    """
    env = make_webshop(data)
    played = list(traces) if traces is not None else random_traces(env)
    fresh = [in_fresh_process(_MODULE, data, played) for _ in range(min(3, repeats))]

    def of(name: str) -> tuple[float, ...]:
        return tuple(result[name] for result in fresh)

    return [
        Measurement("steps, first replay in a fresh process", of("steps"), "steps/s", "39"),
        Measurement("steps, replayed again", repeated(repeats, lambda: _replay(env, played)), "steps/s", "39"),
        Measurement("resets", repeated(repeats, lambda: _resets(env, 20_000)), "resets/s", "292"),
        Measurement("search, uncached", repeated(repeats, _searches(env, played)), "ms"),
        Measurement("reward, uncached", repeated(repeats, _rewards(env)), "ms", "13 to 15"),
        *contract(_midway(env), repeats),
        Measurement("import sandgym", repeated(repeats, import_seconds), "s (wall)", "6"),
        Measurement("load the data set", of("load"), "s (wall)"),
        Measurement("resident memory after the replay", of("rss"), "MB", "1,055 (1.03 GiB)"),
        Measurement("memory growth over 20,000 resets", of("growth"), "MB", "grows (sessions are kept)"),
        Measurement("thread growth over 20,000 resets", of("threads"), "threads"),
    ]


def make_webshop(data: str) -> Any:
    """The environment that is measured: all goals, text observations, no early end."""
    import gymnasium

    import sandgym  # noqa: F401  registers it

    return gymnasium.make("sandgym/WebShop-v0", data=data, split="all", max_steps=10_000).unwrapped


def read_traces(path: Path) -> list[Trace]:
    """Episodes from a JSON list of ``{"goal": index, "steps": [{"action": ...}, ...]}``, plain or ``.xz``."""
    from sandgym.webshop.jsonfiles import open_json

    with open_json(path) as file:
        return [(row["goal"], tuple(step["action"] for step in row["steps"])) for row in json.load(file)]


def random_traces(env: Any, episodes: int = _EPISODES, seed: int = 0) -> list[Trace]:
    """Episodes of a shopper who searches for what the goal asks, then clicks at random."""
    rng = random.Random(seed)
    traces = []
    for _ in range(episodes):
        task = rng.randrange(len(env.task_ids))
        env.reset(options={"task": task})
        actions = [f"search[{env.goal.query}]"]
        over = env.step(actions[0])[2]
        while not over and len(actions) < _STEPS:
            choices = env.snapshot().last[1]["admissible_actions"]
            actions.append(rng.choice(choices) if choices else actions[0])
            over = env.step(actions[-1])[2]
        traces.append((task, tuple(actions)))
    return traces


def _replay(env: Any, traces: Sequence[Trace]) -> float:
    """Steps a second, each with its observation and admissible actions; resets count as time only."""
    steps, seen = 0, 0
    start = time.process_time()
    for task, actions in traces:
        env.reset(options={"task": task})
        for action in actions:
            observation, _, _, _, info = env.step(action)
            seen += len(observation) + len(info["admissible_actions"])
        steps += len(actions)
    assert seen
    return steps / (time.process_time() - start)


def _resets(env: Any, count: int) -> float:
    tasks = len(env.task_ids)
    start = time.process_time()
    for number in range(count):
        env.reset(options={"task": number * 7919 % tasks})
    return count / (time.process_time() - start)


def _searches(env: Any, traces: Sequence[Trace]) -> Callable[[], float]:
    """Mean milliseconds of a search over the traces' queries and as many instructions."""
    from sandgym.webshop.world import load_world

    typed = [a[7:-1] for _, actions in traces for a in actions if a.startswith("search[") and a.endswith("]")]
    queries = typed + [env.goals[task].instruction_text for task, _ in traces]
    index = load_world(env.data).index

    def measure() -> float:
        start = time.process_time()
        for query in queries:
            index.search(query)
        return (time.process_time() - start) / len(queries) * 1e3

    return measure


def _rewards(env: Any, count: int = 400) -> Callable[[], float]:
    """Mean milliseconds of a reward: half for the goal's own product, half for a random one."""
    from sandgym.webshop.reward import goal_features, product_features, purchase_reward

    rng = random.Random(0)
    catalogue, cases = env.catalogue, []
    for number in range(count):
        goal = rng.choice(env.goals)
        own = catalogue.index(goal.asin)
        position = own if number % 2 else rng.randrange(len(catalogue))
        product = catalogue[position]
        chosen = [rng.choice(values) for values in product.options.values() if values]
        cases.append((product, goal, catalogue[own].nouns, catalogue.price(position), chosen))

    def measure() -> float:
        start = time.process_time()
        for product, goal, nouns, price, chosen in cases:
            purchase_reward(product_features(product), goal_features(goal, nouns), price, chosen)
        return (time.process_time() - start) / count * 1e3

    return measure


def _midway(env: Any) -> Any:
    """The environment, in the middle of an episode."""
    env.reset(options={"task": 0})
    env.step(f"search[{env.goal.query}]")
    return env


def _fresh_figures(data: str, traces: Sequence[Trace]) -> dict[str, float]:
    start = time.perf_counter()
    env = make_webshop(data)
    load = time.perf_counter() - start
    steps = _replay(env, traces)
    memory = resident_megabytes()
    _resets(env, 2_000)  # fills what is bounded
    before, threads = resident_megabytes(), threading.active_count()
    _resets(env, 20_000)
    return {
        "load": load,
        "steps": steps,
        "rss": memory,
        "growth": resident_megabytes() - before,
        "threads": threading.active_count() - threads,
    }


if __name__ == "__main__":
    print(json.dumps(_fresh_figures(*json.load(sys.stdin))))
