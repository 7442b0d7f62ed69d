"""Simple codes: run lengths, shifted letters, check digits."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "codec",
    "Run lengths, shifted letters and check digits.",
    r'''
### codec/runs.py
"""Run-length code."""


def runs(text):
    """Pairs of letter and number for equal letters in a row."""
    found = []
    for letter in text:
        if found and found[-1][0] == letter:
            found[-1] = (letter, found[-1][1] + 1)
        else:
            found.append((letter, 1))
    return found


def compress(text, least=«LEAST»):
    """Runs as number and letter; runs that are too short stay as they are."""
    result = ""
    for letter, number in runs(text):
        if number >= least:
            result += str(number) + letter
        else:
            result += letter * number
    return result


def expand(code):
    """The text of a code."""
    text = ""
    number = ""
    for char in code:
        if char.isdigit():
            number += char
        else:
            text += char * int(number or 1)
            number = ""
    if number:
        raise ValueError("a number without a letter")
    return text


def longest_run(text):
    """The longest run as letter and number; the first of equal ones."""
    best = ("", 0)
    for run in runs(text):
        if run[1] > best[1]:
            best = run
    return best

### codec/shift.py
"""Letters moved in the alphabet."""


def shift_letter(letter, distance):
    """A small or capital letter moved; anything else stays."""
    for first in "aA":
        place = ord(letter) - ord(first)
        if 0 <= place < 26:
            return chr(ord(first) + (place + distance) % 26)
    return letter


def caesar(text, distance=«DISTANCE»):
    """All letters moved by one distance."""
    return "".join(shift_letter(letter, distance) for letter in text)


def undo_caesar(text, distance=«DISTANCE»):
    """The text before it was moved."""
    return caesar(text, -distance)


def vigenere(text, key, sign=1):
    """Letters moved by the letters of a key in turn; other characters use none up."""
    result = ""
    turn = 0
    for letter in text:
        if letter.isalpha():
            distance = ord(key[turn % len(key)].lower()) - ord("a")
            result += shift_letter(letter, sign * distance)
            turn += 1
        else:
            result += letter
    return result


def mirror(text):
    """The first letter of the alphabet becomes the last, and so on."""
    result = ""
    for letter in text:
        if letter.islower():
            letter = chr(ord("z") - (ord(letter) - ord("a")))
        result += letter
    return result

### codec/checks.py
"""Check digits."""


def luhn_sum(digits):
    """Sum in which each second digit from the right is doubled."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit)
        if place % 2 == 1:
            number *= 2
            if number > 9:
                number -= 9
        total += number
    return total


def luhn_valid(digits):
    """Whether a number with its check digit is right; spaces do not matter."""
    digits = digits.replace(" ", "")
    if len(digits) < 2 or not digits.isdigit():
        return False
    return luhn_sum(digits) % 10 == 0


def luhn_digit(digits):
    """The check digit that makes a number right."""
    return (10 - luhn_sum(digits + "0") % 10) % 10


def weighted(digits, weights=(1, 3)):
    """Check digit for weights that repeat, as on goods."""
    total = 0
    for place, digit in enumerate(digits):
        total += int(digit) * weights[place % len(weights)]
    return -total % 10


def parity(number):
    """Whether the number of ones among the bits is odd."""
    ones = 0
    while number:
        ones += number & 1
        number >>= 1
    return ones % 2 == 1

### tests/test_runs.py
import unittest

from codec.runs import compress, expand, longest_run, runs


class RunsTest(unittest.TestCase):
    def test_runs(self):
        self.assertEqual(runs("aab"), [("a", 2), ("b", 1)])

    def test_runs_of_nothing(self):
        self.assertEqual(runs(""), [])

    def test_runs_that_come_back(self):
        self.assertEqual(runs("aba"), [("a", 1), ("b", 1), ("a", 1)])

    def test_compress(self):
        self.assertEqual(compress("a" * «LEAST + 1» + "b"), "«LEAST + 1»ab")

    def test_compress_least(self):
        self.assertEqual(compress("a" * «LEAST»), "«LEAST»a")

    def test_compress_short(self):
        self.assertEqual(compress("aabbb", 3), "aa3b")

    def test_expand(self):
        self.assertEqual(expand("3ab2c"), "aaabcc")

    def test_expand_two_digits(self):
        self.assertEqual(expand("12a"), "a" * 12)

    def test_expand_without_letter(self):
        with self.assertRaises(ValueError):
            expand("3a2")

    def test_longest_run(self):
        self.assertEqual(longest_run("abbbcc"), ("b", 3))

    def test_first_of_equal_runs(self):
        self.assertEqual(longest_run("aabb"), ("a", 2))

    def test_longest_run_of_nothing(self):
        self.assertEqual(longest_run(""), ("", 0))

