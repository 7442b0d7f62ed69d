"""Accounts and bookings in cents."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "ledger",
    "Accounts, bookings and statements, in whole cents.",
    r'''
### ledger/account.py
"""One account."""


class Account:
    """A balance that may go down to minus the credit."""

    def __init__(self, owner, balance=0, credit=«CREDIT»):
        self.owner = owner
        self.balance = balance
        self.credit = credit
        self.bookings = []

    def available(self):
        """The most that can be withdrawn."""
        return self.balance + self.credit

    def deposit(self, cents, note=""):
        """Pay in."""
        if cents <= 0:
            raise ValueError("cents must be positive")
        self.balance += cents
        self.bookings.append((cents, note))

    def withdraw(self, cents, note=""):
        """Pay out, if there is enough."""
        if cents <= 0:
            raise ValueError("cents must be positive")
        if cents > self.available():
            raise ArithmeticError("not enough money")
        self.balance -= cents
        self.bookings.append((-cents, note))

### ledger/bank.py
"""Many accounts."""

from ledger.account import Account


class Bank:
    """Accounts by owner, and the fee for transfers."""

    def __init__(self, fee=«FEE»):
        self.fee = fee
        self.accounts = {}

    def open(self, owner, balance=0):
        """A new account; an owner has one."""
        if owner in self.accounts:
            raise KeyError("owner is known")
        account = Account(owner, balance)
        self.accounts[owner] = account
        return account

    def transfer(self, source, target, cents):
        """Move money; the fee is paid by the source."""
        self.accounts[source].withdraw(cents + self.fee, target)
        self.accounts[target].deposit(cents, source)

    def total(self):
        """All money in the bank."""
        return sum(account.balance for account in self.accounts.values())

    def richest(self, count=1):
        """Owners with the largest balances, in order."""
        ranked = sorted(self.accounts.values(), key=lambda account: (-account.balance, account.owner))
        return [account.owner for account in ranked[:count]]

### ledger/statement.py
"""Statements and interest."""


def interest(balance, percent, days, year=360):
    """Interest for some days, in cents, rounded down; debts bear none."""
    if balance < 0:
        return 0
    return balance * percent * days // (100 * year)


def income(account):
    """Sum of all that was paid in."""
    return sum(cents for cents, _ in account.bookings if cents > 0)


def spending(account, note=None):
    """Sum of all that was paid out, as a positive number, or of what has a note."""
    total = 0
    for cents, text in account.bookings:
        if cents < 0 and (note is None or text == note):
            total -= cents
    return total


def running(account, start=0):
    """The balance after each booking."""
    balances = []
    balance = start
    for cents, _ in account.bookings:
        balance += cents
        balances.append(balance)
    return balances


def euros(cents):
    """Cents as text with two decimals."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return "{}{}.{:02}".format(sign, whole, rest)

### tests/test_account.py
import unittest

from ledger.account import Account


class AccountTest(unittest.TestCase):
    def test_deposit(self):
        account = Account("ida")
        account.deposit(250)
        self.assertEqual(account.balance, 250)

    def test_deposit_is_booked(self):
        account = Account("ida")
        account.deposit(250, "gift")
        self.assertEqual(account.bookings, [(250, "gift")])

    def test_deposit_nothing(self):
        with self.assertRaises(ValueError):
            Account("ida").deposit(0)

    def test_withdraw(self):
        account = Account("ida", 300)
        account.withdraw(120)
        self.assertEqual(account.balance, 180)

    def test_withdraw_is_booked(self):
        account = Account("ida", 300)
        account.withdraw(120, "rent")
        self.assertEqual(account.bookings, [(-120, "rent")])

    def test_withdraw_nothing(self):
        with self.assertRaises(ValueError):
            Account("ida", 300).withdraw(0)

    def test_withdraw_everything(self):
        account = Account("ida", 300, 0)
        account.withdraw(300)
        self.assertEqual(account.balance, 0)

    def test_withdraw_too_much(self):
        with self.assertRaises(ArithmeticError):
            Account("ida", 300, 50).withdraw(351)

    def test_available(self):
        self.assertEqual(Account("ida", 300, 50).available(), 350)

    def test_default_credit(self):
        self.assertEqual(Account("ida").available(), «CREDIT»)

### tests/test_bank.py
import unittest

from ledger.bank import Bank


