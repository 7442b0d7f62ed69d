"""Raw rows as products: the option and price traps, and the JSON readers."""

from __future__ import annotations

import json
import lzma
import random

import pytest
from shop import SHOP, SHOP_INS, SHOP_NOUNS, raw_product

from sandgym.core import SandboxError
from sandgym.webshop import jsonfiles
from sandgym.webshop.jsonfiles import find_json, iter_json_array, read_json
from sandgym.webshop.products import (
    MemoryCatalogue,
    document_text,
    draw_price,
    iter_products,
    parse_price,
    parse_product,
)


def parsed(ins=None, **changes):
    product = parse_product(raw_product("B1", **changes), ins or {}, {"B1": ["lamp"]})
    assert product is not None
    return product


@pytest.mark.parametrize(
    ("pricing", "text", "values"),
    [
        ("$27.00", "$27.0", (27.0,)),
        ("$877.80", "$877.8", (877.8,)),
        ("$1,299.99", "$1299.99", (1299.99,)),
        ("$19.99$27.99", "$19.99 to $27.99", (19.99, 27.99)),
        ("$13.99 - $12.26", "$13.99 to $12.26", (13.99, 12.26)),
        ("$1$2$3", "$1.0 to $2.0", (1.0, 2.0)),
        ("", "$100.0", (100.0,)),
        (None, "$100.0", (100.0,)),
    ],
)
def test_price(pricing, text, values):
    assert parse_price(pricing) == (text, values)


@pytest.mark.parametrize("pricing", ["$", "$19.99$", "19.99", "$1.2.3", "$free"])
def test_unreadable_price_names_the_product(pricing):
    with pytest.raises(SandboxError, match="'B1' is malformed"):
        parsed(pricing=pricing)


def test_a_range_is_drawn_once_and_a_single_price_not_at_all():
    rng = random.Random(5)
    assert draw_price(parsed(pricing="$27"), rng) == 27.0
    assert draw_price(parsed(pricing="$13.99$12.26"), rng) == random.Random(5).uniform(13.99, 12.26)


def test_options():
    product = parsed(
        customization_options={
            "Size Name": [{"value": " 38/40 MM "}, {"value": "7 / 8"}, {"value": "A\u00a0B  C", "image": "x.jpg"}],
            "Nothing": None,
            "color": [],
        }
    )
    assert product.options == {"size name": ("38 | 40 mm", "7  |  8", "a\u00a0b  c"), "color": ()}
    assert list(product.options) == ["size name", "color"]
    assert product.option_images == {"a\u00a0b  c": "x.jpg"}


def test_a_later_option_group_of_the_same_lower_case_name_replaces_the_earlier():
    product = parsed(
        customization_options={"Size": [{"value": "1"}], "Color": [{"value": "2"}], "SIZE": [{"value": "3"}]}
    )
    assert product.options == {"size": ("3",), "color": ("2",)}


def test_bullets_may_be_one_string_or_missing():
    assert parsed(small_description="One line").bullets == ("One line",)
    assert parsed(small_description=None).bullets == ("",)
    assert parsed(small_description=[]).bullets == ()


def test_attributes_and_instruction():
    assert parsed().attributes == ("DUMMY_ATTR",)
    assert parsed().instruction is None
    assert parsed({"B1": {"attributes": []}}).attributes == ()
    product = parsed({"B1": {"attributes": ["a"], "instruction": "Find", "instruction_attributes": ["b"]}})
    assert (product.attributes, product.instruction, product.instruction_attributes) == (("a",), "Find", ("b",))


def test_query_is_lower_case_and_stripped():
    assert parsed(query=" Desk LAMPS\n").query == "desk lamps"


def test_skipped_and_repeated_rows():
    rows = [
        raw_product("nan"),
        raw_product("B0000000001"),
        raw_product("B1", name="first"),
        raw_product("B1", name="second"),
        raw_product("B2"),
    ]
    products = list(iter_products(rows, {}, {"B1": ["a"], "B2": ["b"]}))
    assert [(product.asin, product.title) for product in products] == [("B1", "first"), ("B2", "Blue Lamp")]


def test_missing_nouns_and_keys_are_errors_that_help():
    with pytest.raises(SandboxError, match=r"sandgym data build"):
        parse_product(raw_product("B9"), {}, {})
    row = raw_product("B1")
    del row["query"]
    with pytest.raises(SandboxError, match=r"'B1' is malformed: KeyError\('query'\)"):
        parse_product(row, {}, {"B1": []})


def test_document_text():
    shirt = list(iter_products(SHOP, SHOP_INS, SHOP_NOUNS))[2]
    assert document_text(shirt) == (
        "cotton shirt a lamp for the desk. bright light size: large, x-large, and fit: slim | tall"
    )


def test_catalogue():
    products = list(iter_products(SHOP, SHOP_INS, SHOP_NOUNS))
    catalogue = MemoryCatalogue(products, [1.0, 2.0, 3.0])
    assert len(catalogue) == 3
    assert catalogue[1] is products[1]
    assert (catalogue.index("B000000003"), catalogue.index("B9")) == (2, None)
    assert catalogue.price(2) == 3.0
    with pytest.raises(IndexError):
        catalogue[3]
    with pytest.raises(IndexError):
        catalogue[-1]
    with pytest.raises(ValueError, match="3 products but 1 prices"):
        MemoryCatalogue(products, [1.0])


VALUES = [{"a": [1, "é]}"]}, "x,y", 12.5, -3, True, None, [], {}, '\\"', 1234567]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize("indent", [None, 2])
def test_streaming_an_array_gives_its_elements_whatever_the_chunks(tmp_path, monkeypatch, chunk, indent):
    monkeypatch.setattr(jsonfiles, "_CHUNK", chunk)
    path = tmp_path / "x.json.xz"
    path.write_bytes(lzma.compress(json.dumps(VALUES, ensure_ascii=False, indent=indent).encode()))
    assert list(iter_json_array(path)) == VALUES
    path.write_bytes(lzma.compress(b" [ ] "))
    assert list(iter_json_array(path)) == []


@pytest.mark.parametrize("text", ["", "{}", '[{"a": 1}', '[{"a": 1},', "[1 2]", '[{"a": ', "[1, nope]"])
def test_a_damaged_array_is_an_error_that_names_the_file(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(SandboxError, match=r"x\.json is not readable as JSON"):
        list(iter_json_array(path))


def test_a_truncated_xz_file_is_an_error_that_names_the_file(tmp_path):
    whole = lzma.compress(json.dumps(VALUES * 1000).encode())
    (tmp_path / "x.json.xz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SandboxError, match=r"x\.json\.xz is not readable"):
        read_json(tmp_path, "x")
    with pytest.raises(SandboxError, match=r"x\.json\.xz is not readable"):
        list(iter_json_array(tmp_path / "x.json.xz"))


def test_finding_files(tmp_path):
    assert find_json(tmp_path, "prices") is None
    assert read_json(tmp_path, "prices") is None
    (tmp_path / "prices.json").write_text("{}")
    assert read_json(tmp_path, "prices") == {}
    (tmp_path / "prices.json.xz").write_bytes(lzma.compress(b"{}"))
    with pytest.raises(SandboxError, match="several files match"):
        read_json(tmp_path, "prices")
