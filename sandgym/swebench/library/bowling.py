"""Games and their scores: bowling, darts, dice."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "bowling",
    "Scores of bowling, darts and dice.",
    r'''
### bowling/pins.py
"""Bowling."""


def score(rolls):
    """Score of a whole game of ten frames."""
    total = 0
    place = 0
    for _ in range(10):
        if is_strike(rolls, place):
            total += 10 + rolls[place + 1] + rolls[place + 2]
            place += 1
        elif is_spare(rolls, place):
            total += 10 + rolls[place + 2]
            place += 2
        else:
            total += rolls[place] + rolls[place + 1]
            place += 2
    return total


def is_strike(rolls, place):
    """Whether all pins fall at once."""
    return rolls[place] == 10


def is_spare(rolls, place):
    """Whether all pins fall in two rolls."""
    return rolls[place] + rolls[place + 1] == 10


def read_rolls(text):
    """Numbers of pins from a text such as ``X 9/ 3-``."""
    rolls = []
    for mark in text.replace(" ", ""):
        if mark == "X":
            rolls.append(10)
        elif mark == "/":
            rolls.append(10 - rolls[-1])
        elif mark == "-":
            rolls.append(0)
        else:
            rolls.append(int(mark))
    return rolls

### bowling/darts.py
"""Darts, played down to zero."""

RINGS = {"s": 1, "d": 2, "t": 3}


def points(dart):
    """Points of a dart such as t20, d5, 7, bull or miss."""
    if dart == "bull":
        return 50
    if dart == "miss":
        return 0
    if dart[0] in RINGS:
        return RINGS[dart[0]] * int(dart[1:])
    return int(dart)


class Leg:
    """One player's way from the start to zero, which a double ends."""

    def __init__(self, start=«START»):
        self.left = start
        self.turns = 0

    def throw(self, darts):
        """Up to three darts; tells whether they count."""
        if len(darts) > 3:
            raise ValueError("three darts at most")
        self.turns += 1
        left = self.left
        for dart in darts:
            left -= points(dart)
            if left == 0 and (dart[0] == "d" or dart == "bull"):
                self.left = 0
                return True
            if left <= 1:
                return False
        self.left = left
        return True

    def won(self):
        """Whether nothing is left."""
        return self.left == 0

### bowling/dice.py
"""Five dice."""


def of_a_kind(dice, number):
    """The sum of all dice if so many are equal, else nothing."""
    if any(dice.count(eyes) >= number for eyes in dice):
        return sum(dice)
    return 0


def upper_half(dice, eyes):
    """Sum of the dice with some eyes."""
    return dice.count(eyes) * eyes


def row(dice):
    """The longest run of eyes that follow each other."""
    longest = 0
    for eyes in sorted(set(dice)):
        if eyes - 1 in dice:
            run += 1
        else:
            run = 1
        longest = max(longest, run)
    return longest


def straight(dice):
    """30 for four in a row, 40 for five."""
    if row(dice) >= 5:
        return 40
    if row(dice) == 4:
        return 30
    return 0


def bonus(sums, needed=«NEEDED», extra=35):
    """What is added for a good upper half."""
    return extra if sum(sums) >= needed else 0

### tests/test_pins.py
import unittest

from bowling.pins import is_spare, is_strike, read_rolls, score


