"""Splitting source text into tokens."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "tokenizer",
    "Splits the text of a small language into tokens.",
    r'''
### tokenizer/scan.py
"""From characters to tokens."""

TWO = ("==", "!=", "<=", ">=", "->")


def scan(text, comment="#"):
    """Pairs of kind and text; spaces and comments are skipped."""
    tokens = []
    place = 0
    while place < len(text):
        char = text[place]
        if char.isspace():
            place += 1
        elif char == comment:
            place = end_of_line(text, place)
        elif char.isdigit():
            end = end_of_number(text, place)
            tokens.append(("number", text[place:end]))
            place = end
        elif char.isalpha() or char == "_":
            end = end_of_name(text, place)
            tokens.append(("name", text[place:end]))
            place = end
        elif text[place : place + 2] in TWO:
            tokens.append(("sign", text[place : place + 2]))
            place += 2
        else:
            tokens.append(("sign", char))
            place += 1
    return tokens


def end_of_line(text, place):
    """Where the line that a place is in ends."""
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def end_of_number(text, place):
    """Where a number ends; it may have one point."""
    points = 0
    while place < len(text) and (text[place].isdigit() or text[place] == "."):
        if text[place] == ".":
            points += 1
            if points > 1:
                break
        place += 1
    return place


def end_of_name(text, place):
    """Where a name of letters, digits and underscores ends."""
    while place < len(text) and (text[place].isalnum() or text[place] == "_"):
        place += 1
    return place

### tokenizer/stream.py
"""Reading tokens one by one."""


class Stream:
    """Tokens with a place."""

    def __init__(self, tokens):
        self.tokens = list(tokens)
        self.place = 0

    def done(self):
        """Whether all tokens are read."""
        return self.place >= len(self.tokens)

    def peek(self, ahead=0):
        """A token that is still to come, or None."""
        index = self.place + ahead
        if index >= len(self.tokens):
            return None
        return self.tokens[index]

    def next(self):
        """The next token, which is then read."""
        if self.done():
            raise EOFError("no more tokens")
        token = self.tokens[self.place]
        self.place += 1
        return token

    def accept(self, text):
        """Read the next token if it has this text; tells whether it had."""
        token = self.peek()
        if token is None or token[1] != text:
            return False
        self.place += 1
        return True

    def until(self, text):
        """Tokens before the next one with this text, which is read too."""
        found = []
        while not self.done() and not self.accept(text):
            found.append(self.next())
        return found

### tokenizer/brackets.py
"""Brackets and words."""

PAIRS = {")": "(", "]": "[", "}": "{"}


def balanced(tokens):
    """Whether each bracket is closed by its own kind, in order."""
    opened = []
    for _, text in tokens:
        if text in PAIRS.values():
            opened.append(text)
        elif text in PAIRS:
            if not opened or opened.pop() != PAIRS[text]:
                return False
    return not opened


def depth(tokens):
    """The largest number of brackets that are open at once."""
    now = 0
    most = 0
    for _, text in tokens:
        if text in PAIRS.values():
            now += 1
            most = max(most, now)
        elif text in PAIRS:
            now -= 1
    return most


def keywords(tokens, words=("if", "else", "while")):
    """The tokens, names that are words of the language marked as such."""
    return [("word", text) if kind == "name" and text in words else (kind, text) for kind, text in tokens]

### tests/test_scan.py
import unittest

from tokenizer.scan import end_of_line, end_of_name, end_of_number, scan


class ScanTest(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(scan("12 «N»"), [("number", "12"), ("number", "«N»")])

    def test_names(self):
        self.assertEqual(scan("width"), [("name", "width")])

    def test_name_with_underscore(self):
        self.assertEqual(scan("_x1"), [("name", "_x1")])

    def test_signs(self):
        self.assertEqual(scan("a+b"), [("name", "a"), ("sign", "+"), ("name", "b")])

    def test_two_signs(self):
        self.assertEqual(scan("a<=«N»"), [("name", "a"), ("sign", "<="), ("number", "«N»")])

    def test_arrow(self):
        self.assertEqual(scan("->x"), [("sign", "->"), ("name", "x")])

    def test_comment(self):
        self.assertEqual(scan("a # b\nc"), [("name", "a"), ("name", "c")])

    def test_own_comment(self):
        self.assertEqual(scan("a ; b", ";"), [("name", "a")])

    def test_end_of_line(self):
        self.assertEqual(end_of_line("ab\ncd", 1), 2)

    def test_end_of_last_line(self):
        self.assertEqual(end_of_line("ab\ncd", 4), 5)

    def test_end_of_number(self):
        self.assertEqual(end_of_number("3.75+", 0), 4)

    def test_two_points(self):
        self.assertEqual(end_of_number("1.2.3", 0), 3)

    def test_number_at_the_end(self):
        self.assertEqual(end_of_number("a«N»", 1), «1 + len(str(N))»)

    def test_end_of_name(self):
        self.assertEqual(end_of_name("top_«N» = 1", 0), «4 + len(str(N))»)

### tests/test_stream.py
import unittest

from tokenizer.stream import Stream

TOKENS = [("name", "width"), ("sign", "="), ("number", "«N»")]


class StreamTest(unittest.TestCase):
    def test_peek(self):
        self.assertEqual(Stream(TOKENS).peek(), ("name", "width"))

    def test_peek_ahead(self):
        self.assertEqual(Stream(TOKENS).peek(2), ("number", "«N»"))

    def test_peek_beyond(self):
        self.assertEqual(Stream(TOKENS).peek(3), None)

    def test_next(self):
        stream = Stream(TOKENS)
        stream.next()
        self.assertEqual(stream.next(), ("sign", "="))

    def test_next_at_the_end(self):
        with self.assertRaises(EOFError):
            Stream([]).next()

    def test_done(self):
        stream = Stream([("name", "width")])
        stream.next()
        self.assertEqual(stream.done(), True)

    def test_not_done(self):
        self.assertEqual(Stream(TOKENS).done(), False)

    def test_accept(self):
        stream = Stream(TOKENS)
        self.assertEqual(stream.accept("width"), True)
        self.assertEqual(stream.place, 1)

    def test_accept_other(self):
        stream = Stream(TOKENS)
        self.assertEqual(stream.accept("height"), False)
        self.assertEqual(stream.place, 0)

    def test_accept_at_the_end(self):
        self.assertEqual(Stream([]).accept("width"), False)

    def test_until(self):
        stream = Stream(TOKENS)
        self.assertEqual(stream.until("="), [("name", "width")])
        self.assertEqual(stream.peek(), ("number", "«N»"))

    def test_until_the_end(self):
        self.assertEqual(len(Stream(TOKENS).until("?")), 3)

### tests/test_brackets.py
import unittest

from tokenizer.brackets import balanced, depth, keywords
from tokenizer.scan import scan


class BracketsTest(unittest.TestCase):
    def test_balanced(self):
        self.assertEqual(balanced(scan("f(a[1], {b})")), True)

    def test_open_bracket(self):
        self.assertEqual(balanced(scan("f(a")), False)

    def test_closing_bracket_alone(self):
        self.assertEqual(balanced(scan("a)")), False)

    def test_wrong_bracket(self):
        self.assertEqual(balanced(scan("f(a]")), False)

    def test_depth(self):
        self.assertEqual(depth(scan("f(a[1])(b)")), 2)

    def test_no_depth(self):
        self.assertEqual(depth(scan("a b")), 0)

    def test_keywords(self):
        self.assertEqual(keywords(scan("if width")), [("word", "if"), ("name", "width")])

    def test_own_keywords(self):
        self.assertEqual(keywords(scan("if loop"), ("loop",)), [("name", "if"), ("word", "loop")])

    def test_only_names_are_keywords(self):
        self.assertEqual(keywords([("text", "if")]), [("text", "if")])
''',
    names={
        "tokenizer": ("tokenizer", "lexer", "scanner"),
        "scan": ("scan", "split_text", "tokens_of"),
        "stream": ("stream", "reader", "cursor"),
        "Stream": ("Stream", "Reader", "Cursor"),
        "brackets": ("brackets", "pairing", "nesting"),
        "peek": ("peek", "look", "coming"),
        "accept": ("accept", "match", "eat"),
        "until": ("until", "read_to", "up_to"),
        "balanced": ("balanced", "well_formed", "closed"),
        "depth": ("depth", "deepest", "levels"),
        "place": ("place", "position", "index_now"),
        "width": ("width", "speed", "total"),
        "found": ("found", "passed", "taken"),
    },
    constants={"N": (5, 42, 100, 365)},
)
