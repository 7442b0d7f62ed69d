"""``sandgym export``: a run's policy as a plain model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.console import console, print_facts
from cli.environments import short_name
from cli.errors import CommandError, UsageError
from cli.runs import open_run, quiet_transformers

EXAMPLES = "\n\n".join(
    (
        "Examples:",
        "sandgym export runs/webshop-bpo-0-1 ./my-agent",
        "sandgym export runs/webshop-bpo-0-1 ./my-agent --checkpoint update-000050 --dtype bfloat16",
    )
)


def export(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run folder, or a folder with an adapter.", show_default=False)
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="To write; it must not be there.")],
    checkpoint: Annotated[
        str | None, typer.Option(help="Of a run: latest (the default), best, start, or update-000010.")
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            help="float32, bfloat16 or float16; by default float32 for an adapter, else as in the checkpoint."
        ),
    ] = None,
) -> None:
    """Write a policy as a folder that transformers and vLLM load, an adapter merged into its base.

    The folder is loaded again by plain transformers and compared: its logits must be the policy's,
    and others than those of the model before learning. Otherwise nothing is written.
    """
    if folder.exists():
        raise UsageError(f"{folder} is there already; choose another folder")
    path, start, env = _policy(source, checkpoint)
    quiet_transformers(str(path))
    from algos.checkpoint import MANIFEST, verify
    from algos.export import ROUNDING, ExportError
    from algos.export import export as write

    if dtype is not None and dtype not in ROUNDING:
        raise UsageError(f"--dtype is one of {', '.join(ROUNDING)}, not {dtype}")

    printer = console()
    try:
        if (path / MANIFEST).is_file():
            verify(path)
        with printer.status("exporting"):
            result = write(path, start, folder, dtype)
    except ExportError as error:
        raise CommandError(str(error)) from error
    change = "" if result.change is None else f", from those of the model before learning by up to {result.change:.2g}"
    facts = {
        "policy": str(path),
        "model": f"{folder}, {result.dtype}",
        "checked": f"logits of {result.tokens} tokens differ from the policy's by at most {result.difference:.2g} "
        f"(the largest is {result.largest:.3g}){change}",
        "how good": f"sandgym eval {folder} --env {env}",
    }
    print_facts(printer, facts)


def _policy(source: Path, checkpoint: str | None) -> tuple[Path, Path | None, str]:
    """The policy's folder, that of the policy before learning where there is one, and the environment's name."""
    if (source / "config.yaml").is_file():
        folder, config = open_run(source)
        try:
            path = folder.policy(checkpoint or "latest")
        except FileNotFoundError as error:
            raise UsageError(str(error)) from error
        return path, folder.start_policy if folder.start_policy.is_dir() else None, short_name(config.env)
    if not (source / "adapter_config.json").is_file():
        raise UsageError(f"{source} is neither a run (no config.yaml) nor an adapter (no adapter_config.json)")
    if checkpoint is not None:
        raise UsageError(f"--checkpoint is for runs; {source} is an adapter")
    return source, None, "ENV"
