"""Tournaments: results, tables, pairings."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "standings",
    "Results of matches, tables of teams and pairings.",
    r'''
### standings/results.py
"""Results of matches."""


def read_result(line):
    """Home team, away team and goals of a line such as ``Ajax - Porto 2:1``."""
    teams, _, goals = line.strip().rpartition(" ")
    home, _, away = teams.partition(" - ")
    first, colon, second = goals.partition(":")
    if not colon:
        raise ValueError("no goals")
    return home.strip(), away.strip(), int(first), int(second)


def outcome(own, other):
    """W for won, D for drawn or L for lost."""
    if own > other:
        return "W"
    elif own == other:
        return "D"
    return "L"


def form(results, team, last=«LAST»):
    """Letters of the last outcomes of a team, the newest at the end."""
    letters = ""
    for home, away, first, second in results:
        if home == team:
            letters += outcome(first, second)
        elif away == team:
            letters += outcome(second, first)
    return letters[-last:]


def streak(letters):
    """How many equal outcomes there are at the end."""
    count = 0
    for letter in reversed(letters):
        if letter != letters[-1]:
            break
        count += 1
    return count

### standings/table.py
"""Tables."""


class Row:
    """One team's matches."""

    def __init__(self, team):
        self.team = team
        self.played = 0
        self.points = 0
        self.scored = 0
        self.conceded = 0

    def enter(self, own, other, win=«WIN»):
        """Count a match."""
        self.played += 1
        self.scored += own
        self.conceded += other
        if own > other:
            self.points += win
        elif own == other:
            self.points += 1

    def difference(self):
        """Goals for less goals against."""
        return self.scored - self.conceded


def table(results, win=«WIN»):
    """Rows, the best first: by points, difference, goals and name."""
    rows = {}
    for home, away, first, second in results:
        rows.setdefault(home, Row(home)).enter(first, second, win)
        rows.setdefault(away, Row(away)).enter(second, first, win)
    return sorted(rows.values(), key=lambda row: (-row.points, -row.difference(), -row.scored, row.team))


def rank(results, team):
    """Place of a team, from 1; None for a team that has not played."""
    for place, row in enumerate(table(results), 1):
        if row.team == team:
            return place
    return None


def leaders(results):
    """Teams with the most points."""
    rows = table(results)
    return [row.team for row in rows if row.points == rows[0].points]

### standings/pairing.py
"""Who plays whom."""


