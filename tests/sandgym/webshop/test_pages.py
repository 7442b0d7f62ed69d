"""Pages: the action grammar, the texts, and HTML that says the same."""

from __future__ import annotations

import re

import parsing
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shop import raw_product

from sandgym.webshop import pages, templates
from sandgym.webshop.products import parse_product

NASTY = [
    "",
    " ",
    "\n",
    " \n ",
    "  a  ",
    "\u00a0",
    "a & b < c > d \"e\" 'f'",
    "&amp;",
    "<b>x</b>",
    "\u2028",
    "é",
    "a\nb",
    "]]>",
]


def product(**changes):
    found = parse_product(raw_product("B1", **changes), {"B1": {"attributes": ["soft", ""]}}, {"B1": []})
    assert found is not None
    return found


@given(st.text(alphabet="ab[]\n .C", max_size=14))
def test_the_grammar_is_that_of_the_regular_expression(action):
    match = re.match(r"(.+)\[(.+)\]", action)
    assert pages.parse_action(action) == (match and (match[1], match[2].lower()))


def test_the_grammar_takes_linear_time():
    assert pages.parse_action("[" * 500_000) is None
    assert pages.parse_action("]" * 500_000) is None
    assert pages.parse_action("a" + "[" * 500_000 + "]") == ("a" + "[" * 499_998, "[")


def test_item_page():
    page = pages.item_page(product(customization_options={"Color": [{"value": "Red"}, {"value": "Blue"}]}), False)
    assert pages.text(page, "Buy it") == (
        "Instruction: [SEP] Buy it [SEP] Back to Search [SEP] < Prev [SEP] color [SEP] red [SEP] blue [SEP] Blue Lamp"
        " [SEP] Price: $25.0 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now"
    )
    assert page.clickables == (
        *("back to search", "< prev", "description", "features", "reviews", "buy now", "red", "blue"),
    )
    assert page.actions == tuple(f"click[{name}]" for name in page.clickables)


def test_item_page_with_attributes():
    page = pages.item_page(product(), True)
    assert page.clickables == (
        "back to search",
        "< prev",
        "description",
        "features",
        "reviews",
        "attributes",
        "buy now",
    )


def test_options_that_repeat_or_look_like_buttons_are_listed_once_where_they_came_first():
    groups = {"a": [{"value": "red"}, {"value": "features"}], "b": [{"value": "red"}, {"value": "search"}]}
    page = pages.item_page(product(customization_options=groups), False)
    assert page.clickables[-2:] == ("red", "search")
    assert page.targets["red"] == ("label", "b")
    assert "click[search]" not in page.actions


@pytest.mark.parametrize("value", ["a]b", "x[y", "two\nlines", ""])
def test_options_that_cannot_be_clicked_are_not_admissible(value):
    page = pages.item_page(product(customization_options={"a": [{"value": value}]}), False)
    reachable = pages.parse_action(f"click[{value}]") == ("click", value)
    assert value in page.clickables
    assert (f"click[{value}]" in page.actions) == reachable == (value == "a]b")


def test_sub_pages():
    def text(name, **changes):
        return pages.text(pages.sub_page(product(**changes), name), "Buy").removeprefix(
            "Instruction: [SEP] Buy [SEP] Back to Search [SEP] < Prev"
        )

    assert text("description") == " [SEP] A lamp for the desk."
    assert text("description", full_description="") == ""
    assert text("features", small_description=["one", "", "two"]) == " [SEP] one [SEP]  [SEP] two"
    assert text("features", small_description=["one", "\n"]) == " [SEP] one"
    assert text("reviews") == ""
    assert text("attributes") == " [SEP] soft [SEP]  [SEP] garden [SEP] desk lamps [SEP] Home › Lighting › Lamps"


def test_results_page_past_the_end():
    page = pages.results_page(7, 50, [])
    assert page.text == "Back to Search [SEP] Page 7 (Total results: 50) [SEP] < Prev [SEP] Next >"
    assert page.clickables == ("back to search", "< prev", "next >")


def test_options_on_the_last_page_are_sorted_and_escaped():
    page = pages.done_page("B1", {"size": '3\' <x> & "y"', "color": "×"}, 0.5)
    assert '{"color": "\\u00d7", "size": "3\\u0027 \\u003cx\\u003e \\u0026 \\"y\\""}' in page.text
    assert page.text.endswith("0.5 [SEP] Reward Details [SEP] None")


def test_clicked_marks_follow_the_address():
    page = pages.item_page(product(customization_options={"color": [{"value": "red"}, {"value": "color"}]}), False)
    shown = pages.text_rich(page, "Buy", 'http://x/{"color": "red"}', frozenset())
    assert shown.startswith("You have clicked color.\nYou have clicked red.\nInstruction:\nBuy\n")
    assert "  [clicked button] red [clicked button_]\n" in shown
    results = pages.results_page(1, 2, [product()])
    assert "\n\n[clicked button] B1 [clicked button_]\n" in pages.text_rich(results, "Buy", "", frozenset({"B1"}))
    assert "\n\n[button] B1 [button_]\n" in pages.text_rich(results, "Buy", "", frozenset())


@pytest.mark.parametrize("odd", NASTY)
def test_html_says_the_same_as_the_texts(odd):
    groups = {odd: [{"value": odd}, {"value": "red"}]}
    item = product(name=odd, full_description=odd, small_description=[odd, "x"], customization_options=groups)
    built = [pages.index_page(), pages.results_page(2, 11, [item]), pages.item_page(item, True)]
    built += [pages.sub_page(item, name) for name in pages.SUB_PAGES] + [pages.done_page("B1", {odd: odd}, 1.0)]
    for page in built:
        for instruction in ("Buy", odd):
            html = templates.html(page, instruction)
            assert parsing.text(html) == pages.text(page, instruction)
            url, visited = 'http://x/{"color": "red"}', frozenset({"B1"})
            assert parsing.text_rich(html, url, visited) == pages.text_rich(page, instruction, url, visited)
            assert parsing.available(html) == {
                "has_search_bar": page.has_search_bar,
                "clickables": list(page.clickables),
            }
