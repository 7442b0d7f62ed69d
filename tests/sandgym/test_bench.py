"""The benchmark measures what it says it does."""

import json

import pytest

from sandgym.bench.measurement import Measurement, table
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
