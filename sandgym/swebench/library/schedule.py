"""Times of day, meetings and free slots."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "schedule",
    "Times of day in minutes, meetings and free time.",
    r'''
### schedule/clock.py
"""Times of day as minutes since midnight."""

DAY = 24 * 60


def parse_time(text):
    """Minutes of a time such as ``14:30``, ``2:30pm`` or ``9``."""
    text = text.strip().lower()
    half = 0
    if text.endswith("pm"):
        half = 12
    plain = text.rstrip("apm")
    hour, _, minute = plain.partition(":")
    hours = int(hour)
    if text != plain:
        hours = hours % 12 + half
    minutes = int(minute or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("no such time")
    return hours * 60 + minutes


def show_time(minutes):
    """A time as ``14:30``; what goes beyond midnight starts again."""
    hours, rest = divmod(minutes % DAY, 60)
    return "{:02}:{:02}".format(hours, rest)


def between(start, end):
    """Minutes from a time to the next occurrence of another."""
    return (end - start) % DAY


def round_to(minutes, step=«STEP»):
    """The nearest multiple of a step; a half goes up."""
    return (minutes + step // 2) // step * step

### schedule/meetings.py
"""Meetings in a day."""


class Agenda:
    """Meetings as triples of start, end and title, in order."""

    def __init__(self, opens=«OPENS * 60», closes=1080):
        self.opens = opens
        self.closes = closes
        self.meetings = []

    def clashes(self, start, end):
        """Titles of meetings at the same time."""
        return [title for begin, finish, title in self.meetings if begin < end and start < finish]

    def add(self, start, end, title):
        """Enter a meeting; tells whether there was time for it."""
        if end <= start:
            raise ValueError("a meeting ends after it starts")
        if start < self.opens or end > self.closes or self.clashes(start, end):
            return False
        self.meetings.append((start, end, title))
        self.meetings.sort()
        return True

    def cancel(self, title):
        """Remove meetings of a title; returns how many."""
        kept = [meeting for meeting in self.meetings if meeting[2] != title]
        removed = len(self.meetings) - len(kept)
        self.meetings = kept
        return removed

    def busy(self):
        """Minutes in meetings."""
        return sum(end - start for start, end, _ in self.meetings)

    def free(self, least=1):
        """Pairs of start and end of free times that are long enough."""
        found = []
        place = self.opens
        for start, end, _ in self.meetings:
            if start - place >= least:
                found.append((place, start))
            place = end
        if self.closes - place >= least:
            found.append((place, self.closes))
        return found

    def first_slot(self, length, after=0):
        """Start of the first free time of a length, or None."""
        for start, end in self.free(length):
            begin = max(start, after)
            if begin + length <= end:
                return begin
        return None

### schedule/calendar.py
"""Days and weeks."""

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year):
    """Whether a year has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in(month, year):
    """Days of a month."""
    if month < 1 or month > 12:
        raise ValueError("no such month")
    if month == 2 and is_leap(year):
        return 29
    return LENGTHS[month - 1]


def day_of_year(year, month, day):
    """Number of a day, from 1."""
    return sum(days_in(m, year) for m in range(1, month)) + day


def weekday(name, later):
    """The day of the week some days later."""
    return DAYS[(DAYS.index(name) + later) % 7]


def is_workday(name, saturday=False):
    """Whether people work; on Saturdays only where that is said."""
    if name == "sat":
        return saturday
    return name != "sun"

### tests/test_clock.py
import unittest

from schedule.clock import between, parse_time, round_to, show_time


