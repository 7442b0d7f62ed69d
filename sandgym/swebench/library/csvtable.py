"""Tables read from separated values."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "csvtable",
    "Reads tables of separated values, selects rows and sums them up.",
    r'''
### csvtable/parse.py
"""From text to rows."""


def split_line(line, separator=«SEP», quote='"'):
    """Cells of a line; a quoted cell may have separators, and doubled quotes mean one."""
    cells = []
    cell = ""
    quoted = False
    place = 0
    while place < len(line):
        char = line[place]
        if quoted and line[place : place + 2] == quote * 2:
            cell += quote
            place += 1
        elif char == quote:
            quoted = not quoted
        elif char == separator and not quoted:
            cells.append(cell)
            cell = ""
        else:
            cell += char
        place += 1
    cells.append(cell)
    return cells


def parse(text, separator=«SEP»):
    """Rows as dictionaries, with the names of the first line; empty lines are skipped."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    header = [name.strip().lower() for name in split_line(lines[0], separator)]
    rows = []
    for line in lines[1:]:
        cells = split_line(line, separator)
        if len(cells) != len(header):
            raise ValueError("wrong number of cells")
        rows.append(dict(zip(header, cells)))
    return rows


def number(cell, default=0):
    """A cell as a whole number; the default where it is empty."""
    cell = cell.strip()
    if cell == "" or cell == "-":
        return default
    return int(cell)

### csvtable/select.py
"""Choosing and ordering rows."""


def rows_with(rows, column, value):
    """Rows with a value in a column."""
    return [row for row in rows if row.get(column) == value]


def at_least(rows, column, least):
    """Rows whose number in a column is large enough."""
    return [row for row in rows if int(row[column]) >= least]


def order_by(rows, column, descending=False):
    """Rows by the numbers in a column; equal ones keep their order."""
    return sorted(rows, key=lambda row: int(row[column]), reverse=descending)


def page(rows, number, size=«SIZE»):
    """Rows of a page; pages are counted from 1."""
    if number < 1:
        raise IndexError("pages are counted from 1")
    start = (number - 1) * size
    return rows[start : start + size]


def distinct(rows, column):
    """Different values of a column, in the order in which they appear."""
    seen = []
    for row in rows:
        if row[column] not in seen:
            seen.append(row[column])
    return seen

### csvtable/summary.py
"""Sums and groups."""

from csvtable.parse import number
from csvtable.select import distinct, rows_with


def total(rows, column):
    """Sum of the numbers in a column."""
    return sum(number(row[column]) for row in rows)


def average(rows, column):
    """Mean of the numbers in a column; None without rows."""
    if not rows:
        return None
    return total(rows, column) / len(rows)


def group_totals(rows, by, column):
    """Sums of a column for each value of another one."""
    return {value: total(rows_with(rows, by, value), column) for value in distinct(rows, by)}


def largest_group(rows, by):
    """Value that most rows have; the first of equal ones."""
    best = None
    most = 0
    for value in distinct(rows, by):
        count = len(rows_with(rows, by, value))
        if count > most:
            best = value
            most = count
    return best

### tests/test_parse.py
import unittest

from csvtable.parse import number, parse, split_line


class ParseTest(unittest.TestCase):
    def test_split_line(self):
        self.assertEqual(split_line(«SEP.join("abc")»), ["a", "b", "c"])

    def test_split_empty_cells(self):
        self.assertEqual(split_line("a|||b", "|"), ["a", "", "", "b"])

    def test_split_quoted(self):
        self.assertEqual(split_line('a|"b|c"', "|"), ["a", "b|c"])

    def test_split_doubled_quotes(self):
        self.assertEqual(split_line('"a ""b"" c"|d', "|"), ['a "b" c', "d"])

    def test_split_own_quote(self):
        self.assertEqual(split_line("~a|b~|c", "|", "~"), ["a|b", "c"])

    def test_parse(self):
        self.assertEqual(parse("id|n\n1|2", "|"), [{"id": "1", "n": "2"}])

    def test_parse_default_separator(self):
        self.assertEqual(parse(«"id" + SEP + "n\n1" + SEP + "2"»), [{"id": "1", "n": "2"}])

    def test_parse_header(self):
        self.assertEqual(parse("Id | N\n1|2", "|"), [{"id": "1", "n": "2"}])

    def test_parse_empty_lines(self):
        self.assertEqual(parse("id\n\n1\n \n2", "|"), [{"id": "1"}, {"id": "2"}])

    def test_parse_nothing(self):
        self.assertEqual(parse("\n"), [])

    def test_parse_ragged(self):
        with self.assertRaises(ValueError):
            parse("id|n\n1", "|")

    def test_number(self):
        self.assertEqual(number(" 42 "), 42)

    def test_empty_number(self):
        self.assertEqual(number(" "), 0)
        self.assertEqual(number("", 7), 7)

    def test_dash_as_number(self):
        self.assertEqual(number("-", 7), 7)

