"""``sandgym eval``: how good a run's policy, or any model, is."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cli.console import console
from cli.environments import describe_data, environment_id, make
from cli.errors import CommandError, UsageError
from cli.runs import configuration, open_run, quiet_transformers
from cli.tables import print_evaluations, print_success_by_type

if TYPE_CHECKING:
    from algos.config import TrainConfig
    from algos.evaluate import Evaluation
    from algos.policy import Policy
    from algos.runfolder import RunFolder

EXAMPLES = "\n\n".join(
    (
        "Examples:",
        "sandgym eval runs/webshop-bpo-0-1",
        "sandgym eval runs/webshop-bpo-0-1 --checkpoint start --temperature 0.5 --samples 8",
        "sandgym eval runs/webshop-bpo-0-1 --panel webshop/test --out test.json",
        "sandgym eval ./my-model --env webshop",
    )
)


def evaluate(
    source: Annotated[str, typer.Argument(metavar="RUN_OR_MODEL", help="A run folder, a model folder or a hub id.")],
    env: Annotated[str | None, typer.Option(help="Environment to play; a run knows its own.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="Of a run: latest (the default), start, or update-000010.")
    ] = None,
    samples: Annotated[int | None, typer.Option(min=1, help="Sampled episodes a task.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Of the sampled episodes.")] = None,
    split: Annotated[str | None, typer.Option(help="Tasks to play: dev (the default), train or test.")] = None,
    tasks: Annotated[int | None, typer.Option(min=1, help="Only the first so many tasks of the split.")] = None,
    panel: Annotated[str | None, typer.Option(help="A fixed panel, such as webshop/dev, instead of a split.")] = None,
    data: Annotated[str | None, typer.Option(help="bundled, official, or a folder; a run knows its own.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the numbers, each task's included, as JSON.")] = None,
) -> None:
    """Play fixed tasks greedily and sampled; print success and score with 95 % intervals.

    With a run and no option, these are exactly the numbers that training printed after RL.
    """
    if panel is not None and (split is not None or tasks is not None):
        raise UsageError("a panel fixes its tasks: give --panel, or --split and --tasks")
    folder, config, path = _source(source, env, checkpoint)
    changes: dict[str, Any] = {"eval_split": split, "eval_tasks": tasks, "device": device}
    changes["evaluation"] = _changed(config.evaluation, {"samples": samples, "temperature": temperature})
    if data is not None:
        changes["env_options"] = {**config.env_options, "data": data}
    asked: TrainConfig = _changed(config, changes)
    if asked.evaluation.temperature <= 0:
        raise UsageError("--temperature must be positive; greedy episodes are always played too")
    printer = console()
    results, tasks_played, types = _play(printer, asked, path, panel)
    summary = {way: result.summary() for way, result in results.items()}
    name = path.name if folder is not None else source
    print_evaluations(printer, f"{name}: {tasks_played}", {"evaluation": summary})
    if types:
        print_success_by_type(printer, results, types)
    if folder is not None and panel is None and asked == config:
        _compare(printer, folder, path, summary)
    if out is not None:
        _write(out, str(path), asked, panel, summary, results)
        printer.print(f"written to {out}", markup=False, soft_wrap=True)


def _changed(config: Any, changes: dict[str, Any]) -> Any:
    return dataclasses.replace(config, **{name: value for name, value in changes.items() if value is not None})


def _source(source: str, env: str | None, checkpoint: str | None) -> tuple[RunFolder | None, TrainConfig, Path]:
    """The run, if it is one, the settings, and the policy's folder or hub id."""
    path = Path(source).expanduser()
    if (path / "config.yaml").is_file() and not (path / "config.json").is_file():
        if env is not None:
            raise UsageError(f"{source} is a run, which knows its environment; leave out --env")
        folder, config = open_run(path)
        try:
            return folder, config, folder.policy(checkpoint or "latest")
        except FileNotFoundError as error:
            raise UsageError(str(error)) from error
    looks_like_path = source.startswith((".", "/", "~", "runs/")) or source.count("/") > 1
    if not (path / "config.json").is_file() and (path.exists() or looks_like_path):
        raise UsageError(f"{source} is neither a run (no config.yaml) nor a model (no config.json)")
    if checkpoint is not None:
        raise UsageError(f"--checkpoint is for runs; {source} is a model")
    if env is None:
        raise UsageError(f"say what {source} shall play, for example --env webshop")
    return None, configuration("rloo", environment_id(env), {"model": source}), path


