"""Stock of a warehouse: counting, reserving, ordering again."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "inventory",
    "Counts what lies on the shelves and says what to order.",
    r'''
### stockroom/shelf.py
"""Shelves that hold counted articles."""


class Shelf:
    """Counts of articles, up to a capacity."""

    def __init__(self, capacity=«CAPACITY»):
        self.capacity = capacity
        self.counts = {}
        self.reserved = {}

    def total(self):
        """How many pieces lie on the shelf."""
        return sum(self.counts.values())

    def room(self):
        """How many more pieces fit."""
        return self.capacity - self.total()

    def add(self, article, pieces=1):
        """Put pieces on the shelf."""
        if pieces < 1:
            raise ValueError("pieces must be positive")
        if pieces > self.room():
            raise OverflowError("the shelf is full")
        self.counts[article] = self.counts.get(article, 0) + pieces

    def free(self, article):
        """Pieces of an article that nobody has reserved."""
        return self.counts.get(article, 0) - self.reserved.get(article, 0)

    def reserve(self, article, pieces):
        """Keep pieces for somebody; tells whether there were enough."""
        if pieces > self.free(article):
            return False
        self.reserved[article] = self.reserved.get(article, 0) + pieces
        return True

    def take(self, article, pieces):
        """Remove pieces that are free."""
        if pieces > self.free(article):
            raise LookupError("not enough free pieces")
        self.counts[article] -= pieces
        if self.counts[article] == 0:
            del self.counts[article]

### stockroom/orders.py
"""What to order, and in which lots."""


def shortage(shelf, targets):
    """Pieces that are missing to reach the targets, by article."""
    missing = {}
    for article, target in targets.items():
        gap = target - shelf.free(article)
        if gap > 0:
            missing[article] = gap
    return missing


def lots(pieces, lot_size=«LOT»):
    """How many whole lots cover a number of pieces."""
    if lot_size <= 0:
        raise ValueError("lot_size must be positive")
    return (pieces + lot_size - 1) // lot_size


def order_list(shelf, targets, lot_size=«LOT»):
    """Pairs of article and lots, the largest order first."""
    orders = [(article, lots(gap, lot_size)) for article, gap in shortage(shelf, targets).items()]
    return sorted(orders, key=lambda order: (-order[1], order[0]))

### stockroom/prices.py
"""What stock is worth."""


def value(shelf, prices, fallback=0):
    """Worth of all pieces; articles without a price count with the fallback."""
    worth = 0
    for article, pieces in shelf.counts.items():
        worth += pieces * prices.get(article, fallback)
    return worth


def discount(price, pieces, threshold=«THRESHOLD», percent=10):
    """Price of an order; many pieces are cheaper."""
    full = price * pieces
    if pieces >= threshold:
        return full - full * percent // 100
    return full

### tests/test_shelf.py
import unittest

from stockroom.shelf import Shelf


class ShelfTest(unittest.TestCase):
    def test_add_twice(self):
        shelf = Shelf()
        shelf.add("bolt", 3)
        shelf.add("bolt", 2)
        self.assertEqual(shelf.counts, {"bolt": 5})

    def test_add_one_by_default(self):
        shelf = Shelf()
        shelf.add("hinge")
        self.assertEqual(shelf.counts, {"hinge": 1})

    def test_add_nothing(self):
        shelf = Shelf()
        with self.assertRaises(ValueError):
            shelf.add("bolt", 0)

    def test_fill_exactly(self):
        shelf = Shelf(4)
        shelf.add("bolt", 4)
        self.assertEqual(shelf.room(), 0)

    def test_too_much(self):
        shelf = Shelf(4)
        shelf.add("bolt", 3)
        with self.assertRaises(OverflowError):
            shelf.add("hinge", 2)

    def test_default_capacity(self):
        self.assertEqual(Shelf().room(), «CAPACITY»)

    def test_total_of_two_articles(self):
        shelf = Shelf()
        shelf.add("bolt", 3)
        shelf.add("hinge", 4)
        self.assertEqual(shelf.total(), 7)
        self.assertEqual(shelf.room(), «CAPACITY - 7»)

    def test_reserve(self):
        shelf = Shelf()
        shelf.add("bolt", 5)
        self.assertEqual(shelf.reserve("bolt", 3), True)
        self.assertEqual(shelf.free("bolt"), 2)

    def test_reserve_all(self):
        shelf = Shelf()
        shelf.add("bolt", 5)
        self.assertEqual(shelf.reserve("bolt", 5), True)

    def test_reserve_too_many(self):
        shelf = Shelf()
        shelf.add("bolt", 2)
        self.assertEqual(shelf.reserve("bolt", 3), False)
        self.assertEqual(shelf.free("bolt"), 2)

    def test_reserve_twice(self):
        shelf = Shelf()
        shelf.add("bolt", 6)
        shelf.reserve("bolt", 2)
        shelf.reserve("bolt", 3)
        self.assertEqual(shelf.free("bolt"), 1)

    def test_take(self):
        shelf = Shelf()
        shelf.add("bolt", 5)
        shelf.take("bolt", 2)
        self.assertEqual(shelf.counts, {"bolt": 3})

    def test_take_all(self):
        shelf = Shelf()
        shelf.add("bolt", 2)
        shelf.take("bolt", 2)
        self.assertEqual(shelf.counts, {})

    def test_take_reserved(self):
        shelf = Shelf()
        shelf.add("bolt", 2)
        shelf.reserve("bolt", 1)
        with self.assertRaises(LookupError):
            shelf.take("bolt", 2)

### tests/test_orders.py
import unittest

from stockroom.orders import lots, order_list, shortage
from stockroom.shelf import Shelf


class OrdersTest(unittest.TestCase):
    def test_shortage(self):
        shelf = Shelf()
        shelf.add("bolt", 3)
        self.assertEqual(shortage(shelf, {"bolt": 8, "hinge": 1}), {"bolt": 5, "hinge": 1})

    def test_no_shortage(self):
        shelf = Shelf()
        shelf.add("bolt", 3)
        self.assertEqual(shortage(shelf, {"bolt": 3}), {})

    def test_reserved_pieces_are_missing(self):
        shelf = Shelf()
        shelf.add("bolt", 3)
        shelf.reserve("bolt", 2)
        self.assertEqual(shortage(shelf, {"bolt": 3}), {"bolt": 2})

    def test_lots(self):
        self.assertEqual(lots(«LOT»), 1)
        self.assertEqual(lots(«LOT + 1»), 2)

    def test_no_lots(self):
        self.assertEqual(lots(0, 4), 0)

    def test_lot_of_nothing(self):
        with self.assertRaises(ValueError):
            lots(5, 0)

    def test_largest_order_first(self):
        targets = {"bolt": 2, "hinge": 9}
        self.assertEqual(order_list(Shelf(), targets, 2), [("hinge", 5), ("bolt", 1)])

    def test_equal_orders_by_name(self):
        targets = {"zipper": 2, "anchor": 2}
        self.assertEqual(order_list(Shelf(), targets, 2), [("anchor", 1), ("zipper", 1)])

### tests/test_prices.py
import unittest

from stockroom.prices import discount, value
from stockroom.shelf import Shelf


class PricesTest(unittest.TestCase):
    def test_value(self):
        shelf = Shelf()
        shelf.add("bolt", 3)
        shelf.add("hinge", 2)
        self.assertEqual(value(shelf, {"bolt": 5, "hinge": 7}), 29)

    def test_value_without_price(self):
        shelf = Shelf()
        shelf.add("bolt", 3)
        self.assertEqual(value(shelf, {}), 0)
        self.assertEqual(value(shelf, {}, 2), 6)

    def test_few_pieces(self):
        self.assertEqual(discount(10, «THRESHOLD - 1»), «10 * (THRESHOLD - 1)»)

    def test_many_pieces(self):
        self.assertEqual(discount(10, «THRESHOLD»), «9 * THRESHOLD»)

    def test_percent(self):
        self.assertEqual(discount(7, 3, 2, 50), 11)
''',
    names={
        "stockroom": ("stockroom", "depot", "storehouse"),
        "shelf": ("shelf", "rack", "bay"),
        "Shelf": ("Shelf", "Rack", "Storage"),
        "orders": ("orders", "purchase", "supply"),
        "prices": ("prices", "worth_of", "costs"),
        "bolt": ("bolt", "screw", "lamp", "brush"),
        "hinge": ("hinge", "handle", "mirror", "nail"),
        "pieces": ("pieces", "amount", "quantity"),
        "article": ("article", "item", "part"),
        "shortage": ("shortage", "lacking", "wanted"),
        "lots": ("lots", "packs", "boxes"),
        "take": ("take", "remove", "pick"),
        "discount": ("discount", "order_price", "bulk_price"),
    },
    constants={"CAPACITY": (20, 40, 50, 100), "LOT": (4, 5, 6, 8), "THRESHOLD": (10, 12, 20)},
)
