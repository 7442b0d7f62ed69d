"""``sandgym leaderboard``: submissions checked by replaying them, and the pages made from them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import gymnasium
import typer
from rich.console import Console
from rich.table import Column, Table

from cli.console import console, progress_bar
from cli.errors import CommandError, UsageError, print_error

if TYPE_CHECKING:
    from leaderboard.problems import SubmissionError
    from leaderboard.results import Report
    from leaderboard.verify import Options, Verified

app = typer.Typer(
    help="Results that anyone can check: make a submission with `sandgym eval --panel NAME --out FOLDER`.",
    no_args_is_help=True,
)
Root = Annotated[Path, typer.Option(help="Folder of the leaderboard.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes; by default one for each core.")]
Data = Annotated[
    str | None, typer.Option(help="Folder of official data, where the environment does not find it by itself.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Replay everything, whatever was verified before.")]
_ROOT = Path("leaderboard")


@app.command("panels", epilog="Example:\n\nsandgym leaderboard panels")
def list_panels() -> None:
    """List the panels, and what their data is."""
    from leaderboard import panels

    table = Table("panel", Column("tasks", justify="right"), Column("actions", justify="right"), "data", "content")
    here = panels.names()
    for name, definition in panels.DEFINITIONS.items():
        panel = panels.load(name) if name in here else None
        horizon, content = (str(panel.horizon), panel.content_hash[:12]) if panel else ("", "not made yet")
        table.add_row(name, str(definition.tasks), horizon, definition.data, content)
    console().print(table)


@app.command("panel", epilog="Example:\n\nsandgym leaderboard panel webshop/official-human-test")
def make_panel(
    name: Annotated[str, typer.Argument(help="A panel that `sandgym leaderboard panels` lists.")],
    data: Data = None,
    root: Root = _ROOT,
) -> None:
    """Make a panel's file from the data on this machine, for a panel that has none yet."""
    from leaderboard import panels

    _check_root(root)
    panel = panels.make(name, **_overrides(data))
    path = panels.write(panel, root)
    console().print(f"{len(panel.task_ids)} tasks, written to {path}", markup=False, soft_wrap=True)


@app.command(epilog="Example:\n\nsandgym leaderboard submit ./my-submission --contact you@example.org")
def submit(
    folder: Annotated[Path, typer.Argument(help="Folder that `sandgym eval --panel NAME --out FOLDER` wrote.")],
    name: Annotated[str | None, typer.Option(help="Of the method, under which it is listed.")] = None,
    contact: Annotated[str | None, typer.Option(help="How to reach you.")] = None,
    track: Annotated[str | None, typer.Option(help="fixed-budget, open or reference.")] = None,
    date: Annotated[str | None, typer.Option(help="YYYY-MM-DD; today by default.")] = None,
    jobs: Jobs = None,
    data: Data = None,
    root: Root = _ROOT,
) -> None:
    """Verify a submission and put it in its place in the leaderboard's folder, ready for a pull request."""
    from leaderboard import submit
    from leaderboard.problems import SubmissionError
    from leaderboard.verify import verify

    _check_root(root)
    day = _date(date)
    out = console()
    try:
        changes = {"method": {"name": name}, "contact": contact, "track": track}
        if any((name, contact, track)):
            submit.amend(folder, changes)
        with progress_bar(out, "verifying") as report:
            verified = verify(folder, _options(jobs, data, fresh=False), report)
        place = submit.place(verified.folder, root, day)
    except SubmissionError as error:
        _refuse(str(folder), error)
    _say_passed(out, str(folder), verified)
    out.print(f"put in {place}; next: sandgym leaderboard render", markup=False, soft_wrap=True)


@app.command(epilog="Example:\n\nsandgym leaderboard join ./seed-0 ./seed-1 ./seed-2 --out ./three-seeds")
def join(
    folders: Annotated[list[Path], typer.Argument(help="Submissions of one method that differ in their seeds.")],
    out: Annotated[Path, typer.Option(help="Folder of the joint submission.")],
) -> None:
    """Make one submission of several: one method, trained and evaluated with several seeds."""
    from leaderboard.join import join as join_all
    from leaderboard.problems import SubmissionError

    if len(folders) < 2:
        raise UsageError("name at least two submissions")
    try:
        joint = join_all(folders, out)
    except SubmissionError as error:
        _refuse(str(out), error)
    printer = console()
    printer.print(f"{len(joint.runs)} runs, {joint.claims.episodes} episodes, in {out}", markup=False, soft_wrap=True)
    printer.print(f"next: sandgym leaderboard submit {out}", markup=False, soft_wrap=True)


