"""Text templates with fields, filters and conditions."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "snippets",
    "Fills templates: fields in braces, filters, simple conditions.",
    r'''
### snippets/fields.py
"""Finding fields in a template."""


def pieces(template, opening="{", closing="}"):
    """Pairs of kind (text or field) and content; a doubled opening mark stands for itself."""
    found = []
    text = ""
    place = 0
    while place < len(template):
        if template.startswith(opening * 2, place):
            text += opening
            place += 2 * len(opening)
        elif template.startswith(opening, place):
            end = template.find(closing, place)
            if end < 0:
                raise ValueError("a field is not closed")
            if text:
                found.append(("text", text))
                text = ""
            found.append(("field", template[place + len(opening) : end]))
            place = end + len(closing)
        else:
            text += template[place]
            place += 1
    if text:
        found.append(("text", text))
    return found


def names(template):
    """Names of the fields, each once, in order."""
    seen = []
    for kind, content in pieces(template):
        name = content.split("|")[0].strip()
        if kind == "field" and name not in seen:
            seen.append(name)
    return seen

### snippets/filters.py
"""What can be done with a value."""


def plural(count, word):
    """A number with a word, which has an s unless there is one."""
    if count == 1:
        return "{} {}".format(count, word)
    return "{} {}s".format(count, word)


def clip(text, size=«SIZE»):
    """At most so many characters."""
    if len(text) > size:
        return text[: size - 1] + "~"
    return text


def title(text):
    """Each word with a capital letter; the other letters are small."""
    return " ".join(word[0].upper() + word[1:].lower() for word in text.split())


def listing(items, last=" and "):
    """Items with commas, and a word before the last one."""
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + last + items[-1]


FILTERS = {
    "upper": str.upper,
    "lower": str.lower,
    "title": title,
    "clip": clip,
    "trim": str.strip,
}

### snippets/fill.py
"""Filling templates."""

from snippets.fields import pieces
from snippets.filters import FILTERS


def lookup(values, name, default=""):
    """A value by its name; dots go into nested values."""
    value = values
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return default
        value = value[part]
    return str(value)


def fill(template, values, strict=False):
    """The template with values and filters, as in ``{name|upper}``."""
    result = ""
    for kind, content in pieces(template):
        if kind == "text":
            result += content
            continue
        name, *filters = [part.strip() for part in content.split("|")]
        value = lookup(values, name, None)
        if value is None:
            if strict:
                raise KeyError(name)
            value = ""
        for filter_name in filters:
            value = FILTERS[filter_name](value)
        result += value
    return result


def fill_lines(template, rows, separator="\n"):
    """The template once for each row."""
    return separator.join(fill(template, row) for row in rows)


def choose(values, name, yes, no=""):
    """One of two texts, by whether a value is there and not empty."""
    if lookup(values, name) not in ("", "0", "False"):
        return yes
    return no

### tests/test_fields.py
import unittest

from snippets.fields import names, pieces


class FieldsTest(unittest.TestCase):
    def test_pieces(self):
        self.assertEqual(pieces("Dear {who}!"), [("text", "Dear "), ("field", "who"), ("text", "!")])

    def test_only_text(self):
        self.assertEqual(pieces("Dear all"), [("text", "Dear all")])

    def test_two_fields(self):
        self.assertEqual(pieces("{a}{b}"), [("field", "a"), ("field", "b")])

    def test_doubled_mark(self):
        self.assertEqual(pieces("a {{b"), [("text", "a {b")])

    def test_own_marks(self):
        self.assertEqual(pieces("<%a%>.", "<%", "%>"), [("field", "a"), ("text", ".")])

    def test_not_closed(self):
        with self.assertRaises(ValueError):
            pieces("Dear {who")

    def test_nothing(self):
        self.assertEqual(pieces(""), [])

    def test_names(self):
        self.assertEqual(names("{b} and {a}, {b}"), ["b", "a"])

    def test_names_with_filters(self):
        self.assertEqual(names("{who | upper}"), ["who"])

### tests/test_filters.py
import unittest

from snippets.filters import clip, listing, plural, title


class FiltersTest(unittest.TestCase):
    def test_plural(self):
        self.assertEqual(plural(3, "cat"), "3 cats")

    def test_plural_of_one(self):
        self.assertEqual(plural(1, "cat"), "1 cat")

    def test_plural_of_zero(self):
        self.assertEqual(plural(0, "cat"), "0 cats")

    def test_clip(self):
        self.assertEqual(clip("elephant", 4), "ele~")

    def test_clip_that_fits(self):
        self.assertEqual(clip("cats", 4), "cats")

    def test_clip_default(self):
        self.assertEqual(len(clip("x" * 99)), «SIZE»)

    def test_title(self):
        self.assertEqual(title("two SMALL cats"), "Two Small Cats")

    def test_listing(self):
        self.assertEqual(listing(["a", "b", "c"]), "a, b and c")

    def test_listing_of_two(self):
        self.assertEqual(listing(["a", "b"]), "a and b")

    def test_listing_of_one(self):
        self.assertEqual(listing(["a"]), "a")

    def test_own_last_word(self):
        self.assertEqual(listing(["a", "b"], " or "), "a or b")

### tests/test_fill.py
import unittest

from snippets.fill import choose, fill, fill_lines, lookup


class FillTest(unittest.TestCase):
    def test_lookup(self):
        self.assertEqual(lookup({"age": 7}, "age"), "7")

    def test_lookup_nested(self):
        self.assertEqual(lookup({"a": {"b": "c"}}, "a.b"), "c")

    def test_lookup_missing(self):
        self.assertEqual(lookup({}, "age"), "")
        self.assertEqual(lookup({}, "age", "?"), "?")

    def test_lookup_too_deep(self):
        self.assertEqual(lookup({"a": "b"}, "a.b", "?"), "?")

    def test_fill(self):
        self.assertEqual(fill("Dear {who}!", {"who": "Ann"}), "Dear Ann!")

    def test_fill_with_filter(self):
        self.assertEqual(fill("{who|upper}", {"who": "Ann"}), "ANN")

    def test_fill_with_two_filters(self):
        self.assertEqual(fill("[{who|trim|lower}]", {"who": " Ann "}), "[ann]")

    def test_fill_title(self):
        self.assertEqual(fill("{who | title}", {"who": "ann lee"}), "Ann Lee")

    def test_fill_missing(self):
        self.assertEqual(fill("Dear {who}!", {}), "Dear !")

    def test_fill_strict(self):
        with self.assertRaises(KeyError):
            fill("Dear {who}!", {}, True)

    def test_fill_lines(self):
        self.assertEqual(fill_lines("- {n}", [{"n": 1}, {"n": 2}]), "- 1\n- 2")

    def test_fill_lines_separator(self):
        self.assertEqual(fill_lines("{n}", [{"n": 1}, {"n": 2}], ","), "1,2")

    def test_choose_yes(self):
        self.assertEqual(choose({"paid": True}, "paid", "thanks", "please"), "thanks")

    def test_choose_no(self):
        self.assertEqual(choose({"paid": False}, "paid", "thanks", "please"), "please")

    def test_choose_missing(self):
        self.assertEqual(choose({}, "paid", "thanks"), "")

    def test_choose_zero(self):
        self.assertEqual(choose({"paid": 0}, "paid", "thanks", "please"), "please")
''',
    names={
        "snippets": ("snippets", "letters", "mailtext"),
        "fields": ("fields", "slots", "holes"),
        "filters": ("filters", "modifiers", "formats"),
        "fill": ("fill", "render", "complete"),
        "pieces": ("pieces", "segments", "parts_of"),
        "plural": ("plural", "counted", "with_number"),
        "clip": ("clip", "cut", "limit"),
        "listing": ("listing", "enumeration", "join_words"),
        "lookup": ("lookup", "find_value", "get_path"),
        "fill_lines": ("fill_lines", "render_rows", "repeat"),
        "choose": ("choose", "pick", "either"),
        "who": ("who", "guest", "user"),
        "template": ("template", "pattern", "source"),
        "found": ("found", "result_list", "out"),
    },
    constants={"SIZE": (12, 20, 30)},
)
