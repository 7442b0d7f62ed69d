"""``sandgym sft``: the warm start on an environment's own demonstrations."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cli.console import console
from cli.environments import describe_data, environment_id, make, short_name
from cli.errors import UsageError
from cli.recipes import RECIPE_HELP, load
from cli.runs import quiet_transformers, resolved
from cli.settings import assignments

if TYPE_CHECKING:
    from algos.config import TrainConfig
    from algos.sft import SFTConfig
    from algos.warmstart import Fitted, Played

REPORTED = 500  # demonstrations that are played again to say how good they are
EXAMPLES = "\n\n".join(
    (
        "Examples:",
        "sandgym sft --env webshop",
        "sandgym sft --env webshop --set sft.steps=600 --out ./my-tiny",
        "sandgym sft --env webshop --model Qwen/Qwen3-0.6B --out ./warm --set sft.lr=1e-5",
        "sandgym sft --recipe cpu-smollm2 --out ./warm",
    )
)


def sft(
    env: Annotated[
        str | None, typer.Option(help="webshop (the default), any Gymnasium id, or module:Id; see `sandgym envs`.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="tiny (the default), a model folder, a hub id, a GGUF file, or smollm2.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the policy; by default tiny goes to the cache.", show_default=False)
    ] = None,
    data: Annotated[str | None, typer.Option(help="bundled (the default), official, or a folder.")] = None,
    refresh: Annotated[bool, typer.Option("--refresh", help="Make the cached tiny again.")] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another setting, such as sft.steps=600; repeatable."),
    ] = None,
    recipe: Annotated[str | None, typer.Option(metavar="NAME_OR_FILE", help=RECIPE_HELP)] = None,
) -> None:
    """Fit a policy to demonstrations of the environment's expert.

    For tiny, `sandgym train` does this itself when the cache has none for the same
    environment, data and settings; any other model is fitted only here.
    """
    pairs = assignments(set_ or [])
    for key, value in (("model", model), ("env_options.data", data)):
        if value is not None:
            pairs[key] = value
    chosen = load(recipe) if recipe is not None else None
    env_id = environment_id(env or (chosen and chosen.env) or "webshop")
    config = resolved((chosen and chosen.algo) or "rloo", env_id, pairs, chosen)
    if config.model == "tiny" and config.lora.rank:
        raise UsageError("tiny is fitted as a whole: leave out lora.rank, or choose another --model")
    if config.model != "tiny" and out is None:
        raise UsageError(f"say where the fitted {config.model} shall go: --out FOLDER")
    if out is not None and out.exists():
        raise UsageError(f"{out} is there already; choose another folder")
    printer = console()
    world = make(config.env, config.training_arguments())
    printer.print(f"environment  {config.env}, {config.train_split} tasks, {describe_data(world)}", soft_wrap=True)
    quiet_transformers(config.model)
    folder = _fit(printer, config, world, out, refresh)
    _report(printer, config, world)
    printer.print(f"policy       {folder}", markup=False, soft_wrap=True)
    printer.print(f"how good     sandgym eval {folder} --env {short_name(config.env)}", markup=False, soft_wrap=True)


def _fit(printer: Console, config: TrainConfig, world: Any, out: Path | None, refresh: bool) -> Path:
    """Make the policy where it is not there yet; returns its folder."""
    from algos.warmstart import fine_tuned, save_atomically, starting_policy, warm_start_folder, warm_started_tiny

    folder = out or warm_start_folder(world, config.tiny, config.sft)
    if folder.is_dir() and not refresh:
        printer.print("in the cache already; --refresh makes it again")
        return folder
    with _progress(printer, config.sft) as reports:
        if config.model == "tiny":
            policy = warm_started_tiny(world, config.tiny, config.sft, *reports)
        else:
            policy = fine_tuned(starting_policy(config, world), world, config.sft, *reports)
    if folder.is_dir():
        shutil.rmtree(folder)
    save_atomically(policy, folder)
    return folder


@contextmanager
def _progress(printer: Console, config: SFTConfig) -> Iterator[tuple[Played, Fitted]]:
    """A bar in a terminal, a line every tenth of the way elsewhere; what reports to it."""
    bar = Progress(
        TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[loss]}"),
        TimeRemainingColumn(), console=printer, transient=True, disable=not printer.is_terminal,
    )  # fmt: skip
    with bar:
        playing = bar.add_task("playing demonstrations", total=config.demonstrations, loss="")
        fitting = bar.add_task("fitting", total=config.steps, loss="", start=False)

        def line(done: int, total: int, text: str) -> None:
            if not printer.is_terminal and 10 * done // total > 10 * (done - 1) // total:
                printer.print(text)

        def played(count: int) -> None:
            bar.update(playing, completed=count)
            line(count, config.demonstrations, f"playing demonstrations: {count} of {config.demonstrations}")

        def fitted(step: int, metrics: dict[str, float]) -> None:
            loss = f"loss {metrics['loss']:.3f}"
            bar.start_task(fitting)
            bar.update(fitting, completed=step + 1, loss=loss)
            line(step + 1, config.steps, f"fitting: {step + 1} of {config.steps} steps, {loss}")

        yield played, fitted


def _report(printer: Console, config: TrainConfig, world: Any) -> None:
    """How good the demonstrations are: the first of them, played again."""
    from algos.demonstrations import demonstrate

    settings = config.sft
    count = min(REPORTED, settings.demonstrations)
    played = demonstrate(world, list(world.unwrapped.task_ids), count, settings.noise, settings.seed)
    success, score, actions = (
        sum(values) / count for values in zip(*((d.success, d.score, len(d.actions)) for d in played), strict=True)
    )
    printer.print(
        f"demonstrated {settings.demonstrations:,} episodes with noise {settings.noise:g}; of the first {count}: "
        f"success {100 * success:.1f} %, score {100 * score:.1f}, {actions:.1f} actions an episode",
        soft_wrap=True,
    )
