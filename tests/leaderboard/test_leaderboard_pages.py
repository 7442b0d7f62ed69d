"""What the pages show, that nothing submitted can change how, and that the columns sort in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import Page, chromium
from leaderboard_helpers import describe, submission_of

from leaderboard.figure import figure
from leaderboard.markdown import checks, escape, sampling
from leaderboard.page import page
from leaderboard.problems import SubmissionError
from leaderboard.render import render, rendered
from leaderboard.results import results, submissions, verify_all
from leaderboard.verify import Options, Verified, verify
from sandgym.core import SandboxError
from sandgym.panels import Panel

EVIL = '<script>alert(1)</script> | [x](https://e.vil) **b** `c` @all "q" \' & _i_ <img src=x>'


@pytest.fixture(scope="module")
def verified(small_panels: dict[str, Panel], tmp_path_factory: pytest.TempPathFactory) -> list[Verified]:
    """Four submissions to the small panel of WebShop: two are references, one has a name that means harm."""
    base = tmp_path_factory.mktemp("leaderboard") / "submissions" / "webshop"
    base.mkdir(parents=True)
    found = []
    for name, who, seeds, track in (
        ("2026-01-01-expert", "expert", (0,), "reference"),
        ("2026-01-02-chance", "random", (3, 8), "reference"),
        ("2026-01-03-better", "expert", (1,), "open"),
        ("2026-01-04-evil", "random", (5,), "open"),
    ):
        folder = submission_of(who, small_panels["webshop"], base / name, seeds, track=track)
        describe(folder, method={"name": EVIL if name.endswith("evil") else name[11:]})
        found.append(verify(folder, Options(jobs=1)))
    describe(base / "2026-01-03-better", compute={"training": {"env_steps": 12345.0}})
    found[2] = verify(base / "2026-01-03-better", Options(jobs=1))
    return found


@pytest.fixture(scope="module")
def shown(verified: list[Verified]) -> dict[str, Any]:
    return results(verified, {"webshop/few": "webshop/2026-01-02-chance"})


def rows(shown: dict[str, Any]) -> list[dict[str, Any]]:
    return shown["panels"]["webshop/few"]["rows"]  # type: ignore[no-any-return]


def test_rows_go_from_the_best_to_the_worst(shown: dict[str, Any]) -> None:
    assert [row["path"] for row in rows(shown)][:2] == ["webshop/2026-01-01-expert", "webshop/2026-01-03-better"]
    success = [row["success"]["value"] for row in rows(shown)]
    assert success == sorted(success, reverse=True)
    assert success[:2] == [1.0, 1.0]


def test_references_have_no_rank_and_others_have(shown: dict[str, Any]) -> None:
    ranks = {row["path"][8:]: row["rank"] for row in rows(shown)}
    assert ranks == {
        "2026-01-01-expert": None,
        "2026-01-02-chance": None,
        "2026-01-03-better": 1,
        "2026-01-04-evil": 2,
    }


def test_differences_are_from_the_reference(shown: dict[str, Any]) -> None:
    found = {row["path"][8:]: row for row in rows(shown)}
    chance = found["2026-01-02-chance"]
    assert chance["difference"] is None
    expected = 1.0 - chance["success"]["value"]
    assert found["2026-01-03-better"]["difference"]["value"] == pytest.approx(expected, abs=1e-4)
    assert shown["panels"]["webshop/few"]["reference"] == "webshop/2026-01-02-chance"
    assert results([], {})["panels"]["webshop/few"]["rows"] == []


def test_seeds_are_shown_by_themselves(shown: dict[str, Any], verified: list[Verified]) -> None:
    (chance,) = (row for row in rows(shown) if row["path"].endswith("chance"))
    assert [run["seed"] for run in chance["per_seed"]] == [3, 8]
    for index, run in enumerate(chance["per_seed"]):
        assert run["score"] == pytest.approx(verified[1].score[:, index].mean(), abs=1e-4)


def test_pages_are_written_and_equal_the_next_time(shown: dict[str, Any], tmp_path: Path) -> None:
    written = render(tmp_path, shown)
    assert [str(path.relative_to(tmp_path)) for path in written] == ["README.md", "results.json", "site/index.html"]
    for name, text in rendered(shown).items():
        assert (tmp_path / name).read_text() == text
    assert json.loads((tmp_path / "results.json").read_text()) == shown


def test_verifying_all_names_the_folder_that_is_refused(verified: list[Verified]) -> None:
    base = verified[0].folder.path.parents[2]
    paths = submissions(base)
    assert paths == [each.folder.path for each in verified]
    assert len(verify_all(paths, Options(jobs=1))) == 4
    (base / "submissions" / "webshop" / "no-date").mkdir()
    with pytest.raises(SubmissionError, match="'no-date' is not named"):
        submissions(base)
    (base / "submissions" / "webshop" / "no-date").rmdir()
    (base / "submissions" / "elsewhere").mkdir()
    with pytest.raises(SubmissionError, match="'elsewhere' does not belong"):
        submissions(base)
    (base / "submissions" / "elsewhere").rmdir()


# Nothing submitted formats anything.


class Tags(HTMLParser):
    """The elements of a page, and the text of its links."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_names_are_escaped_in_the_page(shown: dict[str, Any]) -> None:
    parser = Tags()
    parser.feed(page(shown))
    assert EVIL in parser.text
    assert [tag for tag, _ in parser.tags].count("script") == 1
    assert [tag for tag, _ in parser.tags].count("img") == 0
    assert {attributes.get("href", "")[:15] for tag, attributes in parser.tags if tag == "a"} == {"../submissions/"}
    assert not [name for _, attributes in parser.tags for name in attributes if name.startswith("on")]