### tests/test_shift.py
import unittest

from codec.shift import caesar, mirror, shift_letter, undo_caesar, vigenere


class ShiftTest(unittest.TestCase):
    def test_shift(self):
        self.assertEqual(shift_letter("c", 2), "e")

    def test_shift_around(self):
        self.assertEqual(shift_letter("y", 3), "b")

    def test_shift_last_letter(self):
        self.assertEqual(shift_letter("z", 1), "a")

    def test_shift_capital(self):
        self.assertEqual(shift_letter("Y", 3), "B")

    def test_shift_other(self):
        self.assertEqual(shift_letter("!", 3), "!")

    def test_caesar(self):
        self.assertEqual(caesar("Abc, xyz", 1), "Bcd, yza")

    def test_caesar_default(self):
        self.assertEqual(caesar("a"), «chr(97 + DISTANCE)»)

    def test_undo(self):
        self.assertEqual(undo_caesar("Bcd, yza", 1), "Abc, xyz")

    def test_undo_default(self):
        self.assertEqual(undo_caesar(caesar("hello")), "hello")

    def test_vigenere(self):
        self.assertEqual(vigenere("aaaa", "abc"), "abca")

    def test_vigenere_key_in_capitals(self):
        self.assertEqual(vigenere("aa", "BC"), "bc")

    def test_vigenere_skips_spaces(self):
        self.assertEqual(vigenere("a a a", "bcd"), "b c d")

    def test_vigenere_backwards(self):
        self.assertEqual(vigenere("bcd", "bcd", -1), "aaa")

    def test_mirror(self):
        self.assertEqual(mirror("abz"), "zya")

    def test_mirror_keeps_others(self):
        self.assertEqual(mirror("A-b"), "A-y")

### tests/test_checks.py
import unittest

from codec.checks import luhn_digit, luhn_sum, luhn_valid, parity, weighted


class ChecksTest(unittest.TestCase):
    def test_luhn_sum(self):
        self.assertEqual(luhn_sum("123"), 8)

    def test_luhn_sum_of_large_digits(self):
        self.assertEqual(luhn_sum("90"), 9)
        self.assertEqual(luhn_sum("50"), 1)

    def test_valid(self):
        self.assertEqual(luhn_valid("4539 1488 0343 6467"), True)

    def test_not_valid(self):
        self.assertEqual(luhn_valid("8273 1232 7352 0569"), False)

    def test_too_short(self):
        self.assertEqual(luhn_valid("0"), False)

    def test_no_digits(self):
        self.assertEqual(luhn_valid("18x"), False)

    def test_short_but_valid(self):
        self.assertEqual(luhn_valid("18"), True)

    def test_digit(self):
        self.assertEqual(luhn_digit("7992739871"), 3)

    def test_digit_zero(self):
        self.assertEqual(luhn_digit("0"), 0)

    def test_weighted(self):
        self.assertEqual(weighted("400638133393"), 1)

    def test_weighted_with_own_weights(self):
        self.assertEqual(weighted("123", (2, 1)), 0)

    def test_odd_parity(self):
        self.assertEqual(parity(7), True)

    def test_even_parity(self):
        self.assertEqual(parity(10), False)

    def test_parity_of_zero(self):
        self.assertEqual(parity(0), False)
''',
    names={
        "codec": ("codec", "cipherbox", "encoding_kit"),
        "shift": ("shift", "alphabet", "substitution"),
        "checks": ("checks", "checkdigit", "control"),
        "compress": ("compress", "pack", "squeeze"),
        "expand": ("expand", "unpack", "inflate"),
        "longest_run": ("longest_run", "max_run", "best_run"),
        "shift_letter": ("shift_letter", "moved", "rotate"),
        "caesar": ("caesar", "encipher", "move_all"),
        "undo_caesar": ("undo_caesar", "decipher", "move_back"),
        "vigenere": ("vigenere", "with_key", "keyed"),
        "mirror": ("mirror", "atbash", "reflect"),
        "luhn_sum": ("luhn_sum", "doubled_sum", "mod_sum"),
        "luhn_valid": ("luhn_valid", "is_valid", "passes"),
        "luhn_digit": ("luhn_digit", "check_digit", "last_digit"),
        "distance": ("distance", "steps", "offset"),
    },
    constants={"LEAST": (2, 3, 4), "DISTANCE": (3, 5, 13)},
)
