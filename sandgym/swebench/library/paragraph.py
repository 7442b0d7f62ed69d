"""Text laid out in lines of a width."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "paragraph",
    "Lays out plain text: wrapping, aligning, boxes.",
    r'''
### paragraph/wrap.py
"""Breaking text into lines."""


def wrap(text, width=«WIDTH»):
    """Lines of whole words that are at most ``width`` wide; a longer word has its own line."""
    if width < 1:
        raise ValueError("width must be positive")
    lines = []
    line = ""
    for word in text.split():
        if not line:
            line = word
        elif len(line) + 1 + len(word) <= width:
            line = line + " " + word
        else:
            lines.append(line)
            line = word
    if line:
        lines.append(line)
    return lines


def shorten(text, width, mark="..."):
    """The text, cut at the width; the mark shows that something is missing."""
    if len(text) <= width:
        return text
    return text[: width - len(mark)].rstrip() + mark


def indent(lines, spaces=«INDENT», first=0):
    """Lines with a margin, that of the first line extra."""
    if not lines:
        return []
    margin = " " * spaces
    rest = [margin + line if line else line for line in lines[1:]]
    return [" " * first + lines[0]] + rest

### paragraph/align.py
"""Lines at the right, in the middle, or in columns."""


def right(line, width):
    """The line at the right edge."""
    return " " * (width - len(line)) + line


def center(line, width):
    """The line in the middle; an odd space goes to the right."""
    space = max(width - len(line), 0)
    left = space // 2
    return " " * left + line + " " * (space - left)


def justify(line, width):
    """Spaces between words grow until the line is full, from the left."""
    words = line.split()
    if len(words) < 2:
        return line
    missing = width - sum(len(word) for word in words)
    share, extra = divmod(missing, len(words) - 1)
    result = words[0]
    for number, word in enumerate(words[1:]):
        result += " " * (share + (1 if number < extra else 0)) + word
    return result


def columns(rows, gap=2):
    """Rows of cells as lines, each column as wide as its widest cell."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        lines.append((" " * gap).join(cells).rstrip())
    return lines

### paragraph/box.py
"""Frames around lines."""


def box(lines, corner="+", padding=1):
    """Lines in a frame."""
    inner = max((len(line) for line in lines), default=0) + 2 * padding
    edge = corner + "-" * inner + corner
    space = " " * padding
    body = ["|" + space + line.ljust(inner - 2 * padding) + space + "|" for line in lines]
    return [edge] + body + [edge]


def underline(title, mark="="):
    """A title with a line below it; an empty title has none."""
    if not title:
        return []
    return [title, mark * len(title)]

### tests/test_wrap.py
import unittest

from paragraph.wrap import indent, shorten, wrap


class WrapTest(unittest.TestCase):
    def test_two_lines(self):
        self.assertEqual(wrap("green apples fall", 12), ["green apples", "fall"])

    def test_line_that_is_just_full(self):
        self.assertEqual(wrap("red sky", 7), ["red sky"])

    def test_long_word(self):
        self.assertEqual(wrap("a thunderstorm b", 5), ["a", "thunderstorm", "b"])

    def test_nothing(self):
        self.assertEqual(wrap("  "), [])

    def test_default_width(self):
        self.assertEqual(wrap("x" * «WIDTH - 2» + " y"), ["x" * «WIDTH - 2» + " y"])
        self.assertEqual(wrap("x" * «WIDTH - 1» + " y"), ["x" * «WIDTH - 1», "y"])

    def test_no_width(self):
        with self.assertRaises(ValueError):
            wrap("red sky", 0)

    def test_width_of_one(self):
        self.assertEqual(wrap("a b", 1), ["a", "b"])


class ShortenTest(unittest.TestCase):
    def test_short_text(self):
        self.assertEqual(shorten("green", 5), "green")

    def test_long_text(self):
        self.assertEqual(shorten("green apples", 9), "green...")
        self.assertEqual(shorten("green apples", 10), "green a...")

    def test_own_mark(self):
        self.assertEqual(shorten("green apples", 8, "~"), "green a~")


class IndentTest(unittest.TestCase):
    def test_first_line(self):
        self.assertEqual(indent(["red", "sky"], 3, 1), [" red", "   sky"])

    def test_default(self):
        self.assertEqual(indent(["red", "sky"]), ["red", «" " * INDENT + "sky"»])

    def test_empty_line_has_no_margin(self):
        self.assertEqual(indent(["red", "", "sky"], 2), ["red", "", "  sky"])

    def test_no_lines(self):
        self.assertEqual(indent([]), [])

### tests/test_align.py
import unittest

from paragraph.align import center, columns, justify, right


class AlignTest(unittest.TestCase):
    def test_right(self):
        self.assertEqual(right("sky", 6), "   sky")

    def test_center(self):
        self.assertEqual(center("sky", 7), "  sky  ")

    def test_center_odd(self):
        self.assertEqual(center("sky", 6), " sky  ")

    def test_center_too_long(self):
        self.assertEqual(center("evening", 5), "evening")

    def test_justify(self):
        self.assertEqual(justify("a bc d", 10), "a   bc   d")

    def test_justify_odd(self):
        self.assertEqual(justify("a b c", 8), "a   b  c")

    def test_justify_one_word(self):
        self.assertEqual(justify("evening", 12), "evening")

    def test_columns(self):
        rows = [["id", "name"], ["1", "ann"], ["200", "bo"]]
        self.assertEqual(columns(rows), ["id   name", "1    ann", "200  bo"])

    def test_columns_with_gap(self):
        self.assertEqual(columns([["a", "b"], ["cc", "d"]], 1), ["a  b", "cc d"])

### tests/test_box.py
import unittest

from paragraph.box import box, underline


class BoxTest(unittest.TestCase):
    def test_box(self):
        self.assertEqual(box(["red", "sky blue"]), ["+----------+", "| red      |", "| sky blue |", "+----------+"])

    def test_no_padding(self):
        self.assertEqual(box(["ab"], "*", 0), ["*--*", "|ab|", "*--*"])

    def test_empty_box(self):
        self.assertEqual(box([]), ["+--+", "+--+"])

    def test_underline(self):
        self.assertEqual(underline("Sky"), ["Sky", "==="])

    def test_underline_with_mark(self):
        self.assertEqual(underline("Sky", "~"), ["Sky", "~~~"])

    def test_no_title(self):
        self.assertEqual(underline(""), [])
''',
    names={
        "paragraph": ("paragraph", "textlayout", "lineup"),
        "wrap": ("wrap", "fold", "break_lines"),
        "shorten": ("shorten", "ellipsis", "truncate"),
        "indent": ("indent", "hang", "margined"),
        "align": ("align", "arrange", "placing"),
        "justify": ("justify", "stretch", "spread"),
        "center": ("center", "middle", "centered"),
        "columns": ("columns", "table_lines", "tabulate"),
        "box": ("box", "frame", "boxed"),
        "underline": ("underline", "heading", "headline"),
        "mark": ("mark", "sign", "symbol"),
        "padding": ("padding", "inset", "spacing"),
        "margin": ("margin", "blank", "prefix"),
    },
    constants={"WIDTH": (40, 60, 72, 79), "INDENT": (2, 4, 8)},
)