def test_names_are_escaped_in_the_figure() -> None:
    row = {"method": EVIL, "track": "open", "success": {"value": 0.5, "low": 0.25, "high": 0.75}}
    parser = Tags()
    parser.feed(figure([row]))
    assert {tag for tag, _ in parser.tags} == {"svg", "line", "text", "circle", "title"}
    (whisker,) = (a for tag, a in parser.tags if tag == "line" and "whisker" in str(a["class"]))
    ((_, circle),) = [found for found in parser.tags if found[0] == "circle"]
    assert (whisker["x1"], circle["cx"], whisker["x2"]) == ("370.0", "500.0", "630.0")  # 240 + 520 * share


def test_names_are_escaped_in_markdown(shown: dict[str, Any]) -> None:
    text = rendered(shown)["README.md"]
    (line,) = (line for line in text.splitlines() if "2026-01-04-evil" in line)
    header = next(line for line in text.splitlines() if line.startswith("| rank"))
    assert line.count("|") == header.count("|")
    name = escape(EVIL)
    assert name in line
    assert not re.search(r"[<>|\[\]`@*_!\"']", name)


def test_a_comment_shows_what_was_found(verified: list[Verified], shop: Path) -> None:
    describe(shop, contact="@everyone <b>")
    problem = SubmissionError("| `@everyone` <img src=x>\n# heading", "second")
    lacking = SandboxError("no <data> here")
    text = checks([(shop, problem), (verified[0].folder.path, verified[0]), (shop, lacking)])
    lines = text.splitlines()
    assert len(lines) == 5
    assert "not verified here" in lines[4]
    assert {line.count("|") for line in lines} == {6}
    assert "refused" in lines[2]
    assert "verified" in lines[3]
    assert "12 episodes replayed" in lines[3]
    assert "@" not in text
    assert "<img" not in text
    assert checks([]) == "No submission is changed.\n"


# In a browser.


@pytest.fixture(scope="module")
def opened(shown: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_text(page(shown), encoding="utf-8")
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        browser.open((folder / "index.html").as_uri())
        yield browser


HEADINGS = "#webshop-few th button"


def column(browser: Page, number: int) -> list[str]:
    return browser.value(  # type: ignore[no-any-return]
        f"[...document.querySelectorAll('#webshop-few tbody tr')].map(r => r.cells[{number}].dataset.value)"
    )


def test_a_click_sorts_by_numbers_from_the_largest_and_another_turns_it_round(opened: Page) -> None:
    titles = opened.value(f"[...document.querySelectorAll('{HEADINGS}')].map(b => b.textContent)")
    steps = titles.index("steps")
    opened.click(HEADINGS, steps)
    found = [float(value) for value in column(opened, steps)]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) > 1
    assert opened.value("document.querySelectorAll('#webshop-few [aria-sort=descending]').length") == 1
    opened.click(HEADINGS, steps)
    assert [float(value) for value in column(opened, steps)] == sorted(found)
    assert opened.value("document.querySelectorAll('[aria-sort]').length") == 1
    assert opened.value("document.querySelectorAll('[aria-sort=ascending]').length") == 1


def test_numbers_sort_as_numbers_and_the_absent_stay_last(opened: Page) -> None:
    difference = 6
    for _ in range(2):
        opened.click(HEADINGS, difference)
        values = column(opened, difference)
        assert values[-1] == ""
        assert "" not in values[:-1]
    trained = 8
    opened.click(HEADINGS, trained)
    assert column(opened, trained) == ["12345.0", "", "", ""]


def test_texts_sort_from_a(opened: Page) -> None:
    opened.click(HEADINGS, 1)
    assert column(opened, 1)[1:] == ["better", "chance", "expert"]
    assert column(opened, 1)[0] == EVIL  # signs before letters


def test_nothing_submitted_runs_and_the_name_is_there_to_read(opened: Page) -> None:
    assert opened.value("document.querySelectorAll('script').length") == 1
    assert opened.value("document.querySelectorAll('img').length") == 0
    links = opened.value("[...document.querySelectorAll('#webshop-few td a')].map(a => a.textContent)")
    assert EVIL in links
    # The policy of the page forbids what is not its own, even were it to get in.
    opened.value(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.injected = 1'; "
        "document.body.append(s); })()"
    )
    assert opened.value("window.injected") is None


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"temperature": None, "top_p": None, "top_k": None}, "no model"),
        ({"temperature": 0.0, "top_p": None, "top_k": None}, "greedy"),
        ({"temperature": 0.5, "top_p": None, "top_k": None}, "temperature 0.5"),
        ({"temperature": 1.0, "top_p": 0.9, "top_k": 20}, "temperature 1, top_p 0.9, top_k 20"),
    ],
)
def test_how_actions_were_drawn_is_said(row: dict[str, Any], words: str) -> None:
    assert sampling(row) == words
