"""Numbers count down in the order of ids; shuffling deals the same numbers out anew."""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st
from tiny import game

from sandgym.alfworld.names import display_names, renumber, shuffled_names


def test_numbers_count_down_in_the_order_of_ids():
    ids = ["cabinet_bar_2", "cabinet_bar_1", "cabinet_bar_10", "desk_bar_0"]
    assert display_names(ids) == {
        "cabinet_bar_1": "cabinet 3",
        "cabinet_bar_10": "cabinet 2",
        "cabinet_bar_2": "cabinet 1",
        "desk_bar_0": "desk 1",
    }


def test_kinds_share_a_count_whatever_they_are():
    names = display_names(["mug_bar_a", "mug_bar_b_bar_mugholder", "loc_bar_1", "loc_bar_2"])
    assert names == {
        "mug_bar_a": "mug 2",
        "mug_bar_b_bar_mugholder": "mug 1",
        "loc_bar_1": "loc 2",
        "loc_bar_2": "loc 1",
    }


def test_a_basin_is_told_from_what_it_is_in():
    names = display_names(["sink_bar_1", "sink_bar_1_bar_sinkbasin", "bathtub_bar_3_bar_bathtubbasin"])
    assert names == {
        "sink_bar_1": "sink 1",
        "sink_bar_1_bar_sinkbasin": "sinkbasin 1",
        "bathtub_bar_3_bar_bathtubbasin": "bathtubbasin 1",
    }


def test_an_id_without_a_place_keeps_its_name_and_a_space():
    assert display_names(["agent1", "mugtype"]) == {"agent1": "agent1 ", "mugtype": "mugtype "}


@given(st.dictionaries(st.sampled_from(["mug", "desk", "loc"]), st.integers(1, 30)), st.integers(0, 2**32))
def test_shuffling_permutes_each_kind(counts, seed):
    names = [f"{kind} {number}" for kind, count in counts.items() for number in range(1, count + 1)]
    shuffled = shuffled_names(names, seed)
    assert sorted(shuffled) == sorted(shuffled.values()) == sorted(names)
    assert all(old.split()[0] == new.split()[0] for old, new in shuffled.items())
    assert shuffled_names(reversed(names), seed) == shuffled


def test_shuffles_differ_and_reach_every_order():
    names = ["mug 1", "mug 2", "mug 3"]
    orders = [tuple(shuffled_names(names, seed)[name] for name in names) for seed in range(600)]
    counts = {order: orders.count(order) for order in set(orders)}
    assert len(counts) == 6
    assert all(60 <= count <= 140 for count in counts.values())  # 100 expected, standard deviation 9


def test_a_shuffle_is_the_same_in_every_process():
    code = "from sandgym.alfworld.names import shuffled_names as s; print(s([f'mug {n}' for n in range(9)], 5))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(seen) == 1


def test_renumbering_a_command_replaces_whole_names():
    names = {"mug 1": "mug 11", "mug 11": "mug 1", "desk 2": "desk 3"}
    assert renumber("take mug 11 from desk 2", names) == "take mug 1 from desk 3"
    assert renumber("put mug 1 in/on shelf 4", names) == "put mug 11 in/on shelf 4"
    assert renumber("look", names) == "look"


def test_a_shuffled_game_differs_in_names_only():
    plain = game()
    shuffled = next(each for each in map(plain.shuffled, range(100)) if each.objects != plain.objects)
    assert sorted(shuffled.objects) == sorted(plain.objects)
    assert (shuffled.where, shuffled.start.contents, shuffled.fits) == (plain.where, plain.start.contents, plain.fits)
    old, new = plain.objects.index("mug 2"), shuffled.walkthrough[1].split(" from ")[0].removeprefix("take ")
    assert shuffled.objects[old] == new
