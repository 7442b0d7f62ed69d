"""The bundled catalogue: format, determinism, splits, and what a search finds in it."""

import json
import os
import re
from collections import Counter

import pytest

import sandgym.webshop.generate as generate
from sandgym.bundled import content_hash
from sandgym.core import SandboxError
from sandgym.webshop.assortment import asin_of, title_nouns
from sandgym.webshop.goals import stored_goals
from sandgym.webshop.products import document_text, iter_products, parse_price
from sandgym.webshop.reward import goal_features, matches, normalized_option, product_features, purchase_reward
from sandgym.webshop.search import SearchIndex
from sandgym.webshop.vocabulary import FAMILIES, KINDS, MODIFIERS, OPTIONS

FILES = ("items_shuffle", "items_ins_v2", "items_human_ins", "nouns", "prices", "goals", "splits")


def read(folder):
    return {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in FILES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return generate.write_catalogue(tmp_path_factory.mktemp("bundled"))


@pytest.fixture(scope="module")
def files(folder):
    return read(folder)


@pytest.fixture(scope="module")
def products(files):
    return list(iter_products(files["items_shuffle"], files["items_ins_v2"], files["nouns"]))


def test_the_bytes_are_pinned(folder):
    assert content_hash(folder) == generate.BUNDLED_SHA256


def test_a_product_does_not_depend_on_how_many_there_are(tmp_path, files):
    small = read(generate.write_catalogue(tmp_path, products=30))
    assert small["items_shuffle"] == files["items_shuffle"][:30]
    assert small["prices"] == dict(list(files["prices"].items())[:30])
    assert small["splits"] == {"test": [0, 5], "dev": [5, 7], "train": [7, len(small["goals"])]}


def test_another_seed_gives_other_products(tmp_path, files):
    other = read(generate.write_catalogue(tmp_path, products=30, seed=1))
    assert not {raw["name"] for raw in other["items_shuffle"]} & {raw["name"] for raw in files["items_shuffle"][:30]}


def test_too_few_products_are_refused(tmp_path):
    with pytest.raises(ValueError, match="at least 12"):
        generate.write_catalogue(tmp_path, products=11)


def test_asins_are_unique_and_have_letters_and_digits():
    asins = [asin_of(index) for index in range(200_000)]
    assert len(set(asins)) == len(asins)
    assert all(re.fullmatch(r"B0[A-Z0-9]{8}", asin) for asin in asins)
    assert all(re.search("[0-9]", asin[2:]) and re.search("[A-Z]", asin[2:]) for asin in asins)


def test_nouns_of_a_title():
    title = "Ellaray Machine Washable Women's Maxi Dress with Long Sleeve, Set of 4"
    assert title_nouns(title) == ("ellaray", "machine", "women", "maxi", "dress", "sleeve", "set")


def test_modifiers_are_words_of_the_vocabulary():
    phrases = [phrase for kind in KINDS for phrase in kind.phrases]
    phrases += [word for family in FAMILIES.values() for word in (*family.adjectives, *family.features, *family.uses)]
    words = {word for phrase in phrases for word in phrase.split()} | {"with", "for", "of", "new"}
    assert words >= MODIFIERS


def test_phrases_of_a_kind_share_a_noun():
    for kind in KINDS:
        assert set.intersection(*(set(title_nouns(phrase)) for phrase in kind.phrases)), kind.query


def test_the_official_format(files):
    raw = files["items_shuffle"]
    assert len(raw) == 1200
    assert {item["category"] for item in raw} == {"beauty", "electronics", "garden", "fashion", "grocery"}
    keys = {"asin", "name", "full_description", "small_description", "pricing", "customization_options", "images"}
    keys |= {"category", "query", "product_category", "average_rating", "page"}
    for item in raw:
        assert set(item) == keys
        assert all(re.fullmatch(r"\$\d+\.\d\d", price) for price in re.findall(r"\$[^$]*", item["pricing"]))
        assert len(item["product_category"].split(" › ")) >= 3
        assert 2 <= len(item["small_description"]) <= 4
    options = Counter(len(item["customization_options"]) for item in raw)
    assert set(options) == {0, 1, 2}
    forms = Counter(item["pricing"].count("$") for item in raw)
    assert 60 < forms[2] < 180
    assert 0 < forms[0] < 60


def test_prices_lie_in_what_is_shown(files):
    for raw in files["items_shuffle"]:
        _, shown = parse_price(raw["pricing"])
        assert shown[0] <= files["prices"][raw["asin"]] <= shown[-1]


def test_attributes_can_be_found_in_the_texts(files, products):
    for product in products:
        text = " ".join((product.title, product.description, *product.bullets)).lower()
        assert all(attribute in text for attribute in product.attributes)
        assert set(files["items_ins_v2"][product.asin]["instruction_attributes"]) <= set(product.attributes)


def test_titles_are_short_and_their_nouns_let_any_product_of_a_kind_score(products):
    assert all(5 <= len(product.title.split()) <= 11 for product in products)
    assert all(len(product.nouns) <= 9 for product in products)  # one common noun is at least 0.1 of the title


def test_splits_have_their_sizes_and_share_no_product(files):
    goals, splits = files["goals"], files["splits"]
    assert splits["test"] == [0, 200]
    assert splits["dev"] == [200, 300]
    assert splits["train"][0] == 300
    assert splits["train"][1] == len(goals) >= 1800
    asins = {name: {goal["asin"] for goal in goals[low:high]} for name, (low, high) in splits.items()}
    assert len(asins["test"]) == 200
    assert len(asins["dev"]) == 100
    assert sum(map(len, asins.values())) == len(set.union(*asins.values()))


def test_instructions_say_what_the_goal_asks(files):
    for goal in files["goals"]:
        text = goal["instruction_text"]
        assert all(attribute in text for attribute in (*goal["attributes"], goal["query"]))
        assert all(f"{name}: {value}" in text for name, value in goal["goal_options"].items())
        assert text.endswith(f", and price lower than {goal['price_upper']:.2f} dollars")
        assert goal["price_upper"] - 40 <= files["prices"][goal["asin"]] < goal["price_upper"]
    per_product = Counter(goal["asin"] for goal in files["goals"])
    assert set(per_product.values()) == {1, 2, 3}
    assert len({goal["instruction_text"] for goal in files["goals"]}) > 0.99 * len(files["goals"])


def test_weights_are_the_mean_rarity_of_attributes(files):
    goals = files["goals"]
    counts = Counter(attribute for goal in goals for attribute in goal["attributes"])
    for goal in goals[::50]:
        rarity = [1 / counts[attribute] for attribute in goal["attributes"]]
        assert goal["weight"] == pytest.approx(sum(rarity) / len(rarity), rel=1e-12)


def test_every_option_value_satisfies_a_goal_for_it():
    """A colour word inside another word ("blueberry") would not, by the reward's rules."""
    for group, values in OPTIONS.items():
        name = group.partition("@")[0]
        for value in values:
            wanted = goal_features(
                stored_goals([dict.fromkeys(GOAL_KEYS, "") | {"attributes": [], "goal_options": {name: value}}])[0], ()
            ).options[0]
            assert matches(normalized_option(value), wanted), (name, value)


GOAL_KEYS = ("asin", "category", "query", "name", "product_category", "instruction_text", "attributes")
GOAL_KEYS += ("price_upper", "goal_options", "weight")


def test_the_goals_product_earns_one(files, products):
    by_asin = {product.asin: product for product in products}
    for goal in stored_goals(files["goals"]):
        product = by_asin[goal.asin]
        wanted = goal_features(goal, product.nouns)
        price = files["prices"][goal.asin]
        reward, _ = purchase_reward(product_features(product), wanted, price, goal.goal_options.values())
        assert reward == 1.0, goal


def test_search_is_neither_trivial_nor_hopeless(files, products):
    index = SearchIndex.build((product.asin, document_text(product)) for product in products)
    places = []
    for goal in files["goals"][:300]:
        found = index.search(" ".join((*goal["attributes"], goal["query"])))
        asins = [products[document].asin for document in found]
        places.append(asins.index(goal["asin"]) if goal["asin"] in asins else 50)
    assert 0.35 < sum(place == 0 for place in places) / 300 < 0.6
    assert sum(place < 10 for place in places) / 300 > 0.95


def test_the_vocabulary_suits_a_small_model(files):
    words = set()
    for raw in files["items_shuffle"]:
        words.update(raw["name"].lower().replace(",", "").split())
    for goal in files["goals"]:
        words.update(word.strip(",:") for word in goal["instruction_text"].lower().split())
    assert 800 < len(words) < 1500


def test_human_instructions_have_the_crowds_format(files):
    rows = [row for entries in files["items_human_ins"].values() for row in entries]
    assert len(rows) == 1200
    for row in rows:
        assert all(attribute in row["instruction"] for attribute in row["instruction_attributes"])
        assert all(value in row["instruction"] for value in row["instruction_options"])


def test_bundled_data_is_made_once(tmp_path, monkeypatch):
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path))
    made = generate.ensure_bundled()
    assert made.is_relative_to(tmp_path)
    assert content_hash(made) == generate.BUNDLED_SHA256
    before = {path: path.stat().st_mtime_ns for path in made.iterdir()}
    assert generate.ensure_bundled() == made
    assert {path: path.stat().st_mtime_ns for path in made.iterdir()} == before
    assert [path.name for path in made.parent.iterdir()] == [made.name]


def test_a_data_root_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("SANDGYM_DATA", os.fspath(blocked / "data"))
    with pytest.raises(SandboxError, match="SANDGYM_DATA"):
        generate.ensure_bundled()
