"""A shopping basket with vouchers, taxes and shipping."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "basket",
    "A shopping basket: lines, vouchers, taxes and shipping, in whole cents.",
    r'''
### basket/lines.py
"""Lines of a basket."""


class Basket:
    """Goods with prices and numbers, in the order in which they were added."""

    def __init__(self, most=«MOST»):
        self.most = most
        self.lines = {}

    def add(self, goods, price, number=1):
        """Add goods; the price of the first time stays."""
        if number < 1:
            raise ValueError("number must be positive")
        known = self.lines.get(goods)
        if known is not None:
            price = known[0]
            number += known[1]
        self.lines[goods] = (price, min(number, self.most))

    def remove(self, goods, number=None):
        """Remove some of the goods, or all of them."""
        price, before = self.lines[goods]
        if number is None or number >= before:
            del self.lines[goods]
        else:
            self.lines[goods] = (price, before - number)

    def subtotal(self):
        """Sum of all lines."""
        return sum(price * number for price, number in self.lines.values())

    def cheapest(self):
        """Name of the goods with the lowest price, or None."""
        if not self.lines:
            return None
        return min(self.lines, key=lambda goods: self.lines[goods][0])

### basket/vouchers.py
"""What makes a basket cheaper."""


def percent_off(cents, percent):
    """A sum less some percent; the discount is rounded down."""
    if percent < 0 or percent > 100:
        raise ValueError("percent out of range")
    return cents - cents * percent // 100


def every_nth_free(price, number, n=«NTH»):
    """Sum where each n-th piece costs nothing."""
    return price * (number - number // n)


def redeem(cents, vouchers):
    """A sum less vouchers, never below zero, and what is left of them."""
    rest = []
    for voucher in sorted(vouchers):
        used = min(voucher, cents)
        cents -= used
        if used < voucher:
            rest.append(voucher - used)
    return cents, rest

### basket/checkout.py
"""Taxes and shipping."""

RATES = {"food": 5, "book": 7, "other": 20}


def tax(cents, kind="other"):
    """Tax on a sum, rounded to the nearest cent."""
    rate = RATES.get(kind, RATES["other"])
    return (cents * rate + 50) // 100


def shipping(cents, weight, free_from=«FREE»):
    """Cost of shipping: nothing for dear baskets, else by weight in grams."""
    if cents >= free_from:
        return 0
    if weight <= 500:
        return 200
    elif weight <= 2000:
        return 400
    return 400 + 100 * ((weight - 2000 + 999) // 1000)


def final(basket, kind, weight):
    """What is to be paid for goods of one kind."""
    cents = basket.subtotal()
    return cents + tax(cents, kind) + shipping(cents, weight)

### tests/test_lines.py
import unittest

from basket.lines import Basket


class BasketTest(unittest.TestCase):
    def test_add(self):
        basket = Basket()
        basket.add("rice", 250)
        self.assertEqual(basket.lines, {"rice": (250, 1)})

    def test_add_again(self):
        basket = Basket()
        basket.add("rice", 250, 2)
        basket.add("rice", 300, 3)
        self.assertEqual(basket.lines, {"rice": (250, 5)})

    def test_add_nothing(self):
        with self.assertRaises(ValueError):
            Basket().add("rice", 250, 0)

    def test_most(self):
        basket = Basket()
        basket.add("rice", 250, «MOST + 1»)
        self.assertEqual(basket.lines, {"rice": (250, «MOST»)})

    def test_remove_some(self):
        basket = Basket()
        basket.add("rice", 250, 3)
        basket.remove("rice", 2)
        self.assertEqual(basket.lines, {"rice": (250, 1)})

    def test_remove_as_many_as_there_are(self):
        basket = Basket()
        basket.add("rice", 250, 3)
        basket.remove("rice", 3)
        self.assertEqual(basket.lines, {})

    def test_remove_all(self):
        basket = Basket()
        basket.add("rice", 250, 3)
        basket.remove("rice")
        self.assertEqual(basket.lines, {})

    def test_subtotal(self):
        basket = Basket()
        basket.add("rice", 250, 2)
        basket.add("salt", 90)
        self.assertEqual(basket.subtotal(), 590)

    def test_cheapest(self):
        basket = Basket()
        basket.add("rice", 250)
        basket.add("salt", 90, 9)
        self.assertEqual(basket.cheapest(), "salt")

    def test_cheapest_of_nothing(self):
        self.assertEqual(Basket().cheapest(), None)

### tests/test_vouchers.py
import unittest

from basket.vouchers import every_nth_free, percent_off, redeem


class VouchersTest(unittest.TestCase):
    def test_percent_off(self):
        self.assertEqual(percent_off(1000, 15), 850)

    def test_percent_off_rounds(self):
        self.assertEqual(percent_off(99, 10), 90)

    def test_no_percent(self):
        self.assertEqual(percent_off(99, 0), 99)

    def test_everything_off(self):
        self.assertEqual(percent_off(99, 100), 0)

    def test_negative_percent(self):
        with self.assertRaises(ValueError):
            percent_off(99, -1)

    def test_too_much_percent(self):
        with self.assertRaises(ValueError):
            percent_off(99, 101)

    def test_every_nth_free(self):
        self.assertEqual(every_nth_free(10, «NTH»), «10 * NTH - 10»)
        self.assertEqual(every_nth_free(10, «NTH - 1»), «10 * NTH - 10»)

    def test_every_second_free(self):
        self.assertEqual(every_nth_free(10, 5, 2), 30)

    def test_redeem(self):
        self.assertEqual(redeem(900, [300, 100]), (500, []))

    def test_redeem_too_much(self):
        self.assertEqual(redeem(250, [300, 100]), (0, [150]))

    def test_redeem_exactly(self):
        self.assertEqual(redeem(300, [300]), (0, []))

    def test_small_vouchers_first(self):
        self.assertEqual(redeem(100, [300, 100]), (0, [300]))

### tests/test_checkout.py
import unittest

from basket.checkout import final, shipping, tax
from basket.lines import Basket


class CheckoutTest(unittest.TestCase):
    def test_tax(self):
        self.assertEqual(tax(1000), 200)

    def test_tax_on_food(self):
        self.assertEqual(tax(1000, "food"), 50)

    def test_tax_on_books(self):
        self.assertEqual(tax(1000, "book"), 70)

    def test_tax_on_unknown_kinds(self):
        self.assertEqual(tax(1000, "toy"), 200)

    def test_tax_rounds_up(self):
        self.assertEqual(tax(10, "food"), 1)

    def test_tax_rounds_down(self):
        self.assertEqual(tax(9, "food"), 0)

    def test_free_shipping(self):
        self.assertEqual(shipping(«FREE», 9000), 0)

    def test_light(self):
        self.assertEqual(shipping(«FREE - 1», 500), 200)

    def test_medium(self):
        self.assertEqual(shipping(100, 501), 400)
        self.assertEqual(shipping(100, 2000), 400)

    def test_heavy(self):
        self.assertEqual(shipping(100, 2001), 500)

    def test_very_heavy(self):
        self.assertEqual(shipping(100, 4000), 600)

    def test_own_limit(self):
        self.assertEqual(shipping(300, 100, 300), 0)

    def test_final(self):
        basket = Basket()
        basket.add("rice", 500, 2)
        self.assertEqual(final(basket, "food", 300), 1250)
''',
    names={
        "basket": ("basket", "trolley", "cart"),
        "lines": ("lines", "contents", "inside"),
        "vouchers": ("vouchers", "coupons", "savings"),
        "checkout": ("checkout", "payment", "till"),
        "Basket": ("Basket", "Cart", "Trolley"),
        "goods": ("goods", "product", "thing"),
        "subtotal": ("subtotal", "sum_of_lines", "worth"),
        "cheapest": ("cheapest", "lowest_priced", "best_buy"),
        "percent_off": ("percent_off", "reduced", "discounted"),
        "every_nth_free": ("every_nth_free", "bundle_price", "with_free_ones"),
        "redeem": ("redeem", "use_up", "spend"),
        "shipping": ("shipping", "delivery", "postage"),
        "final": ("final", "to_pay", "grand_total"),
        "rice": ("rice", "bread", "soap"),
        "salt": ("salt", "mint", "chalk"),
    },
    constants={"MOST": (10, 12, 20), "NTH": (3, 4, 5), "FREE": (3000, 5000, 7500)},
)
