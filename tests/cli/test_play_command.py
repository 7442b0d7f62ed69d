"""``sandgym play``, scripted over standard input."""

import re

import pytest
from commands import ENV, Invoke, start

WEBSHOP = ["play", "webshop", "--task", "goal-3"]


def digests(output: str) -> list[str]:
    """State digests in the order printed."""
    return re.findall(r"digest ([0-9a-f]{64})", output)


def test_undo_and_restore_come_back_to_the_same_state(invoke: Invoke) -> None:
    lines = [
        "search[red shoes]",
        "/state",
        "2",
        "/state",
        "/undo",
        "/state",
        "2",
        "/snapshot here",
        "1",
        "/restore here",
    ]
    result = invoke(*WEBSHOP, stdin="\n".join([*lines, "/state", "/undo", "/undo", "/undo", "/undo", "/state"]) + "\n")
    assert result.exit_code == 0, result.output
    searched, paged, undone, restored, start_state = digests(result.output)
    assert searched == undone != paged == restored
    assert start_state not in (searched, paged)
    assert "webshop> /undo" in result.output
    assert "goal-3, step 2, reward 0" in result.output


def test_forks_go_their_own_ways(invoke: Invoke) -> None:
    lines = ["search[shoes]", "/fork", "2", "/state", "/switch 1", "1", "/switch 2", "/state"]
    result = invoke(*WEBSHOP, stdin="\n".join(lines))
    first, forked, moved, kept = digests(result.output)
    assert len({first, forked, moved}) == 3
    assert kept == forked
    assert "* game 2: goal-3, step 2" in result.output


def test_a_whole_episode(invoke: Invoke) -> None:
    """Scores by hand: "cab" and "zoo" have 3 of 6 letters before n, "cab" and "bead" all 7."""
    lines = ["cab", "zoo", "abc", "/undo", "bead", "/quit", "never read"]
    result = invoke("play", ENV, "--task", "0", stdin="\n".join(lines))
    assert "letter-a, step 2, reward 0.5, over: score 0.5, success" in result.output
    assert "the episode is over; /undo takes the last action back" in result.output
    assert "letter-a, step 2, reward 1, over: score 1, success" in result.output
    assert "never read" not in result.output


def test_tasks_of_other_splits_are_found(invoke: Invoke) -> None:
    assert "letter-w, step 0" in invoke("play", ENV, "--task", "letter-w", stdin="").output
    result = invoke("play", ENV, "--task", "letter-w", "--split", "dev", stdin="")
    assert result.exit_code == 2
    assert "no task 'letter-w'" in result.stderr


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("/nothing", "unknown command /nothing; /help lists them"),
        ("/_act", "unknown command /_act"),
        ("/restore x", "no snapshot 'x'; there are: none"),
        ("/undo", "nothing to take back"),
        ("/switch 2", "/switch takes a game's number, 1 to 1"),
        ("foo", "that did nothing here, and cost a step"),
        ("/help", "take back the last action"),
        ("search[shoes]\n99", "there is no action 99; the list has"),
    ],
)
def test_slips(line: str, expected: str, invoke: Invoke) -> None:
    result = invoke(*WEBSHOP, stdin=f"{line}\n")
    assert result.exit_code == 0
    assert expected in result.output


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["webshop", "--task", "goal-99999"], 2, "no task 'goal-99999'"),
        (["webshop", "--task", "99999"], 2, "out of range"),
        (["webshop", "--kwargs", "colour=red"], 2, "unknown WebShop argument 'colour'"),
        (["webshop", "--kwargs", "colour"], 2, "--kwargs takes key=value"),
        (["CartPole-v1"], 1, "sandgym check CartPole-v1 --wrap copy"),
    ],
)
def test_bad_command_lines(words: list[str], code: int, expected: str, invoke: Invoke) -> None:
    result = invoke("play", *words, stdin="")
    assert result.exit_code == code
    assert expected in result.stderr


def test_pipe_in_a_process_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    process = start("play", ENV, "--task", "letter-b", cwd=tmp_path_factory.mktemp("play"))
    process.stdin and process.stdin.close()
    output, errors = process.communicate("", timeout=60)
    assert process.returncode == 0, errors
    assert "letter-b, step 0" in output
