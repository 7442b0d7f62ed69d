"""Closed-open ranges of numbers: joining, cutting, gaps."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "intervals",
    "Ranges of whole numbers that include their start and exclude their end.",
    r'''
### intervals/span.py
"""One range."""


class Span:
    """The whole numbers from start up to, but without, end."""

    def __init__(self, start, end):
        if end < start:
            raise ValueError("a span cannot end before it starts")
        self.start = start
        self.end = end

    def __eq__(self, other):
        return isinstance(other, Span) and self.start == other.start and self.end == other.end

    def __repr__(self):
        return "Span({}, {})".format(self.start, self.end)

    def length(self):
        """How many numbers the span has."""
        return self.end - self.start

    def contains(self, number):
        """Whether a number lies in the span."""
        return self.start <= number and number < self.end

    def overlaps(self, other):
        """Whether two spans share a number."""
        return self.start < other.end and other.start < self.end

    def touches(self, other):
        """Whether two spans overlap or follow each other without a gap."""
        return self.start <= other.end and other.start <= self.end

    def common(self, other):
        """The numbers in both spans, or None."""
        if not self.overlaps(other):
            return None
        return Span(max(self.start, other.start), min(self.end, other.end))

    def shift(self, distance):
        """The span moved to the right."""
        return Span(self.start + distance, self.end + distance)

### intervals/cover.py
"""Many spans at once."""

from intervals.span import Span


def merge(spans):
    """The same numbers in as few spans as possible, in order."""
    merged = []
    for span in sorted(spans, key=lambda span: span.start):
        if merged and merged[-1].touches(span):
            last = merged.pop()
            span = Span(last.start, max(last.end, span.end))
        merged.append(span)
    return merged


def gaps(spans, within):
    """Parts of a span that none of the others covers."""
    found = []
    place = within.start
    for span in merge(spans):
        if span.start > place:
            found.append(Span(place, min(span.start, within.end)))
        place = max(place, span.end)
        if place >= within.end:
            break
    if place < within.end:
        found.append(Span(place, within.end))
    return found


def covered(spans):
    """How many numbers lie in at least one span."""
    return sum(span.length() for span in merge(spans))


def subtract(span, hole):
    """What is left of a span without a hole."""
    rest = []
    if hole.start > span.start:
        rest.append(Span(span.start, min(hole.start, span.end)))
    if hole.end < span.end:
        rest.append(Span(max(hole.end, span.start), span.end))
    return rest

### intervals/reading.py
"""Spans as text."""

from intervals.span import Span


def parse(text):
    """A span from text such as ``3-7``; a single number is a span of one."""
    first, dash, last = text.strip().partition("-")
    if not dash:
        return Span(int(first), int(first) + 1)
    return Span(int(first), int(last) + 1)


def parse_list(text):
    """Spans that are separated by commas; empty parts are skipped."""
    return [parse(part) for part in text.split(",") if part.strip()]


def show(span):
    """The text that ``parse`` reads."""
    if span.length() == 1:
        return str(span.start)
    return "{}-{}".format(span.start, span.end - 1)

### tests/test_span.py
import unittest

from intervals.span import Span


class SpanTest(unittest.TestCase):
    def test_backwards(self):
        with self.assertRaises(ValueError):
            Span(5, 3)

    def test_empty(self):
        self.assertEqual(Span(5, 5).length(), 0)

    def test_length(self):
        self.assertEqual(Span(3, 10).length(), 7)

    def test_contains_inside(self):
        self.assertEqual(Span(3, 6).contains(4), True)

    def test_contains_start(self):
        self.assertEqual(Span(3, 6).contains(3), True)

    def test_contains_end(self):
        self.assertEqual(Span(3, 6).contains(6), False)

    def test_contains_outside(self):
        self.assertEqual(Span(3, 6).contains(2), False)

    def test_overlaps(self):
        self.assertEqual(Span(1, 5).overlaps(Span(4, 8)), True)

    def test_neighbours_do_not_overlap(self):
        self.assertEqual(Span(1, 5).overlaps(Span(5, 8)), False)
        self.assertEqual(Span(5, 8).overlaps(Span(1, 5)), False)

    def test_neighbours_touch(self):
        self.assertEqual(Span(1, 5).touches(Span(5, 8)), True)
        self.assertEqual(Span(5, 8).touches(Span(1, 5)), True)

    def test_far_spans_do_not_touch(self):
        self.assertEqual(Span(1, 4).touches(Span(5, 8)), False)

    def test_common(self):
        self.assertEqual(repr(Span(1, 6).common(Span(4, 9))), "Span(4, 6)")

    def test_nothing_in_common(self):
        self.assertEqual(Span(1, 4).common(Span(4, 9)), None)

    def test_shift(self):
        self.assertEqual(repr(Span(1, 4).shift(«MOVE»)), "Span(«1 + MOVE», «4 + MOVE»)")

    def test_different_ends(self):
        self.assertEqual(Span(1, 4) == Span(1, 5), False)

    def test_different_starts(self):
        self.assertEqual(Span(1, 4) == Span(2, 4), False)

### tests/test_cover.py
import unittest

from intervals.cover import covered, gaps, merge, subtract
from intervals.span import Span


class CoverTest(unittest.TestCase):
    def test_merge_overlapping(self):
        self.assertEqual(repr(merge([Span(1, 4), Span(3, 7)])), "[Span(1, 7)]")

    def test_merge_unsorted(self):
        self.assertEqual(repr(merge([Span(5, 7), Span(1, 3)])), "[Span(1, 3), Span(5, 7)]")

    def test_merge_neighbours(self):
        self.assertEqual(repr(merge([Span(1, 3), Span(3, 5)])), "[Span(1, 5)]")

    def test_merge_inner(self):
        self.assertEqual(repr(merge([Span(1, 9), Span(2, 4)])), "[Span(1, 9)]")

    def test_gap_in_the_middle(self):
        self.assertEqual(repr(gaps([Span(0, 3), Span(5, 9)], Span(0, 9))), "[Span(3, 5)]")

    def test_gap_at_the_end(self):
        self.assertEqual(repr(gaps([Span(0, 3)], Span(0, 9))), "[Span(3, 9)]")

    def test_gap_at_the_start(self):
        self.assertEqual(repr(gaps([Span(2, 9)], Span(0, 9))), "[Span(0, 2)]")

    def test_no_gap(self):
        self.assertEqual(gaps([Span(0, 12)], Span(0, 9)), [])

    def test_gap_beyond_the_end(self):
        self.assertEqual(repr(gaps([Span(12, 15)], Span(0, 9))), "[Span(0, 9)]")

    def test_covered(self):
        self.assertEqual(covered([Span(1, 4), Span(3, 7), Span(10, 12)]), 8)

    def test_hole_in_the_middle(self):
        self.assertEqual(repr(subtract(Span(0, 9), Span(3, 5))), "[Span(0, 3), Span(5, 9)]")

    def test_hole_at_the_start(self):
        self.assertEqual(repr(subtract(Span(0, 9), Span(0, 5))), "[Span(5, 9)]")

    def test_hole_at_the_end(self):
        self.assertEqual(repr(subtract(Span(0, 9), Span(6, 9))), "[Span(0, 6)]")

    def test_hole_elsewhere(self):
        self.assertEqual(repr(subtract(Span(4, 9), Span(0, 2))), "[Span(4, 9)]")

### tests/test_reading.py
import unittest

from intervals.reading import parse, parse_list, show
from intervals.span import Span


class ReadingTest(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(repr(parse("3-7")), "Span(3, 8)")

    def test_parse_one_number(self):
        self.assertEqual(repr(parse(" 4 ")), "Span(4, 5)")

    def test_parse_list(self):
        self.assertEqual(repr(parse_list("1-2, 9")), "[Span(1, 3), Span(9, 10)]")

    def test_parse_list_with_empty_parts(self):
        self.assertEqual(repr(parse_list("1,,2, ")), "[Span(1, 2), Span(2, 3)]")

    def test_show(self):
        self.assertEqual(show(Span(3, 8)), "3-7")

    def test_show_one_number(self):
        self.assertEqual(show(Span(4, 5)), "4")
''',
    names={
        "intervals": ("intervals", "ranges", "spans_lib"),
        "span": ("span", "piece", "segment"),
        "Span": ("Span", "Range", "Segment"),
        "cover": ("cover", "union", "combine"),
        "reading": ("reading", "notation", "textform"),
        "contains": ("contains", "holds", "includes"),
        "overlaps": ("overlaps", "meets", "crosses"),
        "touches": ("touches", "joins", "adjoins"),
        "common": ("common", "shared", "intersection"),
        "merge": ("merge", "unite", "normalize"),
        "gaps": ("gaps", "holes", "uncovered"),
        "subtract": ("subtract", "without", "cut"),
        "show": ("show", "write", "render"),
        "place": ("place", "position", "reached"),
    },
    constants={"MOVE": (3, 5, 10, 20)},
)
