"""What a command is given, what is kept of it, and what is ended."""

import time

import pytest
from views import Open, ok, reason_against

from sandgym.sandboxes import CommandResult, Limits, Sandbox


def test_exit_codes_and_both_streams(sandbox: Sandbox) -> None:
    assert sandbox.run("echo out; echo err >&2; exit 3") == CommandResult(3, "out\nerr\n")
    assert sandbox.run("kill -9 $$").returncode == 137
    assert sandbox.run("cat; echo $?") == CommandResult(0, "0\n")
    syntax = sandbox.run("if")
    assert (syntax.returncode, "syntax error" in syntax.output) == (2, True)
    assert sandbox.run("no-such-program").returncode == 127
    assert sandbox.run("set -eu; false; echo no") == CommandResult(1, "")


def test_folder_and_variables_are_kept(sandbox: Sandbox) -> None:
    ok(sandbox, "export A=$'two\\nlines' B='quote\"'; C=unexported; cd package; f() { :; }")
    assert ok(sandbox, 'pwd; echo "$A|$B|$C"; declare -f f || true') == '/testbed/package\ntwo\nlines|quote"|\n'
    assert sandbox.run("set -e; cd deep; unset A; export D=1; false").returncode == 1
    assert ok(sandbox, 'pwd; echo "${A-none} $D"') == "/testbed/package/deep\nnone 1\n"
    ok(sandbox, "cd /testbed; rm -r package")
    sandbox.cwd = "/testbed/package"
    assert ok(sandbox, "pwd") == "/testbed\n"
    ok(sandbox, "set -x; export E=1 2>/dev/null; exec true")
    assert "E" not in sandbox.variables  # the shell was replaced, and its state with it


def test_the_trap_leaves_no_trace(sandbox: Sandbox) -> None:
    assert sandbox.run("set -x; true").output == "+ true\n"
    assert "SANDBOX" not in ok(sandbox, "env")
    assert sandbox.run("trap 'echo own' EXIT; exit 4") == CommandResult(4, "own\n")


@pytest.mark.parametrize("command", ["echo a\0b", "echo '" + "x" * 1_200_000 + "'"], ids=["null", "long"])
def test_commands_that_no_shell_can_take(sandbox: Sandbox, command: str) -> None:
    assert sandbox.run(command).returncode in (2, 126)


def test_long_commands_and_odd_characters(sandbox: Sandbox) -> None:
    text = "line of text\n" * 30_000
    ok(sandbox, f"cat > long <<'END'\n{text}END\n")
    assert sandbox.read("/testbed/long").decode() == text
    assert sandbox.run("echo é; printf '\\377'").output == "é\n\ufffd"
    assert sandbox.run("echo '\ud800'").returncode == 0


def test_output_is_cut_in_the_middle(opened: Open) -> None:
    sandbox = opened(Limits(output_chars=10))
    assert sandbox.run("printf 0123456789") == CommandResult(0, "0123456789")
    assert sandbox.run("printf 0123456789a") == CommandResult(
        0, "01234\n[... 1 characters left out ...]\n6789a", truncated=True
    )
    cut = sandbox.run("for i in $(seq 1000); do printf ä; done; printf end; head -c 100000 /dev/zero | tr '\\0' é")
    assert cut.truncated
    assert cut.output.startswith("äääää\n[... ")


def test_ten_gigabytes_of_output(opened: Open, backend: str) -> None:
    if backend != "overlay" and reason_against("overlay") == "ok":
        pytest.skip("reads output as the overlay backend does")
    sandbox = opened(Limits(timeout=120.0))
    result = sandbox.run("echo first; head -c 10000000000 /dev/zero; echo; echo last")
    assert (result.returncode, result.truncated, result.timed_out) == (0, True, False)
    assert result.output.startswith("first\n\0\0")
    assert result.output.endswith("\0\0\nlast\n")
    assert "[... 9999990012 characters left out ...]" in result.output


def test_time_outs_end_everything_inside(sandbox: Sandbox) -> None:
    began = time.monotonic()
    result = sandbox.run("echo before; (sleep 7.25 & sleep 7.25); sleep 7.25", timeout=0.5)
    assert (result.returncode, result.output, result.timed_out) == (None, "before\n", True)
    assert time.monotonic() - began < 5
    assert ok(sandbox, "pgrep -f 'sleep 7.2[5]' || echo none") == "none\n"
    stubborn = sandbox.run(
        "trap '' TERM INT HUP; setsid bash -c \"trap '' TERM; sleep 7.75\" & sleep 7.75", timeout=0.5
    )
    assert stubborn.timed_out
    assert ok(sandbox, "pgrep -f 'sleep 7.7[5]' || echo none") == "none\n"


def test_background_processes_are_ended(sandbox: Sandbox) -> None:
    began = time.monotonic()
    result = sandbox.run("sleep 50 & sleep 60 & setsid sleep 70 & disown -a; echo done")
    assert result == CommandResult(0, "done\n", ended_background=3)
    assert time.monotonic() - began < 5  # though they hold the pipe
    assert ok(sandbox, "pgrep sleep || echo none") == "none\n"
    assert sandbox.run("(while :; do echo noise; done) & sleep 0.2; exit 5").returncode == 5


def test_what_ends_by_itself_may_finish(sandbox: Sandbox) -> None:
    result = sandbox.run("exec > >(sed s/^/seen:/); echo text")
    assert (result.output, result.ended_background) == ("seen:text\n", 0)
