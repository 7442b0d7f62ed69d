"""Goals by hand: combinations, price limits, weights, splits, and those stored in a file."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from shop import SHOP, SHOP_HUMAN, SHOP_INS, SHOP_NOUNS, raw_product

from sandgym.core import SandboxError
from sandgym.webshop.goals import human_goals, split_ranges, stored_goals, synthetic_goals
from sandgym.webshop.products import iter_products


def shop():
    return list(iter_products(SHOP, SHOP_INS, SHOP_NOUNS))


def lamp_goals(price, rng=None):
    return synthetic_goals([(shop()[0], price)], rng or random.Random(0))


def test_every_combination_of_options_is_a_goal():
    goals = synthetic_goals([(product, 25.0) for product in shop()], random.Random(0))
    found = {(goal.asin, tuple(goal.goal_options.items())) for goal in goals}
    assert found == {
        ("B000000001", (("color", "red"),)),
        ("B000000001", (("color", "navy blue"),)),
        ("B000000003", (("fit", "slim | tall"), ("size", "large"))),
        ("B000000003", (("fit", "slim | tall"), ("size", "x-large"))),
    }
    assert len(goals) == 4
    shirt = next(goal for goal in goals if goal.goal_options.get("size") == "x-large")
    limit = f"{shirt.price_upper:.2f}"
    assert shirt.instruction_text == (
        f"Find me a shirt with fit: slim | tall, and size: x-large, and price lower than {limit} dollars"
    )
    assert {goal.weight for goal in goals} == {0.5}  # each attribute is in two goals


def test_the_limit_is_the_second_to_fourth_multiple_of_ten_above_the_price():
    limits = [lamp_goals(25.0, random.Random(seed))[0].price_upper for seed in range(300)]
    # The greater of two of (30, 40, 50, 60): 1, 2 and 3 of the 6 pairs.
    assert set(limits) == {40.0, 50.0, 60.0}
    for value, share in ((40.0, Fraction(1, 6)), (50.0, Fraction(2, 6)), (60.0, Fraction(3, 6))):
        assert abs(limits.count(value) - 300 * share) < 40
    assert {lamp_goals(30.0, random.Random(seed))[0].price_upper for seed in range(50)} == {50.0, 60.0, 70.0}


@pytest.mark.parametrize(("price", "limited"), [(979.99, True), (980.0, False), (5000.0, False)])
def test_no_limit_where_fewer_than_two_multiples_are_left(price, limited):
    goal = lamp_goals(price)[0]
    assert goal.price_upper == (990.0 if limited else 1_000_000)
    assert ("price lower than" in goal.instruction_text) == limited


def test_one_price_draw_for_all_goals_of_a_product():
    assert len({goal.price_upper for goal in lamp_goals(25.0)}) == 1


def test_weights_are_mean_rarities():
    rows = [raw_product("B1"), raw_product("B2")]
    ins = {
        "B1": {"instruction": "x", "instruction_attributes": ["a", "b"]},
        "B2": {"instruction": "y", "instruction_attributes": ["a"]},
    }
    products = iter_products(rows, ins, {"B1": [], "B2": []})
    goals = synthetic_goals([(product, 25.0) for product in products], random.Random(0))
    assert {goal.asin: goal.weight for goal in goals} == {"B1": (1 / 2 + 1) / 2, "B2": 1 / 2}


def test_an_instruction_without_attributes_is_an_error():
    products = iter_products([raw_product("B1")], {"B1": {"instruction": "x"}}, {"B1": []})
    with pytest.raises(SandboxError, match="'B1' has no instruction_attributes"):
        synthetic_goals([(product, 25.0) for product in products], random.Random(0))


def test_human_goals_lose_their_dots_and_those_without_attributes():
    (goal,) = human_goals([(product, 985.0) for product in shop()], SHOP_HUMAN, random.Random(0))
    assert goal.instruction_text == "i need a shirt"
    assert (goal.goal_options, goal.attributes, goal.weight) == (("large",), ("machine wash",), 1)


def test_the_shuffle_depends_on_the_number_of_goals_alone():
    goals = human_goals(
        [(shop()[2], 985.0)],
        {
            "B000000003": [
                {"instruction": f"{i}", "instruction_attributes": ["a"], "instruction_options": []} for i in range(6)
            ]
        },
        random.Random(7),
    )
    order = list(range(6))
    random.Random(233).shuffle(order)
    assert [int(goal.instruction_text) for goal in goals] == order


@pytest.mark.parametrize(
    ("count", "test", "dev", "train"),
    [(12087, 500, 1000, 10587), (1501, 500, 1000, 1), (1500, 375, 375, 750), (13, 3, 3, 7), (3, 0, 0, 3), (0, 0, 0, 0)],
)
def test_splits_follow_the_official_rule_or_quarters(count, test, dev, train):
    splits = split_ranges(count)
    assert {name: len(indices) for name, indices in splits.items()} == {
        "test": test,
        "dev": dev,
        "train": train,
        "all": count,
    }
    assert [*splits["test"], *splits["dev"], *splits["train"]] == list(splits["all"]) == list(range(count))


def test_stored_splits():
    assert split_ranges(10, {"test": [0, 4], "rest": [4, 9]}) == {
        "test": range(4),
        "rest": range(4, 9),
        "all": range(10),
    }
    for bounds in ([0, 11], [5, 4], [-1, 3], [1], "ab"):
        with pytest.raises(SandboxError, match=r"split 'test' of splits\.json"):
            split_ranges(10, {"test": bounds})


def test_stored_goals_are_taken_as_they_stand():
    row = {
        "asin": "B1",
        "category": "garden",
        "query": "q",
        "name": "n",
        "product_category": "c",
        "instruction_text": "t",
        "attributes": ["a"],
        "price_upper": 33.5,
        "goal_options": {"b": "2", "a": "1"},
        "weight": 0.25,
    }
    (goal,) = stored_goals([row])
    assert (goal.attributes, goal.price_upper, goal.weight, goal.kind) == (("a",), 33.5, 0.25, "synthetic")
    assert list(goal.goal_options.items()) == [("b", "2"), ("a", "1")]
    assert stored_goals([row | {"goal_options": ["2"]}])[0].kind == "human"
    with pytest.raises(SandboxError, match=r"goal 1 of goals\.json must have exactly the keys"):
        stored_goals([row, {key: value for key, value in row.items() if key != "weight"}])
    with pytest.raises(SandboxError, match=r"goal 0 of goals\.json"):
        stored_goals([row | {"extra": 1}])
