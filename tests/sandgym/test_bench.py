"""The benchmark measures what it says it does."""

import importlib.util
import json
import sys

import gymnasium
import pytest

from sandgym.bench import alfworld
from sandgym.bench.measurement import Measurement, as_document, in_words, table
from sandgym.bench.webshop import make_webshop, measure_webshop, random_traces, read_traces


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    from sandgym.webshop.generate import write_catalogue

    return str(write_catalogue(tmp_path_factory.mktemp("source"), products=60))


def test_every_figure_has_its_repeats_and_a_row(source):
    measurements = measure_webshop(source, repeats=2)
    assert all(len(m.values) == 2 for m in measurements)
    by_name = {m.name: m for m in measurements}
    for name in ("resets", "snapshot", "restore", "fork, each of 16", "import sandgym", "search, uncached"):
        assert min(by_name[name].values) > 0
    assert by_name["resident memory after the replay"].median > 10
    assert by_name["thread growth over 20,000 resets"].values == (0, 0)
    assert table(measurements, "title").row_count == len(measurements)


def test_random_episodes_are_the_same_each_time(source):
    traces = random_traces(make_webshop(source), episodes=5)
    assert traces == random_traces(make_webshop(source), episodes=5)
    assert len({actions for _, actions in traces}) == 5
    assert all(1 <= len(actions) <= 15 and actions[0].startswith("search[") for _, actions in traces)


def test_recorded_episodes_are_read(tmp_path):
    path = tmp_path / "traces.json"
    path.write_text(json.dumps([{"goal": 3, "steps": [{"action": "search[a]"}, {"action": "click[b]", "reward": 0}]}]))
    assert read_traces(path) == [(3, ("search[a]", "click[b]"))]


def test_the_median_is_the_middle_repeat():
    assert Measurement("x", (3.0, 1.0, 2.0), "s").median == 2.0


def test_figures_for_a_file():
    document = as_document([Measurement("x", (3.0, 1.0, 2.0), "s")], games="a few")
    assert document["games"] == "a few"
    assert document["measurements"] == [
        {"name": "x", "values": (3.0, 1.0, 2.0), "unit": "s", "original": "", "median": 2.0}
    ]
    assert set(document["machine"]) == {"cpus", "architecture", "python"}
    assert [in_words(value) for value in (1234.5, 12.345, 0.00123456)] == ["1,234", "12.3", "0.00123"]


# ALFWorld.


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    from sandgym.alfworld.generate import write_games

    return str(write_games(tmp_path_factory.mktemp("games"), {"train": 12}))


def test_every_figure_of_alfworld_from_files_and_pack(games):
    measurements = alfworld.measure_alfworld(games, repeats=2, count=60)
    by_name = {m.name: m for m in measurements}
    assert all(len(m.values) == 2 for m in measurements if "TextWorld" not in m.name)
    for name in ("step, first replay in a fresh process", "step, replayed again", "snapshot", "restore"):
        assert min(by_name[name].values) > 0
    for source in ("file", "pack"):
        assert min(by_name[f"reset to a game not seen yet, from the {source}"].values) > 0
        assert min(by_name[f"load the training games, {source}"].values) > 0
    assert by_name["memory of 60 live environments"].median > 0
    assert min(by_name["open the pack, all splits"].values) > 0
    assert by_name["step, replayed again"].original.endswith("recorded")
    assert table(measurements, "title").row_count == len(measurements)


def test_a_pack_has_no_figures_of_files(games, tmp_path):
    from sandgym.alfworld.pack import build_pack

    names = {m.name for m in alfworld.measure_alfworld(str(build_pack(games, tmp_path).parent), repeats=1, count=20)}
    assert "reset to a game not seen yet, from the pack" in names
    assert not [name for name in names if "file" in name]


def test_random_episodes_of_alfworld_are_the_same_each_time_and_admissible(games):
    env = alfworld.make_alfworld(games)
    traces = alfworld.random_traces(env, episodes=5)
    assert traces == alfworld.random_traces(alfworld.make_alfworld(games), episodes=5)
    assert len({task for task, _ in traces}) == 5
    for task, commands in traces:
        _, info = env.reset(options={"task": task})
        for command in commands:
            assert command in info["admissible_commands"]
            *_, info = env.step(command)
    assert len(alfworld.random_traces(env, episodes=100)) == 12


@pytest.mark.skipif(importlib.util.find_spec("textworld") is not None, reason="TextWorld is installed")
def test_an_interpreter_without_textworld_is_told(games):
    with pytest.raises(gymnasium.error.Error, match=r"could not play the games in TextWorld: .*textworld"):
        alfworld.measure_alfworld(games, repeats=1, reference_python=sys.executable, count=10)


@pytest.mark.skipif(importlib.util.find_spec("textworld") is None, reason="TextWorld is not installed")
def test_textworld_is_measured_in_the_same_run(games):
    by_name = {m.name: m for m in alfworld.measure_alfworld(games, repeats=1, count=10)}
    assert by_name["TextWorld: step"].median > 1
    assert "recorded" not in by_name["step, replayed again"].original
