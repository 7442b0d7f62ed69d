"""``sandgym eval``: how good a run's policy, or any model, is."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from cli.console import console, progress_bar
from cli.environments import describe_data, environment_id, make
from cli.errors import CommandError, UsageError
from cli.runs import configuration, open_run, quiet_transformers
from cli.tables import print_evaluations, print_success_by_type

if TYPE_CHECKING:
    from algos.config import TrainConfig
    from algos.evaluate import Evaluation
    from algos.policy import Policy
    from algos.runfolder import RunFolder
    from sandgym.panels import Panel

EXAMPLES = "\n\n".join(
    (
        "Examples:",
        "sandgym eval runs/webshop-bpo-0-1",
        "sandgym eval runs/webshop-bpo-0-1 --checkpoint start --temperature 0.5 --samples 8",
        "sandgym eval runs/webshop-bpo-0-1 --panel webshop/test --out test.json",
        "sandgym eval ./my-model --env webshop",
        "sandgym eval runs/webshop-bpo-0-1 --panel webshop/test --out ./my-submission",
        "sandgym eval expert --env webshop --panel webshop/test --out ./expert",
    )
)


def evaluate(
    source: Annotated[
        str,
        typer.Argument(metavar="RUN_OR_MODEL", help="A run folder, a model folder or a hub id; or expert, or random."),
    ],
    env: Annotated[str | None, typer.Option(help="Environment to play; a run knows its own.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="Of a run: latest (the default), best, start, or update-000010.")
    ] = None,
    samples: Annotated[int | None, typer.Option(min=1, help="Sampled episodes a task.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Of the sampled episodes.")] = None,
    split: Annotated[str | None, typer.Option(help="Tasks to play: dev (the default), train or test.")] = None,
    tasks: Annotated[int | None, typer.Option(min=1, help="Only the first so many tasks of the split.")] = None,
    panel: Annotated[str | None, typer.Option(help="A fixed panel, such as webshop/dev, instead of a split.")] = None,
    data: Annotated[str | None, typer.Option(help="bundled, official, or a folder; a run knows its own.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="FILE.json: write the numbers, each task's included. A folder, with --panel: write a submission to "
            "the leaderboard."
        ),
    ] = None,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="In a submission: the greedy episodes instead of the sampled ones.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the sampled episodes.")] = None,
) -> None:
    """Play fixed tasks greedily and sampled; print success and score with 95 % intervals.

    With a run and no option, these are exactly the numbers that training printed after RL.
    """
    if panel is not None and (split is not None or tasks is not None):
        raise UsageError("a panel fixes its tasks: give --panel, or --split and --tasks")
    submitted = _submitted(out, panel, greedy)
    if source in ("expert", "random") and not Path(source).exists():
        _play_without_model(source, env, submitted, out, data, samples, seed)
        return
    folder, config, path = _source(source, env, checkpoint)
    changes: dict[str, Any] = {"eval_split": split, "eval_tasks": tasks, "device": device}
    sampling = {"samples": samples, "temperature": temperature, "seed": seed}
    changes["evaluation"] = _changed(config.evaluation, sampling)
    if data is not None:
        changes["env_options"] = {**config.env_options, "data": data}
    asked: TrainConfig = _changed(config, changes)
    if asked.evaluation.temperature <= 0:
        raise UsageError("--temperature must be positive; greedy episodes are always played too")
    printer = console()
    played = _play(printer, asked, path, panel)
    results, tasks_played, types = played.results, played.words, played.types
    summary = {way: result.summary() for way, result in results.items()}
    name = path.name if folder is not None else source
    print_evaluations(printer, f"{name}: {tasks_played}", {"evaluation": summary})
    if types:
        print_success_by_type(printer, results, types)
    if folder is not None and panel is None and asked == config:
        _compare(printer, folder, path, summary)
    if out is None:
        return
    if submitted is None:
        _write(out, str(path), asked, panel, summary, results)
        printer.print(f"written to {out}", markup=False, soft_wrap=True)
        return
    from cli.submission import write_policy

    result = results["greedy" if greedy else "sampled"]
    with progress_bar(printer, "recording") as report:
        write_policy(out, submitted, asked, played.policy, path, folder, result, played.ledger, report)
    _say_what_next(printer, out)


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
    held = any((path / name).is_file() for name in ("config.json", "adapter_config.json"))
    if not held and path.suffix != ".gguf" and (path.exists() or looks_like_path):
        raise UsageError(f"{source} is neither a run (no config.yaml) nor a model (no config.json)")
    if checkpoint is not None:
        raise UsageError(f"--checkpoint is for runs; {source} is a model")
    if env is None:
        raise UsageError(f"say what {source} shall play, for example --env webshop")
    return None, configuration("rloo", environment_id(env), {"model": source}), path


@dataclasses.dataclass(frozen=True)
class _Played:
    """What was played: results, tasks in words, the type of each where tasks have types, who played, what it took."""

    results: dict[str, Evaluation]
    words: str
    types: list[str]
    policy: Policy
    ledger: dict[str, float]


def _play(printer: Console, config: TrainConfig, path: Path, panel: str | None) -> _Played:
    env, tasks, words = _panel(config, panel) if panel is not None else _split(config)
    from algos.engines.source import engine_source
    from algos.evaluate import evaluate as play
    from algos.ledger import Ledger
    from algos.policy import Policy

    quiet_transformers(str(path))
    policy: Policy = Policy.load(path if path.exists() else str(path), config.device)
    ledger = Ledger()
    source = engine_source(config.engine, config.vllm)
    with contextlib.closing(source) as engines, progress_bar(printer, "evaluating") as report:
        engine = engines.engine(policy)
        results = play(policy, env, tasks, config.evaluation, ledger, report, engine, config.rollout.max_live)
    return _Played(results, words, _types(env, tasks), policy, ledger.to_dict())


def _submitted(out: Path | None, panel: str | None, greedy: bool) -> Panel | None:
    """The panel of the submission that is wanted, if one is."""
    if out is None or out.suffix == ".json":
        if greedy:
            raise UsageError("--greedy is for submissions: give --panel and, as --out, a folder")
        return None
    from cli.submission import check_out, leaderboard_panel

    if panel is None:
        raise UsageError(f"--out {out} is a folder, for a submission, which needs --panel; or name a .json file")
    check_out(out)
    return leaderboard_panel(panel)


def _play_without_model(
    name: str,
    env: str | None,
    panel: Panel | None,
    out: Path | None,
    data: str | None,
    samples: int | None,
    seed: int | None,
) -> None:
    """A submission of an environment's own expert, or of chance."""
    from cli.submission import write_player

    if panel is None or out is None:
        raise UsageError(f"{name} plays for submissions: give --panel and, as --out, a folder")
    if env is not None and environment_id(env) != panel.env_id:
        raise UsageError(f"panel {panel.name} is of {panel.env_id}, not of {env}")
    printer = console()
    options = {} if data is None else {"data": data}
    with progress_bar(printer, "playing") as report:
        write_player(out, panel, name, options, samples or 1, 0 if seed is None else seed, report)
    _say_what_next(printer, out)


def _say_what_next(printer: Console, out: Path) -> None:
    printer.print(
        f"submission written to {out}; look at its submission.yaml and README.md, then: "
        f"sandgym leaderboard submit {out}",
        markup=False,
        soft_wrap=True,
    )


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
    from leaderboard import panels
    from sandgym.panels import load_panel, verify

    try:
        panel = panels.load(name) if name in panels.names() else load_panel(name)
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