class ClockTest(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(parse_time("14:30"), 870)

    def test_parse_hour(self):
        self.assertEqual(parse_time("9"), 540)

    def test_parse_pm(self):
        self.assertEqual(parse_time("2:30pm"), 870)

    def test_parse_am(self):
        self.assertEqual(parse_time("9:05 AM"), 545)

    def test_parse_noon(self):
        self.assertEqual(parse_time("12pm"), 720)

    def test_parse_midnight(self):
        self.assertEqual(parse_time("12am"), 0)

    def test_parse_last_minute(self):
        self.assertEqual(parse_time("23:59"), 1439)

    def test_no_such_hour(self):
        with self.assertRaises(ValueError):
            parse_time("24:00")

    def test_no_such_minute(self):
        with self.assertRaises(ValueError):
            parse_time("9:60")

    def test_show(self):
        self.assertEqual(show_time(«OPENS * 60 + 5»), "0«OPENS»:05")

    def test_show_beyond_midnight(self):
        self.assertEqual(show_time(1500), "01:00")

    def test_between(self):
        self.assertEqual(between(540, 600), 60)

    def test_between_over_midnight(self):
        self.assertEqual(between(1380, 60), 120)

    def test_round_to(self):
        self.assertEqual(round_to(«2 * STEP + 1»), «2 * STEP»)

    def test_round_half_up(self):
        self.assertEqual(round_to(45, 30), 60)

    def test_round_down(self):
        self.assertEqual(round_to(44, 30), 30)

### tests/test_meetings.py
import unittest

from schedule.meetings import Agenda


class AgendaTest(unittest.TestCase):
    def test_add(self):
        agenda = Agenda()
        self.assertEqual(agenda.add(600, 660, "plan"), True)
        self.assertEqual(agenda.meetings, [(600, 660, "plan")])

    def test_in_order(self):
        agenda = Agenda()
        agenda.add(700, 730, "demo")
        agenda.add(600, 660, "plan")
        self.assertEqual([title for _, _, title in agenda.meetings], ["plan", "demo"])

    def test_backwards(self):
        with self.assertRaises(ValueError):
            Agenda().add(660, 600, "plan")

    def test_no_length(self):
        with self.assertRaises(ValueError):
            Agenda().add(600, 600, "plan")

    def test_clash(self):
        agenda = Agenda()
        agenda.add(600, 660, "plan")
        self.assertEqual(agenda.add(630, 690, "demo"), False)
        self.assertEqual(agenda.clashes(630, 690), ["plan"])

    def test_one_after_the_other(self):
        agenda = Agenda()
        agenda.add(600, 660, "plan")
        self.assertEqual(agenda.add(660, 690, "demo"), True)
        self.assertEqual(agenda.add(570, 600, "talk"), True)

    def test_too_early(self):
        self.assertEqual(Agenda().add(«OPENS * 60 - 1», 700, "plan"), False)

    def test_at_the_opening(self):
        self.assertEqual(Agenda().add(«OPENS * 60», 700, "plan"), True)

    def test_too_late(self):
        self.assertEqual(Agenda().add(1000, 1081, "plan"), False)

    def test_until_the_end(self):
        self.assertEqual(Agenda().add(1000, 1080, "plan"), True)

    def test_cancel(self):
        agenda = Agenda()
        agenda.add(600, 660, "plan")
        agenda.add(700, 730, "demo")
        self.assertEqual(agenda.cancel("plan"), 1)
        self.assertEqual(agenda.meetings, [(700, 730, "demo")])

    def test_busy(self):
        agenda = Agenda()
        agenda.add(600, 660, "plan")
        agenda.add(700, 730, "demo")
        self.assertEqual(agenda.busy(), 90)

    def test_free(self):
        agenda = Agenda(540, 720)
        agenda.add(600, 660, "plan")
        self.assertEqual(agenda.free(), [(540, 600), (660, 720)])

    def test_free_long_enough(self):
        agenda = Agenda(540, 800)
        agenda.add(600, 660, "plan")
        self.assertEqual(agenda.free(61), [(660, 800)])

    def test_free_just_long_enough(self):
        agenda = Agenda(540, 720)
        agenda.add(600, 660, "plan")
        self.assertEqual(agenda.free(60), [(540, 600), (660, 720)])

    def test_first_slot(self):
        agenda = Agenda(540, 800)
        agenda.add(560, 660, "plan")
        self.assertEqual(agenda.first_slot(30), 660)

    def test_first_slot_after_a_time(self):
        self.assertEqual(Agenda(540, 800).first_slot(30, 600), 600)

    def test_no_slot(self):
        self.assertEqual(Agenda(540, 600).first_slot(30, 571), None)

    def test_last_slot(self):
        self.assertEqual(Agenda(540, 600).first_slot(30, 570), 570)

### tests/test_calendar.py
import unittest

from schedule.calendar import day_of_year, days_in, is_leap, is_workday, weekday


class CalendarTest(unittest.TestCase):
    def test_leap_year(self):
        self.assertEqual(is_leap(2024), True)

    def test_common_year(self):
        self.assertEqual(is_leap(2023), False)

    def test_century(self):
        self.assertEqual(is_leap(1900), False)

    def test_fourth_century(self):
        self.assertEqual(is_leap(2000), True)

    def test_days_in_april(self):
        self.assertEqual(days_in(4, 2023), 30)

    def test_days_in_february(self):
        self.assertEqual(days_in(2, 2023), 28)
        self.assertEqual(days_in(2, 2024), 29)

    def test_december(self):
        self.assertEqual(days_in(12, 2023), 31)

    def test_no_such_month(self):
        with self.assertRaises(ValueError):
            days_in(0, 2023)

    def test_month_13(self):
        with self.assertRaises(ValueError):
            days_in(13, 2023)

    def test_first_day(self):
        self.assertEqual(day_of_year(2023, 1, 1), 1)

    def test_day_of_year(self):
        self.assertEqual(day_of_year(2024, 3, 1), 61)

    def test_weekday(self):
        self.assertEqual(weekday("mon", 3), "thu")

    def test_weekday_next_week(self):
        self.assertEqual(weekday("fri", 5), "wed")

    def test_workday(self):
        self.assertEqual(is_workday("tue"), True)

    def test_sunday(self):
        self.assertEqual(is_workday("sun"), False)

    def test_saturday(self):
        self.assertEqual(is_workday("sat"), False)
        self.assertEqual(is_workday("sat", True), True)
''',
    names={
        "schedule": ("schedule", "planner", "dayplan"),
        "clock": ("clock", "daytime", "hours_of"),
        "meetings": ("meetings", "bookings", "appointments"),
        "calendar": ("calendar", "almanac", "dates"),
        "Agenda": ("Agenda", "Diary", "Room"),
        "parse_time": ("parse_time", "read_time", "minutes_of"),
        "show_time": ("show_time", "clock_text", "format_time"),
        "round_to": ("round_to", "nearest", "snap"),
        "clashes": ("clashes", "conflicts", "overlapping"),
        "cancel": ("cancel", "call_off", "drop"),
        "first_slot": ("first_slot", "earliest", "next_slot"),
        "is_leap": ("is_leap", "leap_year", "has_leap_day"),
        "weekday": ("weekday", "day_after", "day_name"),
        "plan": ("plan", "sync", "review"),
        "demo": ("demo", "lunch", "call"),
    },
    constants={"STEP": (10, 15, 30), "OPENS": (8, 9)},
)
