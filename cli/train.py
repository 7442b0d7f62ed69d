"""``sandgym train``: one run from its command line to its tables."""

from __future__ import annotations

import signal
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from cli.console import console, print_facts
from cli.environments import describe_data, environment_id, make
from cli.errors import UsageError, print_stopped
from cli.estimate import print_estimate
from cli.live import Dashboard, Lines, display
from cli.progress import PHASES, RunProgress
from cli.recipes import RECIPE_HELP, load
from cli.runs import (
    check_environment,
    new_run,
    open_run,
    quiet_transformers,
    remove_if_empty,
    resolved,
)
from cli.settings import assignments
from cli.tables import print_evaluations, spent_line

if TYPE_CHECKING:
    from algos.config import TrainConfig
    from algos.runfolder import RunFolder
    from algos.train import Trainer

INTERRUPTED = 130
EXAMPLES = "\n\n".join(
    (
        "Examples:",
        "sandgym train --algo bpo --env webshop",
        "sandgym train --algo rloo --env webshop --updates 30 --seed 1 --set algo_options.episodes=16",
        "sandgym train --algo bpo --env webshop --data official --model Qwen/Qwen3-0.6B --device cuda",
        "sandgym train --recipe cpu-tiny --env alfworld --dry-run",
        "sandgym train --resume runs/webshop-bpo-0-1",
    )
)
# Flags that stand for a setting, by the setting's dotted key.
FLAGS = {
    "model": "model",
    "updates": "updates",
    "tasks": "tasks_per_update",
    "temperature": "temperature",
    "lr": "optimizer.lr",
    "seed": "seed",
    "eval_every": "eval_every",
    "device": "device",
    "data": "env_options.data",
}


def train(
    context: typer.Context,
    algo: Annotated[str, typer.Option(help="bpo, rloo, grpo or ppo; see `sandgym algos`.")] = "bpo",
    env: Annotated[str, typer.Option(help="webshop, any Gymnasium id, or module:Id; see `sandgym envs`.")] = "webshop",
    model: Annotated[
        str | None, typer.Option(help="tiny (the default), a model folder, a hub id, a GGUF file, or smollm2.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="bundled (the default), official, or a folder.")] = None,
    updates: Annotated[int | None, typer.Option(help="Batches to learn from.")] = None,
    tasks: Annotated[int | None, typer.Option(help="Tasks a batch.")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Of the sampling in training, of the loss, and of the sampled evaluation.")
    ] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate at the start.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything that is random.")] = None,
    eval_every: Annotated[int | None, typer.Option(help="Evaluate after every so many updates, too.")] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu or cuda; by default cuda for other models than tiny, where there is one.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder; by default runs/ENV-ALGO-SEED-N.", show_default=False)
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other setting, such as optimizer.warmup=5; repeatable."),
    ] = None,
    recipe: Annotated[str | None, typer.Option(metavar="NAME_OR_FILE", help=RECIPE_HELP)] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how much memory, disk and time the run would take.")
    ] = False,
    resume: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Go on with a run; it knows its settings.", show_default=False)
    ] = None,
) -> None:
    """Train an agent and say what it learned.

    Evaluates before and after, greedy and sampled, and keeps everything in a run folder:
    config.yaml, metrics.jsonl, tensorboard/, ledger.json, evaluation.json, checkpoints/, curve.png.

    What is not given has the vetted default; `sandgym algos` lists them. Ctrl-C finishes the
    present update, saves, and says how to go on; a second Ctrl-C stops at once.
    """
    if resume is not None:
        given = [p for p in context.params if p != "resume" and _typed(context, p)]
        if given:
            flags = ", ".join(f"--{name.rstrip('_').replace('_', '-')}" for name in given)
            raise UsageError(f"--resume takes every setting from {resume / 'config.yaml'}; leave out {flags}")
        folder, config = open_run(resume)
        run(config, folder)
        return
    pairs = assignments(set_ or [])
    for name, key in FLAGS.items():
        value = context.params[name]
        if value is not None:
            if key in pairs:
                raise UsageError(f"{key} is set twice: by --{name.replace('_', '-')} and by --set {key}")
            pairs[key] = str(value)
    if temperature is not None:
        pairs.setdefault("evaluation.temperature", str(temperature))
    chosen = load(recipe) if recipe is not None else None
    if chosen is not None:
        algo = algo if _typed(context, "algo") else chosen.algo or algo
        env = env if _typed(context, "env") else chosen.env or env
    with console().status("starting"):
        config = resolved(algo, environment_id(env), pairs, chosen)
    check_environment(config)
    if dry_run:
        print_estimate(console(), config)
    else:
        run(config, new_run(config, out), fresh=True)