def _play(
    printer: Console, config: TrainConfig, path: Path, panel: str | None
) -> tuple[dict[str, Evaluation], str, list[str]]:
    """The results, in words what was played, and the type of each task where tasks have types."""
    env, tasks, words = _panel(config, panel) if panel is not None else _split(config)
    from algos.evaluate import evaluate as play
    from algos.policy import Policy

    quiet_transformers(str(path))
    policy: Policy = Policy.load(path if path.exists() else str(path), config.device)
    bar = Progress(
        TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=printer, transient=True, disable=not printer.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task("evaluating", total=len(tasks) * (1 + config.evaluation.samples))
        report: Callable[[int, int], None] = lambda done, total: bar.update(task, completed=done)  # noqa: E731
        results = play(policy, env, tasks, config.evaluation, progress=report)
    return results, words, _types(env, tasks)


def _types(env: Any, tasks: list[str]) -> list[str]:
    """The type of each task; none where the first task has none."""
    types: list[str] = []
    for task in tasks:
        _, info = env.reset(options={"task": task})
        if "task_type" not in info:
            return []
        types.append(info["task_type"])
    return types


def _split(config: TrainConfig) -> tuple[Any, list[str], str]:
    env = make(config.env, config.evaluation_arguments())
    tasks = list(env.unwrapped.task_ids[: config.eval_tasks])
    data = describe_data(env)
    return env, tasks, f"{len(tasks)} {config.eval_split} tasks of {config.env}" + (f", {data}" if data else "")


def _panel(config: TrainConfig, name: str) -> tuple[Any, list[str], str]:
    from sandgym.panels import load_panel, verify

    try:
        panel = load_panel(name)
    except LookupError as error:
        raise UsageError(str(error)) from error
    if panel.env_id != config.env:
        raise CommandError(f"panel {name} is of {panel.env_id}, this policy plays {config.env}")
    shown = {key: value for key, value in config.env_options.items() if key not in ("split", "max_steps")}
    env = panel.make_env(**shown)
    verify(panel, env)
    return env, list(panel.task_ids), f"panel {name}, {len(panel.task_ids)} tasks of {panel.env_id}"


def _compare(printer: Console, folder: RunFolder, path: Path, summary: dict[str, Any]) -> None:
    """Say whether the run recorded the same numbers for this policy."""
    when = "before" if path.name == folder.start_policy.name else "after"
    recorded = folder.evaluations().get(when)
    if recorded is None or (when == "after" and path != folder.policy("latest")):
        return
    if recorded == summary:
        printer.print(f"[green]The same numbers as the run recorded {when} RL.[/]")
    else:
        printer.print(
            f"[yellow]The run recorded other numbers {when} RL: this machine or its libraries compute differently "
            "from those of the run.[/]"
        )
        print_evaluations(printer, f"recorded {when} RL", {"evaluation": recorded})


def _write(
    out: Path, policy: str, config: TrainConfig, panel: str | None, summary: Any, results: dict[str, Evaluation]
) -> None:
    document = {
        "policy": policy,
        "env": config.env,
        "env_options": config.env_options,
        **({"panel": panel} if panel is not None else {"split": config.eval_split}),
        "evaluation": dataclasses.asdict(config.evaluation),
        "summary": summary,
        "tasks": {
            way: {
                task: {
                    name: [None if math.isnan(v) else v for v in getattr(result, name)[row].tolist()]
                    for name in ("success", "score", "steps")
                }
                for row, task in enumerate(result.tasks)
            }
            for way, result in results.items()
        },
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
