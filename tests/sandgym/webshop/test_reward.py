"""Rewards worked out by hand, and the original's leniencies."""

from __future__ import annotations

import dataclasses

import pytest
from shop import raw_product

from sandgym.webshop.goals import Goal
from sandgym.webshop.products import parse_product
from sandgym.webshop.reward import COLORS, goal_features, normalized_option, product_features, purchase_reward

NOUNS = ("desk", "lamp", "lamp", "light", "cable")
GOAL = Goal(
    asin="B1",
    category="garden",
    query="desk lamps",
    name="Lamp",
    product_category="Home › Lighting › Lamps",
    instruction_text="",
    attributes=("easy clean", "led light"),
    price_upper=30.0,
    goal_options={"size": "large", "color": "red"},
    weight=1.0,
)


def product(nouns=NOUNS, attributes=("easy clean", "led light"), **changes):
    found = parse_product(raw_product("B1", **changes), {"B1": {"attributes": list(attributes)}}, {"B1": nouns})
    assert found is not None
    return found


def reward(bought=None, options=("large", "red"), price=25.0, goal=GOAL, nouns=NOUNS):
    return purchase_reward(product_features(bought or product()), goal_features(goal, nouns), price, options)


def wants(*options):
    return dataclasses.replace(GOAL, goal_options=options)


def test_the_exact_purchase():
    value, details = reward()
    assert value == 1.0
    assert details == {
        "r_type": 1.0,
        "r_att": 1.0,
        "w_att": 2 / 5,
        "query_match": True,
        "category_match": True,
        "title_score": 4 / 5,
        "r_option": 1.0,
        "w_option": 2 / 5,
        "r_price": True,
        "w_price": 1 / 5,
    }


def test_each_part_counts_alike():
    assert reward(price=30.0)[0] == 1.0
    assert reward(price=30.01)[0] == 4 / 5
    assert reward(options=("large",))[0] == 4 / 5
    assert reward(options=())[0] == 3 / 5
    assert reward(product(attributes=("easy clean",)))[0] == 4 / 5
    assert reward(product(attributes=()), options=(), price=31.0)[0] == 0.0


def test_no_options_asked():
    value, details = reward(goal=wants(), options=("blue",))
    assert value == 1.0
    assert "r_option" not in details
    assert details["w_price"] == 1 / 3


@pytest.mark.parametrize(
    ("changes", "r_type"),
    [
        ({}, 1.0),
        ({"nouns": ("x",)}, 0.0),  # no common noun, whatever query and category say
        ({"nouns": ("desk",)}, 1.0),  # 1/5, but the query matches
        ({"nouns": ("desk",), "query": "other"}, 1.0),  # the categories match
        ({"nouns": ("desk",), "query": "other", "product_category": "Home › X › Y"}, 0.5),
        ({"nouns": ("desk", "lamp"), "query": "other", "product_category": "X"}, 1.0),  # 2/5 > 0.2
    ],
)
def test_type(changes, r_type):
    assert reward(product(**changes))[1]["r_type"] == r_type


def test_type_with_a_title_score_under_a_tenth():
    many = tuple(f"n{i}" for i in range(11))
    assert reward(product(nouns=("n0",)), nouns=many)[1]["r_type"] == 0.1


def test_a_goal_without_nouns_scores_a_fifth():
    value = reward(product(query="other", product_category="X"), nouns=())[1]
    assert (value["title_score"], value["r_type"]) == (0.2, 0.5)


def test_an_attribute_may_stand_in_the_texts():
    for changes in (
        {"name": "LED Light lamp"},
        {"small_description": ["with led", "light"]},  # bullets are joined by a blank
        {"full_description": "a LED LIGHT"},
    ):
        assert reward(product(attributes=("easy clean",), **changes))[1]["r_att"] == 1.0
    upper = dataclasses.replace(GOAL, attributes=("LED Light",))
    assert reward(product(attributes=(), name="LED Light"), goal=upper)[1]["r_att"] == 0.0  # the goal is taken as is


def test_an_attribute_that_is_a_part_of_the_goals_matches():
    assert (
        reward(product(attributes=("free",)), goal=dataclasses.replace(GOAL, attributes=("gluten free",)))[1]["r_att"]
        == 1
    )


@pytest.mark.parametrize(
    ("bought", "wanted", "met"),
    [
        ("large", "xx-large", True),
        ("x-large", "large", True),
        ("7", "7.5", True),
        ("10", "10.5", True),
        ("red", "red | white", True),
        ("36w x 30l", "36w x 32l", True),
        ("xx-large", "x-large", True),
        ("small", "large", False),
        ("titanium", "tan", True),
        ("navy blue", "royal blue", True),
        ("dark navy", "navy", False),
    ],
)
def test_option_leniencies_of_human_goals(bought, wanted, met):
    assert reward(options=(bought,), goal=wants(wanted))[1]["r_option"] == met


def test_synthetic_goals_compare_name_and_value():
    def met(bought, wanted):
        return reward(options=(bought,), goal=dataclasses.replace(GOAL, goal_options={"color": wanted}))[1]["r_option"]

    assert met("navy blue", "blue") == 1.0  # the value is a colour word, and so becomes "blue"
    assert met("navy blue", "navy stripes") == 0.0  # "blue" against "color navy stripes"
    assert met("navy blue", "navy blue") == 1.0  # "blue" against "color navy blue": a subset
    assert met("color", "a2") == 1.0  # the name counts too
    assert met("b2", "a2") == 0.0


def test_one_purchased_value_may_meet_several_wanted_ones():
    assert reward(options=("large",), goal=wants("large", "xx-large"))[1]["r_option"] == 1.0


def test_colours():
    assert len(COLORS) == len(set(COLORS)) == 102
    assert normalized_option("Navy Blue!") == "navy blue"  # case counts
    assert normalized_option("navy blue!") == "blue"
    assert normalized_option("titanium") == "tan"
    assert normalized_option("tëst") == "tst"  # Latin-1 letters vanish
