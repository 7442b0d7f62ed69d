"""Numerals of several kinds."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "roman",
    "Roman numerals, numbers in words and in other bases.",
    r'''
### roman/numerals.py
"""Roman numerals."""

VALUES = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)
LETTERS = {letters: value for value, letters in VALUES if len(letters) == 1}


def to_roman(number):
    """Roman numeral of a number from 1 to 3999."""
    if number < 1 or number > 3999:
        raise ValueError("out of range")
    text = ""
    for value, letters in VALUES:
        while number >= value:
            text += letters
            number -= value
    return text


def from_roman(text):
    """Number of a Roman numeral, in capital or small letters."""
    values = [LETTERS[letter] for letter in text.upper()]
    total = 0
    for place, value in enumerate(values):
        if place + 1 < len(values) and value < values[place + 1]:
            total -= value
        else:
            total += value
    return total


def is_roman(text):
    """Whether a text is a numeral as it should be written."""
    if not text or any(letter not in LETTERS for letter in text):
        return False
    return to_roman(from_roman(text)) == text

### roman/words.py
"""Numbers in words."""

SMALL = "zero one two three four five six seven eight nine ten eleven twelve".split()
TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def in_words(number):
    """A number below a million in words."""
    if number < 0:
        return "minus " + in_words(-number)
    if number < 13:
        return SMALL[number]
    if number < 20:
        return TEENS[number - 13]
    if number < 100:
        tens, rest = divmod(number, 10)
        return TENS[tens - 2] + ("-" + SMALL[rest] if rest else "")
    if number < 1000:
        return joined(number, 100, "hundred")
    return joined(number, 1000, "thousand")


def joined(number, unit, name):
    """Words for how many units there are, and for the rest."""
    count, rest = divmod(number, unit)
    text = in_words(count) + " " + name
    if rest:
        text += " " + in_words(rest)
    return text


def ordinal(number):
    """A number with its ending, such as 2nd."""
    if number % 100 in (11, 12, 13):
        return str(number) + "th"
    endings = {1: "st", 2: "nd", 3: "rd"}
    return str(number) + endings.get(number % 10, "th")

### roman/bases.py
"""Other bases."""

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def to_base(number, base=«BASE»):
    """Digits of a number in a base."""
    if base < 2 or base > 36:
        raise ValueError("unknown base")
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    number = abs(number)
    text = ""
    while number > 0:
        number, digit = divmod(number, base)
        text = DIGITS[digit] + text
    return sign + text


def from_base(text, base=«BASE»):
    """Number of the digits in a base; underscores are skipped."""
    number = 0
    for letter in text.lower().replace("_", ""):
        digit = DIGITS.index(letter)
        if digit >= base:
            raise ValueError("no such digit")
        number = number * base + digit
    return number


def digit_sum(number, base=10):
    """Sum of the digits."""
    total = 0
    while number > 0:
        total += number % base
        number //= base
    return total

### tests/test_numerals.py
import unittest

from roman.numerals import from_roman, is_roman, to_roman


class NumeralsTest(unittest.TestCase):
    def test_small(self):
        self.assertEqual(to_roman(3), "III")

    def test_four(self):
        self.assertEqual(to_roman(4), "IV")

    def test_nine(self):
        self.assertEqual(to_roman(9), "IX")

    def test_forty(self):
        self.assertEqual(to_roman(49), "XLIX")

    def test_ninety(self):
        self.assertEqual(to_roman(95), "XCV")

    def test_hundreds(self):
        self.assertEqual(to_roman(444), "CDXLIV")

    def test_year(self):
        self.assertEqual(to_roman(1987), "MCMLXXXVII")

    def test_largest(self):
        self.assertEqual(to_roman(3999), "MMMCMXCIX")

    def test_too_small(self):
        with self.assertRaises(ValueError):
            to_roman(0)

    def test_too_large(self):
        with self.assertRaises(ValueError):
            to_roman(4000)

    def test_from_roman(self):
        self.assertEqual(from_roman("XVI"), 16)

    def test_from_roman_subtracts(self):
        self.assertEqual(from_roman("CDXLIX"), 449)

    def test_from_small_letters(self):
        self.assertEqual(from_roman("mcx"), 1110)

    def test_is_roman(self):
        self.assertEqual(is_roman("XIV"), True)

    def test_is_not_roman(self):
        self.assertEqual(is_roman("XIIII"), False)

    def test_other_letters(self):
        self.assertEqual(is_roman("XAV"), False)

    def test_empty(self):
        self.assertEqual(is_roman(""), False)

### tests/test_words.py
import unittest

from roman.words import in_words, joined, ordinal


class WordsTest(unittest.TestCase):
    def test_small(self):
        self.assertEqual(in_words(7), "seven")

    def test_twelve(self):
        self.assertEqual(in_words(12), "twelve")

    def test_teens(self):
        self.assertEqual(in_words(13), "thirteen")
        self.assertEqual(in_words(19), "nineteen")

    def test_tens(self):
        self.assertEqual(in_words(20), "twenty")

    def test_tens_and_rest(self):
        self.assertEqual(in_words(84), "eighty-four")

    def test_hundreds(self):
        self.assertEqual(in_words(100), "one hundred")

    def test_hundreds_and_rest(self):
        self.assertEqual(in_words(315), "three hundred fifteen")

    def test_thousands(self):
        self.assertEqual(in_words(12005), "twelve thousand five")

    def test_joined(self):
        self.assertEqual(joined(36, 12, "dozen"), "three dozen")

    def test_negative(self):
        self.assertEqual(in_words(-5), "minus five")

    def test_first(self):
        self.assertEqual(ordinal(1), "1st")
        self.assertEqual(ordinal(21), "21st")

    def test_second_and_third(self):
        self.assertEqual(ordinal(2), "2nd")
        self.assertEqual(ordinal(33), "33rd")

    def test_eleventh(self):
        self.assertEqual(ordinal(11), "11th")
        self.assertEqual(ordinal(112), "112th")

    def test_thirteenth(self):
        self.assertEqual(ordinal(13), "13th")

    def test_fourth(self):
        self.assertEqual(ordinal(4), "4th")

### tests/test_bases.py
import unittest

from roman.bases import digit_sum, from_base, to_base


class BasesTest(unittest.TestCase):
    def test_to_base(self):
        self.assertEqual(to_base(255, 16), "ff")

    def test_to_default_base(self):
        self.assertEqual(to_base(«BASE»), "10")

    def test_zero(self):
        self.assertEqual(to_base(0), "0")

    def test_negative(self):
        self.assertEqual(to_base(-5, 2), "-101")

    def test_smallest_base(self):
        self.assertEqual(to_base(6, 2), "110")

    def test_largest_base(self):
        self.assertEqual(to_base(35, 36), "z")

    def test_base_too_small(self):
        with self.assertRaises(ValueError):
            to_base(5, 1)

    def test_base_too_large(self):
        with self.assertRaises(ValueError):
            to_base(5, 37)

    def test_from_base(self):
        self.assertEqual(from_base("ff", 16), 255)

    def test_from_default_base(self):
        self.assertEqual(from_base("11"), «BASE + 1»)

    def test_from_capitals(self):
        self.assertEqual(from_base("A1", 16), 161)

    def test_from_underscores(self):
        self.assertEqual(from_base("1_0", 2), 2)

    def test_no_such_digit(self):
        with self.assertRaises(ValueError):
            from_base("12", 2)

    def test_digit_sum(self):
        self.assertEqual(digit_sum(409), 13)

    def test_digit_sum_in_a_base(self):
        self.assertEqual(digit_sum(7, 2), 3)
''',
    names={
        "roman": ("roman", "numbering", "digitwork"),
        "numerals": ("numerals", "latin", "letters_of"),
        "words": ("words", "spelled", "english"),
        "bases": ("bases", "radix", "positional"),
        "to_roman": ("to_roman", "encode", "write_roman"),
        "from_roman": ("from_roman", "decode", "read_roman"),
        "is_roman": ("is_roman", "is_numeral", "well_written"),
        "in_words": ("in_words", "spell", "say"),
        "joined": ("joined", "with_unit", "composed"),
        "ordinal": ("ordinal", "rank_text", "nth"),
        "to_base": ("to_base", "digits_in", "format_in"),
        "from_base": ("from_base", "number_from", "parse_in"),
        "digit_sum": ("digit_sum", "cross_sum", "sum_digits"),
        "total": ("total", "result", "value_sum"),
    },
    constants={"BASE": (2, 3, 8)},
)
