"""Conversion between units."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "units",
    "Converts lengths, temperatures and durations.",
    r'''
### units/length.py
"""Lengths in whole millimetres."""

MILLIMETRES = {
    "mm": 1,
    "cm": 10,
    "dm": 100,
    "m": 1000,
    "km": 1000000,
}


def to_millimetres(amount, unit="m"):
    """Millimetres in an amount of a unit."""
    key = unit.strip().lower()
    if key not in MILLIMETRES:
        raise KeyError(unit)
    return amount * MILLIMETRES[key]


def convert(amount, source, target):
    """An amount in another unit."""
    return to_millimetres(amount, source) / to_millimetres(1, target)


def longest(lengths):
    """The longest of several pairs of amount and unit; the first of equal ones."""
    best = None
    for amount, unit in lengths:
        if best is None or to_millimetres(amount, unit) > to_millimetres(*best):
            best = (amount, unit)
    return best

### units/temperature.py
"""Temperatures."""

ABSOLUTE_ZERO = -273


def to_fahrenheit(celsius):
    """Degrees Fahrenheit, rounded."""
    return round(celsius * 9 / 5 + 32)


def to_celsius(fahrenheit):
    """Degrees Celsius, rounded."""
    return round((fahrenheit - 32) * 5 / 9)


def to_kelvin(celsius):
    """Kelvin; nothing is colder than zero."""
    if celsius < ABSOLUTE_ZERO:
        raise ValueError("colder than absolute zero")
    return celsius - ABSOLUTE_ZERO


def feels(celsius, cold=«COLD», warm=«WARM»):
    """A word for a temperature."""
    if celsius <= cold:
        return "cold"
    elif celsius < warm:
        return "mild"
    elif celsius < warm + 10:
        return "warm"
    else:
        return "hot"

### units/duration.py
"""Durations in seconds."""

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse(text):
    """Seconds of a text such as ``1h 30m``."""
    total = 0
    for part in text.lower().split():
        total += int(part[:-1]) * SECONDS[part[-1]]
    return total


def show(seconds):
    """Hours, minutes and seconds, as in ``1:02:03``; no hours when there are none."""
    if seconds < 0:
        return "-" + show(-seconds)
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return "{}:{:02}:{:02}".format(hours, minutes, rest)
    return "{}:{:02}".format(minutes, rest)


def round_up(seconds, step=«STEP»):
    """The next multiple of a step."""
    return -(-seconds // step) * step

### tests/test_length.py
import unittest

from units.length import convert, longest, to_millimetres


class LengthTest(unittest.TestCase):
    def test_metres_by_default(self):
        self.assertEqual(to_millimetres(«N»), «1000 * N»)

    def test_centimetres(self):
        self.assertEqual(to_millimetres(«N», "cm"), «10 * N»)

    def test_decimetres(self):
        self.assertEqual(to_millimetres(«N», "dm"), «100 * N»)

    def test_kilometres(self):
        self.assertEqual(to_millimetres(2, "km"), 2000000)

    def test_upper_case(self):
        self.assertEqual(to_millimetres(«N», "CM"), «10 * N»)

    def test_space_around_the_unit(self):
        self.assertEqual(to_millimetres(«N», " mm "), «N»)

    def test_unknown_unit(self):
        with self.assertRaises(KeyError):
            to_millimetres(1, "foot")

    def test_convert(self):
        self.assertEqual(convert(«N», "km", "m"), «1000.0 * N»)

    def test_convert_to_a_larger_unit(self):
        self.assertEqual(convert(500, "mm", "m"), 0.5)

    def test_longest(self):
        self.assertEqual(longest([(1, "m"), (120, "cm"), (9, "mm")]), (120, "cm"))

    def test_longest_of_equal_ones(self):
        self.assertEqual(longest([(1, "m"), (100, "cm")]), (1, "m"))

    def test_longest_of_nothing(self):
        self.assertEqual(longest([]), None)

### tests/test_temperature.py
import unittest

from units.temperature import feels, to_celsius, to_fahrenheit, to_kelvin


class TemperatureTest(unittest.TestCase):
    def test_boiling(self):
        self.assertEqual(to_fahrenheit(100), 212)

    def test_freezing(self):
        self.assertEqual(to_celsius(32), 0)

    def test_body(self):
        self.assertEqual(to_fahrenheit(37), 99)
        self.assertEqual(to_celsius(99), 37)

    def test_kelvin(self):
        self.assertEqual(to_kelvin(20), 293)

    def test_absolute_zero(self):
        self.assertEqual(to_kelvin(-273), 0)

    def test_too_cold(self):
        with self.assertRaises(ValueError):
            to_kelvin(-274)

    def test_feels_cold(self):
        self.assertEqual(feels(«COLD»), "cold")

    def test_feels_mild(self):
        self.assertEqual(feels(«COLD + 1»), "mild")

    def test_feels_warm(self):
        self.assertEqual(feels(«WARM»), "warm")

    def test_feels_hot(self):
        self.assertEqual(feels(«WARM + 10»), "hot")

    def test_own_limits(self):
        self.assertEqual(feels(5, 6, 8), "cold")
        self.assertEqual(feels(17, 6, 8), "warm")

### tests/test_duration.py
import unittest

from units.duration import parse, round_up, show


class DurationTest(unittest.TestCase):
    def test_minutes(self):
        self.assertEqual(parse("«N»m"), «60 * N»)

    def test_parse_two_parts(self):
        self.assertEqual(parse("1h 30m"), 5400)

    def test_parse_days(self):
        self.assertEqual(parse("2d"), 172800)

    def test_parse_upper_case(self):
        self.assertEqual(parse("2H"), 7200)

    def test_show(self):
        self.assertEqual(show(3723), "1:02:03")

    def test_show_without_hours(self):
        self.assertEqual(show(125), "2:05")

    def test_show_a_full_hour(self):
        self.assertEqual(show(3600), "1:00:00")

    def test_show_negative(self):
        self.assertEqual(show(-61), "-1:01")

    def test_round_up(self):
        self.assertEqual(round_up(«STEP + 1»), «2 * STEP»)

    def test_round_up_a_multiple(self):
        self.assertEqual(round_up(«2 * STEP»), «2 * STEP»)

    def test_round_up_to_a_step(self):
        self.assertEqual(round_up(61, 30), 90)
''',
    names={
        "units": ("units", "measures", "convertor"),
        "length": ("length", "distance", "extent"),
        "temperature": ("temperature", "heat", "degrees"),
        "duration": ("duration", "timespan", "elapsed"),
        "MILLIMETRES": ("MILLIMETRES", "FACTORS", "IN_MM"),
        "convert": ("convert", "in_unit", "change"),
        "longest": ("longest", "largest", "maximum_of"),
        "feels": ("feels", "describe", "word_for"),
        "parse": ("parse", "read", "seconds_of"),
        "show": ("show", "clock", "as_text"),
        "round_up": ("round_up", "next_multiple", "ceil_to"),
        "amount": ("amount", "number", "quantity"),
    },
    constants={"COLD": (5, 8, 10), "WARM": (18, 20, 22), "STEP": (60, 300, 900), "N": (3, 4, 7, 12)},
)
