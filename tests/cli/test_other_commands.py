"""Help, envs, algos, check, data, bench, doctor, and how errors are shown."""

import dataclasses
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import gymnasium
import pytest
from commands import ENV, HERE, Invoke, run

from algos.bpo import BPOConfig
from algos.lab.methods import MEAN, SIBLINGS
from algos.learner import OptimizerConfig
from algos.ledger import Ledger
from algos.registry import ALGORITHMS
from cli.console import count, duration
from cli.doctor import findings
from cli.environments import short_name
from cli.errors import EXTRAS, UsageError
from cli.evaluate import _panel
from cli.live import sparkline
from cli.presets import PRESETS
from cli.progress import RunProgress
from cli.runs import configuration
from cli.tables import spent_line
from sandgym import ENV_IDS, data
from sandgym.data import DATA_SETS

COMMANDS = (
    *("train", "eval", "sft", "play", "envs", "algos", "check", "doctor"),
    *("data status", "data download", "data build", "bench env"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"sandgym {command}" in result.output.split("Example", 1)[1]


def test_help_needs_no_torch() -> None:
    code = "import sys; from cli.main import app; app(['--help'], standalone_mode=False); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE.parents[1], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_bare_command_shows_help() -> None:
    result = run()
    assert result.exit_code == 2
    assert "sandgym train --algo bpo --env webshop" in result.output
    assert result.stderr == ""


def test_unknown_command_suggests() -> None:
    result = run("trian")
    assert result.exit_code == 2
    assert "Did you mean 'train'?" in result.stderr


WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "{module}":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
from cli.main import app
app(["algos"])
"""


@pytest.mark.parametrize("module", ["torch", "yaml", "scipy", "transformers"])
def test_missing_extra_says_what_to_install(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(module=module)],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip() == f'error: this needs {module}, which is not installed: pip install "sandgym[train]"'


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(data.SandboxError):
        raise run("data", "build", "webshop", "--debug").exception  # type: ignore[misc]
    result = run("data", "build", "webshop")
    assert result.exit_code == 1
    assert result.stderr == (
        "error: the official webshop data (1000) is missing; run `sandgym data download webshop --size 1000` first\n"
    )


def test_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text())["project"]
    modules = {"pyyaml": "yaml"}
    for extra, named in EXTRAS.items():
        wanted = [requirement.partition(">=")[0] for requirement in project["optional-dependencies"][extra]]
        assert {modules.get(name, name) for name in wanted if not name.startswith("sandgym")} == set(named)


def test_envs_lists_ids_splits_and_data() -> None:
    result = run("envs")
    assert result.exit_code == 0
    for expected in ("sandgym/WebShop-v0", "dev 100", "bundled: generated, no download", "official 1000: missing"):
        assert expected in result.output


def test_algos_lists_every_setting_with_its_default() -> None:
    words = run("algos").output.split()
    for name, kind in ALGORITHMS.items():
        assert name in words
        for field in dataclasses.fields(kind.Config):
            assert words[words.index(f"algo_options.{field.name}") + 1]
    assert words[words.index("algo_options.children") + 1] == str(ALGORITHMS["bpo"].Config().children)  # type: ignore[union-attr]
    assert words[words.index("optimizer.lr") + 1] == str(OptimizerConfig().lr)
    output = run("algos").output
    for heading, key, value in (("bpo with tiny", "baseline", "sibling"), ("an adapter on one", "sft.lr", "2e-4")):
        assert re.search(rf"for {heading} instead\n(.*\n)*? +\S*{key} +{value}", output)


@pytest.mark.parametrize("env_id", ENV_IDS.values())
def test_a_pretrained_model_has_rates_of_its_own(env_id: str, trained: tuple[Path, str]) -> None:
    full = configuration("bpo", env_id, {"model": "org/a-model"})
    adapter = configuration("bpo", env_id, {"model": "org/a-model", "lora.rank": "8"})
    assert (full.optimizer.lr, full.sft.lr, full.rollout.max_live) == (1e-6, 2e-5, 32)
    assert (adapter.optimizer.lr, adapter.sft.lr) == (1e-5, 2e-4)
    assert full.algorithm().config == BPOConfig()
    for config in (full, adapter):
        sft = config.sft
        assert {sft.drill_steps, sft.opening_steps, sft.turn_steps, sft.crop_steps, sft.observation_share} == {0}
        assert config.env_options == configuration("bpo", env_id, {}).env_options
    assert configuration("bpo", env_id, {"model": "org/a-model", "optimizer.lr": "0.5"}).optimizer.lr == 0.5
    named = configuration("bpo", env_id, {})
    folder = configuration("bpo", env_id, {"model": str(trained[0] / "start")})
    assert (folder.optimizer, folder.sft) == (named.optimizer, named.sft)
    assert folder.algo_options == named.algo_options
    assert named.algorithm().config == SIBLINGS
    given = configuration("bpo", env_id, {"algo_options.baseline": "value"})
    assert given.algorithm().config == dataclasses.replace(MEAN, baseline="value")
    assert configuration("grpo", env_id, {}).algo_options == {}


def test_an_engine_without_values_has_settings_that_need_none() -> None:
    config = configuration("bpo", ENV_IDS["webshop"], {"model": "org/a-model", "engine": "vllm"})
    assert config.algorithm().config == MEAN
    with pytest.raises(UsageError, match="vLLM has none"):
        configuration(
            "bpo", ENV_IDS["webshop"], {"model": "org/a-model", "engine": "vllm", "algo_options.value_head": "true"}
        )


@pytest.mark.parametrize("env_id", PRESETS)
def test_a_preset_is_a_whole_configuration_and_what_is_given_goes_before_it(env_id: str) -> None:
    preset = PRESETS[env_id]
    config = configuration("bpo", env_id, {})
    assert str(config.sft.turn_steps) == preset["sft.turn_steps"]
    assert config.optimizer.lr == float(preset["optimizer.lr"])
    assert config.env_options["max_steps"] == int(preset["env_options.max_steps"])
    given = configuration("bpo", env_id, {"optimizer.lr": "0.5", "env_options.max_steps": "7"})
    assert (given.optimizer.lr, given.env_options["max_steps"]) == (0.5, 7)
    assert given.sft == config.sft
    assert "max_steps" not in configuration("bpo", env_id, {"env_options.data": "official"}).env_options
    learned, evaluated = (
        gymnasium.make(env_id, **a) for a in (config.training_arguments(), config.evaluation_arguments())
    )
    for training in [key.removeprefix("train_options.") for key in preset if key.startswith("train_options.")]:
        assert learned.spec.kwargs[training] is True  # type: ignore[union-attr]
        assert training not in evaluated.spec.kwargs  # type: ignore[union-attr]
    _, tasks, _ = _panel(config, f"{short_name(env_id)}/dev")  # a run is evaluated on the panels, which it verifies
    assert len(tasks) in (80, 100)
    assert env_id in run("algos").output


def test_check_passes_on_ours() -> None:
    result = run("check", ENV, "--episodes", "1")
    assert result.exit_code == 0, result.output
    assert f"{ENV} keeps the contract" in result.output


def test_check_suggests_a_wrapper_for_a_plain_environment() -> None:
    result = run("check", "CartPole-v1")
    assert result.exit_code == 1
    assert "CartPole-v1 breaks the contract: methods missing" in result.stderr
    assert "sandgym check CartPole-v1 --wrap copy" in result.output


@pytest.mark.parametrize("wrap", ["copy", "replay"])
def test_check_of_wrapped_environments(wrap: str) -> None:
    result = run("check", "CartPole-v1", "--wrap", wrap, "--episodes", "1", "--kwargs", "sutton_barto_reward=True")
    assert result.exit_code == 0, result.output


def test_check_bad_arguments() -> None:
    assert run("check", "CartPole-v1", "--wrap", "paper").exit_code == 2
    assert run("check", "Nothing-v0").exit_code == 2
    assert "unexpected keyword argument 'colour'" in run("check", "CartPole-v1", "--kwargs", "colour=1").stderr


def test_data_status_lists_every_size() -> None:
    output = run("data", "status").output
    for size in DATA_SETS["webshop"].sizes:
        assert f"sandgym data download webshop --size {size}" in output
    assert "sandgym data download alfworld" in output


@pytest.mark.parametrize("command", ["download", "build"])
def test_unknown_data(command: str) -> None:
    assert "unknown data set 'webshap'; known: alfworld, swebench, webshop" in run("data", command, "webshap").stderr
    result = run("data", command, "webshop", "--size", "7")
    assert result.exit_code == 2
    assert "known: 1000, full" in result.stderr


def test_bench_bad_arguments(invoke: Invoke) -> None:
    assert "known: alfworld, webshop" in invoke("bench", "env", "chess").stderr
    assert "--traces is for webshop" in invoke("bench", "env", "alfworld", "--traces", "a").stderr
    assert "--reference-python is for alfworld" in invoke("bench", "env", "webshop", "--reference-python", "a").stderr
    assert "there is no file nothing" in invoke("bench", "env", "alfworld", "--reference-python", "nothing").stderr
    assert invoke("bench", "env", "webshop", "--traces", "nothing.json").exit_code == 2
    result = invoke("bench", "env", "webshop", "--data", "nowhere")
    assert result.exit_code == 1
    assert "nowhere" in result.stderr


def test_doctor_tells_what_is_here() -> None:
    found = {finding.what: finding for finding in findings()}
    assert found["[train]"].state == "ok"
    assert importlib.metadata.version("torch") in found["[train]"].found
    assert {"Python", "GPU", "sandboxes, docker", "sandboxes, overlay", "disk, data", "data, webshop"} <= set(found)
    assert found["data, webshop official 1000"].found == "missing"
    for finding in found.values():
        assert finding.state == "ok" or finding.advice  # whatever is not there has its reason
    output = run("doctor").output
    assert "[train]" in output
    assert 'pip install "sandgym[vllm]"' in " ".join(output.split()) or found["[vllm]"].state == "ok"


def test_numbers_in_words() -> None:
    assert [count(v) for v in (0, 940, 9999, 12_345, 4_560_000, 2e9)] == [
        "0",
        "940",
        "9,999",
        "12.3 k",
        "4.56 M",
        "2 G",
    ]
    assert [duration(s) for s in (0, 59.6, 61, 3725)] == ["0:00", "1:00", "1:01", "1:02:05"]
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([5, 5]) == "▁▁"
    assert sparkline([0, 2, 10, 12], width=2) == "▁█"


def test_time_left_by_hand() -> None:
    """Updates of 2 s each; the evaluation before took 10 s, so the one after will."""
    now = [0.0]
    progress = RunProgress(updates=5, clock=lambda: now[0])
    progress("evaluating", {"when": "before", "episodes": 0, "total": 4})
    assert progress.left() is None
    now[0] = 5.0
    progress("evaluating", {"when": "before", "episodes": 2, "total": 4})
    assert progress.left() == 5.0
    now[0] = 10.0
    progress("evaluated", {"when": "before"})
    progress("rollout", {"update": 1, "episodes": 3})
    now[0] = 12.0
    progress("update", {"update": 1})
    assert progress.update_seconds == 2.0
    assert progress.left() == 4 * 2.0 + 10.0
    now[0] = 13.0
    progress("rollout", {"update": 2, "episodes": 3})
    assert progress.left() == 4 * 2.0 - 1.0 + 10.0


def test_a_ledger_in_words_says_what_environments_took() -> None:
    spent = Ledger(env_steps=600, env_seconds=30.0, rollout_seconds=50.0, learn_seconds=70.0)
    assert "0:50 rollouts (0:30 in environments, 25 % of the time, 20 steps/s), 1:10 learning" in spent_line(
        spent.to_dict()
    )
    assert "(0:00 in environments, 0 % of the time, no steps)" in spent_line(Ledger().to_dict())