### tests/test_select.py
import unittest

from csvtable.select import at_least, distinct, order_by, page, rows_with

ROWS = [
    {"town": "oslo", "age": "30"},
    {"town": "rome", "age": "9"},
    {"town": "oslo", "age": "12"},
]


class SelectTest(unittest.TestCase):
    def test_where(self):
        self.assertEqual(rows_with(ROWS, "town", "oslo"), [ROWS[0], ROWS[2]])

    def test_where_unknown_column(self):
        self.assertEqual(rows_with(ROWS, "size", "oslo"), [])

    def test_at_least(self):
        self.assertEqual(at_least(ROWS, "age", 13), [ROWS[0]])

    def test_at_least_exactly(self):
        self.assertEqual(at_least(ROWS, "age", 12), [ROWS[0], ROWS[2]])

    def test_order_by(self):
        self.assertEqual(order_by(ROWS, "age"), [ROWS[1], ROWS[2], ROWS[0]])

    def test_order_by_descending(self):
        self.assertEqual(order_by(ROWS, "age", True), [ROWS[0], ROWS[2], ROWS[1]])

    def test_page(self):
        self.assertEqual(page([1, 2, 3, 4, 5], 2, 2), [3, 4])

    def test_first_page(self):
        self.assertEqual(page([1, 2, 3, 4, 5], 1, 3), [1, 2, 3])

    def test_page_of_default_size(self):
        self.assertEqual(page(list(range(99)), 2), list(range(«SIZE», «2 * SIZE»)))

    def test_page_zero(self):
        with self.assertRaises(IndexError):
            page([1, 2, 3], 0)

    def test_distinct(self):
        self.assertEqual(distinct(ROWS, "town"), ["oslo", "rome"])

### tests/test_summary.py
import unittest

from csvtable.summary import average, group_totals, largest_group, total

ROWS = [
    {"town": "rome", "age": "30"},
    {"town": "oslo", "age": "9"},
    {"town": "oslo", "age": "12"},
]


class SummaryTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total(ROWS, "age"), 51)

    def test_total_with_empty_cell(self):
        self.assertEqual(total([{"n": "4"}, {"n": ""}], "n"), 4)

    def test_average(self):
        self.assertEqual(average(ROWS, "age"), 17.0)

    def test_average_of_nothing(self):
        self.assertEqual(average([], "age"), None)

    def test_group_totals(self):
        self.assertEqual(group_totals(ROWS, "town", "age"), {"rome": 30, "oslo": 21})

    def test_largest_group(self):
        self.assertEqual(largest_group(ROWS, "town"), "oslo")

    def test_first_of_equal_groups(self):
        self.assertEqual(largest_group(ROWS[:2], "town"), "rome")

    def test_no_group(self):
        self.assertEqual(largest_group([], "town"), None)
''',
    names={
        "csvtable": ("csvtable", "sheets", "tabular"),
        "parse": ("parse", "read_rows", "load"),
        "select": ("select", "choose", "query"),
        "summary": ("summary", "aggregate", "figures"),
        "split_line": ("split_line", "cells_of", "split_row"),
        "rows_with": ("rows_with", "matching", "filtered"),
        "at_least": ("at_least", "not_below", "minimum"),
        "order_by": ("order_by", "arranged", "sorted_by"),
        "distinct": ("distinct", "values_of", "different"),
        "average": ("average", "mean", "mean_of"),
        "group_totals": ("group_totals", "sums_by", "totals_by"),
        "largest_group": ("largest_group", "mode_of", "most_common"),
        "column": ("column", "field", "name_of"),
        "town": ("town", "place", "city"),
    },
    constants={"SEP": (",", ";"), "SIZE": (10, 20, 25)},
)
