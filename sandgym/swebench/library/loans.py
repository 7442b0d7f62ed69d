"""A library: books, readers, due days."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "loans",
    "Lends books: due days, fines, reservations.",
    r'''
### loans/catalogue.py
"""Books and copies."""


class Catalogue:
    """How many copies of each title there are and which are out."""

    def __init__(self):
        self.copies = {}
        self.out = {}

    def buy(self, title, number=1):
        """More copies of a title."""
        self.copies[title] = self.copies.get(title, 0) + number

    def on_shelf(self, title):
        """Copies that nobody has."""
        return self.copies.get(title, 0) - len(self.out.get(title, []))

    def lend(self, title, reader):
        """Give a copy to a reader, who may have one of each title."""
        if self.on_shelf(title) < 1:
            raise LookupError("no copy on the shelf")
        holders = self.out.setdefault(title, [])
        if reader in holders:
            raise ValueError("reader has a copy")
        holders.append(reader)

    def take_back(self, title, reader):
        """A copy comes back; tells whether it was out."""
        holders = self.out.get(title, [])
        if reader not in holders:
            return False
        holders.remove(reader)
        return True

    def held_by(self, reader):
        """Titles that a reader has, in order."""
        return sorted(title for title, holders in self.out.items() if reader in holders)

    def find(self, words):
        """Titles that have all words, in small or capital letters."""
        wanted = words.lower().split()
        return [title for title in sorted(self.copies) if all(word in title.lower() for word in wanted)]

### loans/days.py
"""Due days and fines, in whole days and cents."""


def due(day, weeks=«WEEKS», closed=()):
    """Day on which a book is due: the next one that is not closed."""
    day += 7 * weeks
    while day % 7 in closed:
        day += 1
    return day


def late(due_day, back):
    """Days that a book is late."""
    return max(back - due_day, 0)


def fine(days, rate=«RATE», most=500):
    """Fine in cents; the first day is free."""
    if days <= 1:
        return 0
    return min((days - 1) * rate, most)


def renewals(history, most=2):
    """How often a loan may still be renewed; a reminder ends it."""
    if "reminder" in history:
        return 0
    return max(most - history.count("renewal"), 0)

### loans/waiting.py
"""Lists of waiting readers."""


class WaitingList:
    """Readers who wait for titles, first come, first served."""

    def __init__(self, most=3):
        self.most = most
        self.lists = {}

    def join(self, title, reader):
        """Queue up; gives the place, counted from 1."""
        queue = self.lists.setdefault(title, [])
        if reader not in queue:
            if len(queue) >= self.most:
                raise OverflowError("too many wait")
            queue.append(reader)
        return queue.index(reader) + 1

    def serve(self, title):
        """The reader who is first, or None."""
        queue = self.lists.get(title)
        if not queue:
            return None
        return queue.pop(0)

    def leave(self, title, reader):
        """Give up waiting; tells whether the reader waited."""
        queue = self.lists.get(title, [])
        if reader in queue:
            queue.remove(reader)
            return True
        return False

    def longest(self):
        """Title for which most readers wait; None when nobody does."""
        best = None
        for title in sorted(self.lists):
            if self.lists[title] and (best is None or len(self.lists[title]) > len(self.lists[best])):
                best = title
        return best

### tests/test_catalogue.py
import unittest

from loans.catalogue import Catalogue


class CatalogueTest(unittest.TestCase):
    def test_buy(self):
        books = Catalogue()
        books.buy("Dune")
        books.buy("Dune", «N»)
        self.assertEqual(books.on_shelf("Dune"), «N + 1»)

    def test_unknown_title(self):
        self.assertEqual(Catalogue().on_shelf("Dune"), 0)

    def test_lend(self):
        books = Catalogue()
        books.buy("Dune", «N»)
        books.lend("Dune", "kim")
        self.assertEqual(books.on_shelf("Dune"), «N - 1»)

    def test_last_copy(self):
        books = Catalogue()
        books.buy("Dune")
        books.lend("Dune", "kim")
        self.assertEqual(books.out, {"Dune": ["kim"]})

    def test_no_copy(self):
        books = Catalogue()
        books.buy("Dune")
        books.lend("Dune", "kim")
        with self.assertRaises(LookupError):
            books.lend("Dune", "joe")

    def test_lend_twice(self):
        books = Catalogue()
        books.buy("Dune", «N»)
        books.lend("Dune", "kim")
        with self.assertRaises(ValueError):
            books.lend("Dune", "kim")

    def test_take_back(self):
        books = Catalogue()
        books.buy("Dune")
        books.lend("Dune", "kim")
        self.assertEqual(books.take_back("Dune", "kim"), True)
        self.assertEqual(books.on_shelf("Dune"), 1)

    def test_take_back_from_another(self):
        books = Catalogue()
        books.buy("Dune")
        books.lend("Dune", "kim")
        self.assertEqual(books.take_back("Dune", "joe"), False)
        self.assertEqual(books.on_shelf("Dune"), 0)

    def test_held_by(self):
        books = Catalogue()
        for title in ("Ulysses", "Dune", "Emma"):
            books.buy(title)
        books.lend("Ulysses", "kim")
        books.lend("Dune", "kim")
        books.lend("Emma", "joe")
        self.assertEqual(books.held_by("kim"), ["Dune", "Ulysses"])

    def test_find(self):
        books = Catalogue()
        books.buy("Red Mars")
        books.buy("Blue Mars")
        books.buy("Red Storm")
        self.assertEqual(books.find("mars RED"), ["Red Mars"])

    def test_find_several(self):
        books = Catalogue()
        books.buy("Red Mars")
        books.buy("Blue Mars")
        self.assertEqual(books.find("mars"), ["Blue Mars", "Red Mars"])

### tests/test_days.py
import unittest

from loans.days import due, fine, late, renewals


class DaysTest(unittest.TestCase):
    def test_due(self):
        self.assertEqual(due(10), «10 + 7 * WEEKS»)

    def test_due_in_a_week(self):
        self.assertEqual(due(10, 1), 17)

    def test_due_when_closed(self):
        self.assertEqual(due(6, 1, (6,)), 14)

    def test_due_when_closed_for_two_days(self):
        self.assertEqual(due(5, 1, (5, 6)), 14)

    def test_late(self):
        self.assertEqual(late(20, 24), 4)

    def test_not_late(self):
        self.assertEqual(late(20, 18), 0)

    def test_fine(self):
        self.assertEqual(fine(4), «3 * RATE»)

    def test_first_day_is_free(self):
        self.assertEqual(fine(1), 0)

    def test_no_fine(self):
        self.assertEqual(fine(0), 0)

    def test_second_day(self):
        self.assertEqual(fine(2), «RATE»)

    def test_largest_fine(self):
        self.assertEqual(fine(1000), 500)

    def test_own_rate(self):
        self.assertEqual(fine(5, 100, 350), 350)

    def test_renewals(self):
        self.assertEqual(renewals(["loan", "renewal"]), 1)

    def test_no_more_renewals(self):
        self.assertEqual(renewals(["renewal"] * 3), 0)

    def test_no_renewal_after_a_reminder(self):
        self.assertEqual(renewals(["loan", "reminder"]), 0)

    def test_own_renewals(self):
        self.assertEqual(renewals([], 5), 5)

### tests/test_waiting.py
import unittest

from loans.waiting import WaitingList


class WaitingListTest(unittest.TestCase):
    def test_join(self):
        waiting = WaitingList()
        self.assertEqual(waiting.join("Dune", "kim"), 1)
        self.assertEqual(waiting.join("Dune", "joe"), 2)

    def test_join_again(self):
        waiting = WaitingList()
        waiting.join("Dune", "kim")
        self.assertEqual(waiting.join("Dune", "kim"), 1)
        self.assertEqual(waiting.lists, {"Dune": ["kim"]})

    def test_too_many(self):
        waiting = WaitingList(1)
        waiting.join("Dune", "kim")
        with self.assertRaises(OverflowError):
            waiting.join("Dune", "joe")

    def test_join_again_when_full(self):
        waiting = WaitingList(1)
        waiting.join("Dune", "kim")
        self.assertEqual(waiting.join("Dune", "kim"), 1)

    def test_default_limit(self):
        waiting = WaitingList()
        for reader in ("kim", "joe", "ann"):
            waiting.join("Dune", reader)
        self.assertEqual(len(waiting.lists["Dune"]), 3)

    def test_serve(self):
        waiting = WaitingList()
        waiting.join("Dune", "kim")
        waiting.join("Dune", "joe")
        self.assertEqual(waiting.serve("Dune"), "kim")
        self.assertEqual(waiting.lists, {"Dune": ["joe"]})

    def test_serve_nobody(self):
        self.assertEqual(WaitingList().serve("Dune"), None)

    def test_leave(self):
        waiting = WaitingList()
        waiting.join("Dune", "kim")
        self.assertEqual(waiting.leave("Dune", "kim"), True)
        self.assertEqual(waiting.lists, {"Dune": []})

    def test_leave_without_waiting(self):
        self.assertEqual(WaitingList().leave("Dune", "kim"), False)

    def test_longest(self):
        waiting = WaitingList()
        waiting.join("Emma", "kim")
        waiting.join("Dune", "kim")
        waiting.join("Dune", "joe")
        self.assertEqual(waiting.longest(), "Dune")

    def test_first_of_equal_lists(self):
        waiting = WaitingList()
        waiting.join("Emma", "kim")
        waiting.join("Dune", "kim")
        self.assertEqual(waiting.longest(), "Dune")

    def test_longest_of_nothing(self):
        waiting = WaitingList()
        waiting.join("Emma", "kim")
        waiting.serve("Emma")
        self.assertEqual(waiting.longest(), None)
''',
    names={
        "loans": ("loans", "lending", "bookdesk"),
        "catalogue": ("catalogue", "holdings", "inventory"),
        "days": ("days", "deadlines", "periods"),
        "waiting": ("waiting", "queueing", "reservations"),
        "Catalogue": ("Catalogue", "Library", "Shelves"),
        "WaitingList": ("WaitingList", "Reservations", "Queues"),
        "on_shelf": ("on_shelf", "present", "in_house"),
        "lend": ("lend", "hand_out", "check_out"),
        "take_back": ("take_back", "check_in", "returned"),
        "held_by": ("held_by", "books_of", "loans_of"),
        "renewals": ("renewals", "extensions", "renewals_left"),
        "serve": ("serve", "next_reader", "call_up"),
        "holders": ("holders", "readers", "borrowers"),
        "kim": ("kim", "eva", "sam"),
        "joe": ("joe", "pat", "liz"),
    },
    constants={"WEEKS": (2, 3, 4), "RATE": (10, 20, 25), "N": (2, 3, 5)},
)