class PinsTest(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(score([0] * 20), 0)

    def test_open_frames(self):
        self.assertEqual(score([«A», 4] * 10), «10 * A + 40»)

    def test_spare(self):
        self.assertEqual(score([6, 4, «A», 2] + [0] * 16), «12 + 2 * A»)

    def test_strike(self):
        self.assertEqual(score([10, «A», 2] + [0] * 16), «14 + 2 * A»)

    def test_perfect_game(self):
        self.assertEqual(score([10] * 12), 300)

    def test_spare_at_the_end(self):
        self.assertEqual(score([0] * 18 + [7, 3, 5]), 15)

    def test_is_strike(self):
        self.assertEqual(is_strike([3, 10], 1), True)

    def test_is_no_strike(self):
        self.assertEqual(is_strike([9, 1], 0), False)

    def test_is_spare(self):
        self.assertEqual(is_spare([9, 1], 0), True)

    def test_is_no_spare(self):
        self.assertEqual(is_spare([4, 5], 0), False)

    def test_read_strike(self):
        self.assertEqual(read_rolls("X 34"), [10, 3, 4])

    def test_read_spare(self):
        self.assertEqual(read_rolls("«A»/ 5"), [«A», «10 - A», 5])

    def test_read_miss(self):
        self.assertEqual(read_rolls("8- -1"), [8, 0, 0, 1])

### tests/test_darts.py
import unittest

from bowling.darts import Leg, points


class DartsTest(unittest.TestCase):
    def test_triple(self):
        self.assertEqual(points("t20"), 60)

    def test_double(self):
        self.assertEqual(points("d5"), 10)

    def test_single(self):
        self.assertEqual(points("s5"), 5)

    def test_plain(self):
        self.assertEqual(points("17"), 17)

    def test_bull(self):
        self.assertEqual(points("bull"), 50)

    def test_miss(self):
        self.assertEqual(points("miss"), 0)

    def test_start(self):
        self.assertEqual(Leg().left, «START»)

    def test_throw(self):
        leg = Leg()
        self.assertEqual(leg.throw(["t20", "5", "d1"]), True)
        self.assertEqual((leg.left, leg.turns), («START - 67», 1))

    def test_four_darts(self):
        with self.assertRaises(ValueError):
            Leg().throw(["1"] * 4)

    def test_end_with_a_double(self):
        leg = Leg(40)
        self.assertEqual(leg.throw(["d20"]), True)
        self.assertEqual(leg.won(), True)

    def test_end_with_the_bull(self):
        leg = Leg(60)
        leg.throw(["10", "bull"])
        self.assertEqual(leg.left, 0)

    def test_end_without_a_double(self):
        leg = Leg(20)
        self.assertEqual(leg.throw(["20"]), False)
        self.assertEqual(leg.left, 20)

    def test_too_much(self):
        leg = Leg(10)
        self.assertEqual(leg.throw(["t4"]), False)
        self.assertEqual((leg.left, leg.turns), (10, 1))

    def test_one_left(self):
        self.assertEqual(Leg(10).throw(["9"]), False)

    def test_two_left(self):
        self.assertEqual(Leg(10).throw(["8"]), True)

    def test_not_won(self):
        self.assertEqual(Leg(40).won(), False)

### tests/test_dice.py
import unittest

from bowling.dice import bonus, of_a_kind, row, straight, upper_half


class DiceTest(unittest.TestCase):
    def test_three_of_a_kind(self):
        self.assertEqual(of_a_kind([3, 3, 3, 5, 6], 3), 20)

    def test_four_of_a_kind(self):
        self.assertEqual(of_a_kind([2, 2, 2, 2, 1], 3), 9)

    def test_not_enough_of_a_kind(self):
        self.assertEqual(of_a_kind([3, 3, 1, 5, 6], 3), 0)

    def test_upper(self):
        self.assertEqual(upper_half([4, 4, 1, 4, 6], 4), 12)

    def test_upper_without(self):
        self.assertEqual(upper_half([4, 4, 1, 4, 6], 2), 0)

    def test_row(self):
        self.assertEqual(row([6, 2, 3, 4, 4]), 3)

    def test_row_of_one(self):
        self.assertEqual(row([5, 5, 5]), 1)

    def test_two_rows(self):
        self.assertEqual(row([1, 2, 3, 5, 6]), 3)

    def test_large_straight(self):
        self.assertEqual(straight([5, 3, 2, 4, 6]), 40)

    def test_small_straight(self):
        self.assertEqual(straight([1, 3, 2, 4, 6]), 30)

    def test_no_straight(self):
        self.assertEqual(straight([1, 3, 2, 5, 6]), 0)

    def test_bonus(self):
        self.assertEqual(bonus([«NEEDED»]), 35)

    def test_no_bonus(self):
        self.assertEqual(bonus([20, «NEEDED - 21»]), 0)

    def test_own_bonus(self):
        self.assertEqual(bonus([9], 5, 7), 7)
''',
    names={
        "bowling": ("bowling", "pubgames", "gamescore"),
        "pins": ("pins", "alley", "tenpin"),
        "darts": ("darts", "dartboard", "throwing"),
        "dice": ("dice", "cubes"),
        "Leg": ("Leg", "Player", "Countdown"),
        "is_strike": ("is_strike", "all_at_once", "strike_at"),
        "is_spare": ("is_spare", "all_in_two", "spare_at"),
        "read_rolls": ("read_rolls", "parse_rolls", "rolls_of"),
        "points": ("points", "value_of", "worth"),
        "throw": ("throw", "take_turn", "play"),
        "of_a_kind": ("of_a_kind", "equal_dice", "same_eyes"),
        "upper_half": ("upper_half", "sum_of_eyes", "count_eyes"),
        "straight": ("straight", "sequence_score", "run_score"),
        "bonus": ("bonus", "reward", "extra_points"),
    },
    constants={"START": (301, 501, 701), "NEEDED": (60, 63, 66), "A": (1, 3, 5)},
)