@app.command(epilog="Examples:\n\nsandgym leaderboard verify\n\nsandgym leaderboard verify ./my-submission --jobs 2")
def verify(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Submissions; by default all of the leaderboard.")
    ] = None,
    jobs: Jobs = None,
    data: Data = None,
    fresh: Fresh = False,
    root: Root = _ROOT,
    since: Annotated[
        Path | None, typer.Option(metavar="ROOT", help="Only submissions that another leaderboard's folder has not.")
    ] = None,
    table: Annotated[Path | None, typer.Option(help="Also write what was found, as a Markdown table.")] = None,
) -> None:
    """Replay every episode of submissions and compare each reward, observation, state and total."""
    from leaderboard import markdown
    from leaderboard.problems import SubmissionError
    from leaderboard.verify import verify as verify_one

    if paths and since is not None:
        raise UsageError("--since chooses the submissions: name none")
    out = console()
    found: list[tuple[Path, Verified | Exception]] = []
    try:
        chosen = list(paths or ()) or _chosen(_check_root(root), since)
    except SubmissionError as error:
        if table is not None:
            table.write_text(markdown.checks([(root, error)]), encoding="utf-8")
        _refuse(str(root), error)
    options = _options(jobs, data, fresh)
    for path in chosen:
        try:
            with progress_bar(out, path.name) as report:
                verified = verify_one(path, options, report)
            _say_passed(out, str(path), verified)
            found.append((path, verified))
        except SubmissionError as error:
            _print_problems(str(path), error)
            found.append((path, error))
        except gymnasium.error.Error as error:  # the data or a sandbox is lacking here
            print_error(f"{path} cannot be verified on this machine: {error}")
            found.append((path, error))
    if table is not None:
        table.write_text(markdown.checks(found), encoding="utf-8")
    refused = [path for path, result in found if isinstance(result, SubmissionError)]
    if refused:
        raise CommandError(f"refused: {len(refused)} of {len(found)}")
    if failed := [path for path, result in found if isinstance(result, Exception)]:
        raise CommandError(f"not verified on this machine: {len(failed)} of {len(found)}")
    out.print(f"verified: {len(found)} of {len(found)}")


@app.command(epilog="Example:\n\nsandgym leaderboard render")
def render(jobs: Jobs = None, data: Data = None, fresh: Fresh = False, root: Root = _ROOT) -> None:
    """Verify all submissions and write README.md, results.json and site/ from them."""
    from leaderboard import render as pages
    from leaderboard import results
    from leaderboard.problems import SubmissionError

    out = console()
    try:
        with _reports(out) as report:
            paths = results.submissions(_check_root(root))
            verified = results.verify_all(paths, _options(jobs, data, fresh), report)
    except SubmissionError as error:
        _refuse(str(root), error)
    for path in pages.render(root, results.results(verified, results.load_references(root))):
        out.print(str(path), markup=False, soft_wrap=True)


@contextmanager
def _reports(out: Console) -> Iterator[Report]:
    with progress_bar(out, "verifying") as move:
        yield lambda name, done, total: move(done, total)


def _options(jobs: int | None, data: str | None, fresh: bool) -> Options:
    import os

    from leaderboard.verify import Options

    return Options(jobs or os.cpu_count() or 1, _overrides(data), fresh)


def _chosen(root: Path, since: Path | None) -> list[Path]:
    from leaderboard import results

    return results.submissions(root) if since is None else results.changed(root, _check_root(since))


def _overrides(data: str | None) -> dict[str, Any]:
    return {} if data is None else {"data": data}


def _check_root(root: Path) -> Path:
    if not (root / "panels").is_dir():
        raise UsageError(f"{root} is not the folder of a leaderboard; go to a clone of the repository, or name --root")
    return root


def _date(given: str | None) -> datetime.date:
    try:
        return datetime.date.today() if given is None else datetime.date.fromisoformat(given)
    except ValueError:
        raise UsageError(f"--date takes YYYY-MM-DD, not {given!r}") from None


def _say_passed(out: Console, name: str, verified: Verified) -> None:
    claims, panel = verified.folder.submission.claims, verified.folder.panel.name
    before = claims.episodes - verified.replayed
    earlier = f" ({before} of them earlier)" if before else ""
    out.print(
        f"{name}: {panel}, {claims.episodes} episodes replayed{earlier}, all equal: success "
        f"{100 * claims.success:.1f} %, score {100 * claims.score:.1f}",
        markup=False,
        soft_wrap=True,
    )


def _print_problems(name: str, error: SubmissionError) -> None:
    for problem in error.problems:
        print_error(f"{name}: {problem}")


def _refuse(name: str, error: SubmissionError) -> NoReturn:
    _print_problems(name, error)
    raise CommandError("the submission is refused") from None