class BankTest(unittest.TestCase):
    def test_open(self):
        self.assertEqual(Bank().open("ida", 40).balance, 40)

    def test_open_twice(self):
        bank = Bank()
        bank.open("ida")
        with self.assertRaises(KeyError):
            bank.open("ida")

    def test_transfer(self):
        bank = Bank(0)
        bank.open("ida", 500)
        bank.open("tom", 100)
        bank.transfer("ida", "tom", 200)
        self.assertEqual(bank.accounts["ida"].balance, 300)
        self.assertEqual(bank.accounts["tom"].balance, 300)

    def test_fee(self):
        bank = Bank()
        bank.open("ida", 500)
        bank.open("tom")
        bank.transfer("ida", "tom", 200)
        self.assertEqual(bank.accounts["ida"].balance, «300 - FEE»)
        self.assertEqual(bank.accounts["tom"].balance, 200)

    def test_notes_of_a_transfer(self):
        bank = Bank(1)
        bank.open("ida", 500)
        bank.open("tom")
        bank.transfer("ida", "tom", 200)
        self.assertEqual(bank.accounts["ida"].bookings, [(-201, "tom")])
        self.assertEqual(bank.accounts["tom"].bookings, [(200, "ida")])

    def test_total(self):
        bank = Bank()
        bank.open("ida", 500)
        bank.open("tom", 30)
        self.assertEqual(bank.total(), 530)

    def test_richest(self):
        bank = Bank()
        bank.open("ida", 40)
        bank.open("tom", 70)
        self.assertEqual(bank.richest(), ["tom"])

    def test_richest_two(self):
        bank = Bank()
        bank.open("tom", 70)
        bank.open("ida", 70)
        bank.open("ben", 90)
        self.assertEqual(bank.richest(2), ["ben", "ida"])

### tests/test_statement.py
import unittest

from ledger.account import Account
from ledger.statement import euros, income, interest, running, spending


class StatementTest(unittest.TestCase):
    def test_interest_of_a_year(self):
        self.assertEqual(interest(20000, 3, 360), 600)

    def test_interest_is_rounded_down(self):
        self.assertEqual(interest(1000, 2, 100), 5)

    def test_own_year(self):
        self.assertEqual(interest(10000, 2, 200, 100), 400)

    def test_no_interest_for_debts(self):
        self.assertEqual(interest(-500, 3, 360), 0)

    def test_income(self):
        account = Account("ida")
        account.deposit(100)
        account.withdraw(30)
        account.deposit(50)
        self.assertEqual(income(account), 150)

    def test_spending(self):
        account = Account("ida", 500)
        account.withdraw(30, "tea")
        account.deposit(10, "tea")
        account.withdraw(50, "rent")
        self.assertEqual(spending(account), 80)

    def test_spending_by_note(self):
        account = Account("ida", 500)
        account.withdraw(30, "tea")
        account.withdraw(50, "rent")
        self.assertEqual(spending(account, "rent"), 50)

    def test_running(self):
        account = Account("ida", 500)
        account.deposit(100)
        account.withdraw(30)
        self.assertEqual(running(account), [100, 70])

    def test_running_from_a_start(self):
        account = Account("ida")
        account.deposit(100)
        self.assertEqual(running(account, 5), [105])

    def test_euros(self):
        self.assertEqual(euros(«12300 + FEE»), «"123.%02d" % FEE»)

    def test_negative_euros(self):
        self.assertEqual(euros(-150), "-1.50")
''',
    names={
        "ledger": ("ledger", "coffer", "cashbook"),
        "account": ("account", "purse", "deposit_box"),
        "Account": ("Account", "Purse", "Wallet"),
        "bank": ("bank", "house", "exchange"),
        "Bank": ("Bank", "House", "Exchange"),
        "statement": ("statement", "report", "summary"),
        "credit": ("credit", "overdraft", "leeway"),
        "available": ("available", "spendable", "at_hand"),
        "transfer": ("transfer", "move", "send"),
        "richest": ("richest", "top", "wealthiest"),
        "spending": ("spending", "expenses", "outflow"),
        "income": ("income", "earnings", "inflow"),
        "running": ("running", "balance_history", "course"),
        "euros": ("euros", "as_money", "money_text"),
        "cents": ("cents", "pence", "sum_paid"),
        "ida": ("ida", "amy", "lea"),
        "tom": ("tom", "uwe", "zoe"),
    },
    constants={"CREDIT": (100, 200, 500, 1000), "FEE": (2, 5, 7, 15)},
)