def round_robin(teams):
    """Rounds in which all play each other once; a team may have to pause."""
    order = list(teams)
    if len(order) % 2 == 1:
        order.append(None)
    rounds = []
    for _ in range(len(order) - 1):
        pairs = []
        for i in range(len(order) // 2):
            pair = (order[i], order[-1 - i])
            if None not in pair:
                pairs.append(pair)
        rounds.append(pairs)
        order = [order[0], order[-1]] + order[1:-1]
    return rounds


def seeded(teams):
    """First against last, second against last but one, and so on."""
    half = len(teams) // 2
    return list(zip(teams[:half], reversed(teams[half:])))


def knockout_rounds(number):
    """Rounds until one of a number of teams is left."""
    if number < 1:
        raise ValueError("no teams")
    rounds = 0
    while number > 1:
        number = (number + 1) // 2
        rounds += 1
    return rounds


def byes(number):
    """Teams that skip the first round, so that a power of two is left."""
    size = 1
    while size < number:
        size *= 2
    return size - number

### tests/test_results.py
import unittest

from standings.results import form, outcome, read_result, streak

RESULTS = [("Ajax", "Porto", 2, 1), ("Lyon", "Ajax", 0, 0), ("Porto", "Lyon", 3, 1), ("Ajax", "Lyon", 0, 2)]


class ResultsTest(unittest.TestCase):
    def test_read(self):
        self.assertEqual(read_result("Ajax - Porto 2:1"), ("Ajax", "Porto", 2, 1))

    def test_read_long_names(self):
        self.assertEqual(read_result("Real Sol - FC Rio 0:10\n"), ("Real Sol", "FC Rio", 0, 10))

    def test_read_without_goals(self):
        with self.assertRaises(ValueError):
            read_result("Ajax - Porto 2")

    def test_won(self):
        self.assertEqual(outcome(«N», «N - 1»), "W")

    def test_drawn(self):
        self.assertEqual(outcome(«N», «N»), "D")

    def test_lost(self):
        self.assertEqual(outcome(«N», «N + 1»), "L")

    def test_form(self):
        self.assertEqual(form(RESULTS, "Ajax", 3), "WDL")

    def test_form_away(self):
        self.assertEqual(form(RESULTS[:1], "Porto"), "L")

    def test_form_of_the_last(self):
        self.assertEqual(form(RESULTS, "Ajax", 2), "DL")

    def test_form_default(self):
        self.assertEqual(len(form(RESULTS * 5, "Ajax")), «LAST»)

    def test_streak(self):
        self.assertEqual(streak("DWW"), 2)

    def test_streak_from_the_start(self):
        self.assertEqual(streak("LLL"), 3)

    def test_no_streak(self):
        self.assertEqual(streak(""), 0)

### tests/test_table.py
import unittest

from standings.table import Row, leaders, rank, table

RESULTS = [("Ajax", "Porto", 2, 1), ("Lyon", "Ajax", 0, 0), ("Porto", "Lyon", 3, 1)]


class TableTest(unittest.TestCase):
    def test_win(self):
        row = Row("Ajax")
        row.enter(«N», 0)
        self.assertEqual((row.played, row.points), (1, «WIN»))

    def test_draw(self):
        row = Row("Ajax")
        row.enter(«N», «N»)
        self.assertEqual((row.played, row.points), (1, 1))

    def test_loss(self):
        row = Row("Ajax")
        row.enter(0, «N»)
        self.assertEqual((row.played, row.points), (1, 0))

    def test_own_points(self):
        row = Row("Ajax")
        row.enter(1, 0, 5)
        self.assertEqual(row.points, 5)

    def test_goals(self):
        row = Row("Ajax")
        row.enter(«N», 1)
        row.enter(2, 1)
        self.assertEqual((row.scored, row.conceded), («N + 2», 2))

    def test_difference(self):
        row = Row("Ajax")
        row.enter(«N», 1)
        self.assertEqual(row.difference(), «N - 1»)

    def test_table(self):
        self.assertEqual([row.team for row in table(RESULTS)], ["Ajax", "Porto", "Lyon"])

    def test_by_difference(self):
        results = [("Ajax", "Porto", 1, 0), ("Lyon", "Oslo", 4, 1)]
        self.assertEqual([row.team for row in table(results)], ["Lyon", "Ajax", "Porto", "Oslo"])

    def test_by_goals(self):
        results = [("Ajax", "Porto", 1, 0), ("Lyon", "Oslo", 2, 1)]
        self.assertEqual([row.team for row in table(results)], ["Lyon", "Ajax", "Oslo", "Porto"])

    def test_by_name(self):
        results = [("Porto", "Ajax", 1, 1)]
        self.assertEqual([row.team for row in table(results)], ["Ajax", "Porto"])

    def test_rank(self):
        self.assertEqual(rank(RESULTS, "Porto"), 2)

    def test_no_rank(self):
        self.assertEqual(rank(RESULTS, "Oslo"), None)

    def test_leaders(self):
        self.assertEqual(leaders([("Porto", "Ajax", 1, 1)]), ["Ajax", "Porto"])

    def test_one_leader(self):
        self.assertEqual(leaders(RESULTS[:2]), ["Ajax"])

### tests/test_pairing.py
import unittest

from standings.pairing import byes, knockout_rounds, round_robin, seeded


class PairingTest(unittest.TestCase):
    def test_two_teams(self):
        self.assertEqual(round_robin(["a", "b"]), [[("a", "b")]])

    def test_four_teams(self):
        self.assertEqual(len(round_robin(["a", "b", "c", "d"])), 3)

    def test_first_round(self):
        self.assertEqual(round_robin(["a", "b", "c", "d"])[0], [("a", "d"), ("b", "c")])

    def test_second_round(self):
        self.assertEqual(round_robin(["a", "b", "c", "d"])[1], [("a", "c"), ("d", "b")])

    def test_three_teams(self):
        self.assertEqual(round_robin(["a", "b", "c"]), [[("b", "c")], [("a", "c")], [("a", "b")]])

    def test_seeded(self):
        self.assertEqual(seeded(["a", "b", "c", "d"]), [("a", "d"), ("b", "c")])

    def test_knockout(self):
        self.assertEqual(knockout_rounds(8), 3)

    def test_knockout_odd(self):
        self.assertEqual(knockout_rounds(5), 3)

    def test_knockout_of_one(self):
        self.assertEqual(knockout_rounds(1), 0)

    def test_knockout_of_nobody(self):
        with self.assertRaises(ValueError):
            knockout_rounds(0)

    def test_byes(self):
        self.assertEqual(byes(6), 2)

    def test_no_byes(self):
        self.assertEqual(byes(8), 0)
''',
    names={
        "standings": ("standings", "tournament", "leaguebook"),
        "results": ("results", "scores", "matchdays"),
        "table": ("table", "ranking", "listing"),
        "pairing": ("pairing", "draws", "fixtures"),
        "Row": ("Row", "Entry", "Record"),
        "read_result": ("read_result", "parse_match", "match_of"),
        "outcome": ("outcome", "letter_for", "verdict"),
        "streak": ("streak", "run_length", "series"),
        "difference": ("difference", "goal_balance", "margin"),
        "leaders": ("leaders", "front", "on_top"),
        "round_robin": ("round_robin", "all_rounds", "each_other"),
        "seeded": ("seeded", "folded", "cross_pairs"),
        "knockout_rounds": ("knockout_rounds", "rounds_needed", "cup_rounds"),
        "byes": ("byes", "free_places", "skipping"),
        "Ajax": ("Ajax", "Boca", "Bari"),
        "Porto": ("Porto", "Turin", "Sevilla"),
    },
    constants={"LAST": (4, 5, 6), "WIN": (2, 3), "N": (2, 3, 5)},
)
