"""``sandgym lab``."""

import json

import pytest
from commands import run


def test_the_help_teaches():
    output = " ".join(run("lab", "--help").output.split())
    assert "sandgym lab late sparse" in output
    assert "signal-to-noise" in output


def test_a_small_lab_prints_and_writes(tmp_path):
    result = run(
        "lab", "two-steps", "--method", "bpo", "--trees", "20", "--batches", "2", "--out", str(tmp_path / "lab")
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "two-steps" in result.output
    found = json.loads((tmp_path / "lab.json").read_text())
    assert [row["method"] for row in found] == ["rloo", "grpo", "bpo"]
    assert found[0]["tokens"] == 16
    assert (tmp_path / "lab.png").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere",), "unknown problem 'nowhere'; known: sparse"),
        (("late", "--method", "magic"), "unknown method 'magic'; known: rloo"),
        (("late", "--out", "no/such/folder/lab"), "there is no folder"),
    ],
)
def test_bad_input_says_what_to_do(words, message):
    result = run("lab", *words)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