def run(config: TrainConfig, folder: RunFolder, fresh: bool = False) -> None:
    """Train, show, and print what came of it; ``fresh`` says that the folder was made just now."""
    out = console()
    stopped = False
    try:
        print_heading(out, config, folder)
        from algos.train import Stopped, Trainer

        quiet_transformers(config.model)
        progress = RunProgress(config.updates, config.eval_every, folder.metrics())
        with display(out, progress) as shown:
            trainer = Trainer(config, folder, shown)
            with interruptible(trainer, shown, progress):
                try:
                    trainer.run()
                except (Stopped, KeyboardInterrupt):
                    stopped = True
    except BaseException:
        remove_if_empty(folder, fresh)
        raise
    if stopped:
        print_stopped(f"go on with: sandgym train --resume {folder.path}")
        raise typer.Exit(INTERRUPTED)
    print_results(out, config, folder)


def print_heading(out: Console, config: TrainConfig, folder: RunFolder) -> None:
    """What is about to run, on which data, and where it is kept."""
    data = describe_data(make(config.env, config.training_arguments()))
    facts = {
        "run": f"{config.algo} on {config.env}, seed {config.seed}, in {folder.path}",
        "data": f"{data + ': ' if data else ''}learns on {config.train_split} tasks, evaluated on {config.eval_split}",
        "policy": f"{config.model} on {config.device}",
        "batches": f"{config.updates} of {config.tasks_per_update} tasks, temperature {config.temperature:g}, "
        f"learning rate {config.optimizer.lr:g}",
    }
    print_facts(out, facts)


def print_results(out: Console, config: TrainConfig, folder: RunFolder) -> None:
    """Tables of before and after, what was spent, where everything is, what to do next."""
    import json

    found = folder.evaluations()
    title = f"{found['after']['greedy']['tasks']} {config.eval_split} tasks of {config.env}"
    data = describe_data(make(config.env, config.evaluation_arguments()))
    out.print()
    both = {"before RL": found["before"], "after RL": found["after"]}
    print_evaluations(out, f"{title}, {data}" if data else title, both, gain=True)
    out.print()
    ledger = folder.path / "ledger.json"
    facts = {"spent": spent_line(json.loads(ledger.read_text(encoding="utf-8")))} if ledger.is_file() else {}
    facts |= {
        "run": f"{folder.path} (curve.png, metrics.jsonl, tensorboard/, checkpoints/)",
        "again": f"sandgym eval {folder.path}",
    }
    print_facts(out, facts)


def _typed(context: typer.Context, parameter: str) -> bool:
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


@contextmanager
def interruptible(trainer: Trainer, shown: Dashboard | Lines, progress: RunProgress) -> Iterator[None]:
    """The first Ctrl-C asks the run to stop where it can go on later; the second one does not ask."""

    def interrupt(number: int, frame: types.FrameType | None) -> None:
        if trainer.stop_requested:
            raise KeyboardInterrupt
        trainer.stop_requested = True
        first = ": this update is finished and saved first" if progress.phase == PHASES["training"] else ""
        shown.say(f"stopping{first}; Ctrl-C again stops at once")

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
