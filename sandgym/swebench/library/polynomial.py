"""Polynomials as lists of coefficients."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "polynomial",
    "Polynomials as lists of coefficients, the constant first.",
    r'''
### polynomial/basic.py
"""Values and shapes of polynomials."""


def trim(coefficients):
    """Without zeros at the end; at least one coefficient stays."""
    result = list(coefficients)
    while len(result) > 1 and result[-1] == 0:
        result.pop()
    return result


def degree(coefficients):
    """The highest power that has a coefficient; -1 for nothing but zero."""
    short = trim(coefficients)
    if short == [0]:
        return -1
    return len(short) - 1


def value(coefficients, x):
    """Value at a place."""
    total = 0
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


def roots(coefficients, low=«LOW», high=10):
    """Whole numbers in a range at which the value is zero."""
    return [x for x in range(low, high + 1) if value(coefficients, x) == 0]

### polynomial/algebra.py
"""Calculating with polynomials."""

from polynomial.basic import trim


def add(left, right):
    """Sum of two polynomials."""
    size = max(len(left), len(right))
    first = list(left) + [0] * (size - len(left))
    second = list(right) + [0] * (size - len(right))
    return trim([a + b for a, b in zip(first, second)])


def multiply(left, right):
    """Product of two polynomials."""
    result = [0] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            result[i + j] += a * b
    return trim(result)


def power(base, exponent):
    """A polynomial to a power."""
    if exponent < 0:
        raise ValueError("exponent must not be negative")
    result = [1]
    for _ in range(exponent):
        result = multiply(result, base)
    return result


def derivative(coefficients, order=1):
    """The derivative; of a constant it is zero."""
    result = list(coefficients)
    for _ in range(order):
        result = [index * c for index, c in enumerate(result)][1:] or [0]
    return result


def compose(outer, inner):
    """The outer polynomial of the inner one."""
    result = [0]
    for coefficient in reversed(outer):
        result = add(multiply(result, inner), [coefficient])
    return result

### polynomial/text.py
"""Polynomials as text."""


def term(coefficient, power, name="x"):
    """One term without its sign."""
    size = abs(coefficient)
    if power == 0:
        return str(size)
    factor = "" if size == 1 else str(size)
    if power == 1:
        return factor + name
    return factor + name + "^" + str(power)


def show(coefficients, name="x"):
    """Terms from the highest power on, as in ``2x^2 - x + 5``."""
    text = ""
    for power in range(len(coefficients) - 1, -1, -1):
        coefficient = coefficients[power]
        if coefficient == 0:
            continue
        if not text:
            text = "-" if coefficient < 0 else ""
        else:
            text += " - " if coefficient < 0 else " + "
        text += term(coefficient, power, name)
    return text or "0"

### tests/test_basic.py
import unittest

from polynomial.basic import degree, roots, trim, value


class BasicTest(unittest.TestCase):
    def test_trim(self):
        self.assertEqual(trim([1, «N», 0, 0]), [1, «N»])

    def test_trim_zero(self):
        self.assertEqual(trim([0, 0]), [0])

    def test_trim_keeps_inner_zeros(self):
        self.assertEqual(trim([0, 0, «N»]), [0, 0, «N»])

    def test_degree(self):
        self.assertEqual(degree([«N», 2, 1]), 2)

    def test_degree_of_a_constant(self):
        self.assertEqual(degree([«N»]), 0)

    def test_degree_of_zero(self):
        self.assertEqual(degree([0]), -1)

    def test_degree_with_zeros(self):
        self.assertEqual(degree([1, 2, 0]), 1)

    def test_value(self):
        self.assertEqual(value([1, 2, 3], «N»), «1 + 2 * N + 3 * N * N»)

    def test_value_at_zero(self):
        self.assertEqual(value([«N», 2, 3], 0), «N»)

    def test_roots(self):
        self.assertEqual(roots([6, -5, 1]), [2, 3])

    def test_root_at_the_high_end(self):
        self.assertEqual(roots([-10, 1]), [10])

    def test_root_at_the_low_end(self):
        self.assertEqual(roots([«-LOW», 1]), [«LOW»])

    def test_own_range(self):
        self.assertEqual(roots([6, -5, 1], 3, 5), [3])

### tests/test_algebra.py
import unittest

from polynomial.algebra import add, compose, derivative, multiply, power


class AlgebraTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add([1, 2], [«N», 4, 5]), [«N + 1», 6, 5])

    def test_add_shorter(self):
        self.assertEqual(add([1, 2, 3], [4]), [5, 2, 3])

    def test_add_cancels(self):
        self.assertEqual(add([1, 2], [3, -2]), [4])

    def test_multiply(self):
        self.assertEqual(multiply([1, 1], [-1, 1]), [-1, 0, 1])

    def test_multiply_by_a_number(self):
        self.assertEqual(multiply([«N»], [1, 2]), [«N», «2 * N»])

    def test_multiply_by_zero(self):
        self.assertEqual(multiply([1, 2], [0]), [0])

    def test_power(self):
        self.assertEqual(power([1, 1], 3), [1, 3, 3, 1])

    def test_power_of_zero(self):
        self.assertEqual(power([«N», 1], 0), [1])

    def test_negative_power(self):
        with self.assertRaises(ValueError):
            power([1, 1], -1)

    def test_derivative(self):
        self.assertEqual(derivative([5, 3, «N»]), [3, «2 * N»])

    def test_derivative_of_a_constant(self):
        self.assertEqual(derivative([«N»]), [0])

    def test_second_derivative(self):
        self.assertEqual(derivative([1, 1, 1, 2], 2), [2, 12])

    def test_compose(self):
        self.assertEqual(compose([1, 0, 1], [«N», 1]), [«N * N + 1», «2 * N», 1])

### tests/test_text.py
import unittest

from polynomial.text import show, term


class TextTest(unittest.TestCase):
    def test_term(self):
        self.assertEqual(term(-«N», 2), "«N»x^2")

    def test_term_of_power_one(self):
        self.assertEqual(term(«N», 1), "«N»x")

    def test_term_without_power(self):
        self.assertEqual(term(1, 0), "1")

    def test_term_of_size_one(self):
        self.assertEqual(term(1, 3, "t"), "t^3")

    def test_show(self):
        self.assertEqual(show([5, -1, 2]), "2x^2 - x + 5")

    def test_show_skips_zeros(self):
        self.assertEqual(show([1, 0, 0, 4]), "4x^3 + 1")

    def test_show_negative_start(self):
        self.assertEqual(show([«N», -3]), "-3x + «N»")

    def test_show_zero(self):
        self.assertEqual(show([0, 0]), "0")

    def test_show_own_name(self):
        self.assertEqual(show([«N», 2], "y"), "2y + «N»")
''',
    names={
        "polynomial": ("polynomial", "polys", "coefflist"),
        "basic": ("basic", "core", "values"),
        "algebra": ("algebra", "operations", "calculus"),
        "text": ("text", "printing", "output"),
        "trim": ("trim", "strip_zeros", "shorten"),
        "degree": ("degree", "highest", "deg"),
        "roots": ("roots", "zeros", "solve"),
        "multiply": ("multiply", "product", "times"),
        "derivative": ("derivative", "derive", "differentiate"),
        "compose": ("compose", "insert", "substitute"),
        "term": ("term", "monomial", "summand"),
        "show": ("show", "display", "to_text"),
        "coefficient": ("coefficient", "factor_of", "number"),
        "coefficients": ("coefficients", "poly", "numbers"),
    },
    constants={"LOW": (-10, -8, -5), "N": (3, 4, 7)},
)
