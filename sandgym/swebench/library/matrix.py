"""Matrices as lists of rows."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "matrix",
    "Small matrices of whole numbers, as lists of rows.",
    r'''
### matrix/build.py
"""Making matrices."""


def filled(rows, columns, value=0):
    """A matrix with one value everywhere."""
    if rows < 1 or columns < 1:
        raise ValueError("a matrix has at least one row and one column")
    return [[value] * columns for _ in range(rows)]


def identity(size, value=1):
    """A square matrix with a value on the diagonal."""
    result = filled(size, size)
    for index in range(size):
        result[index][index] = value
    return result


def from_text(text):
    """A matrix from lines of numbers."""
    rows = [[int(cell) for cell in line.split()] for line in text.splitlines() if line.strip()]
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("rows differ in length")
    return rows


def shape(matrix):
    """Number of rows and of columns."""
    return len(matrix), len(matrix[0])

### matrix/arith.py
"""Calculating with matrices."""

from matrix.build import filled, identity, shape


def add(left, right):
    """Sum of two matrices of one shape."""
    if shape(left) != shape(right):
        raise ValueError("shapes differ")
    return [[a + b for a, b in zip(row, other)] for row, other in zip(left, right)]


def scale(matrix, factor):
    """Each cell times a factor."""
    return [[cell * factor for cell in row] for row in matrix]


def product(left, right):
    """Product of two matrices."""
    rows, inner = shape(left)
    height, columns = shape(right)
    if inner != height:
        raise ValueError("shapes do not fit")
    result = filled(rows, columns)
    for i in range(rows):
        for j in range(columns):
            for k in range(inner):
                result[i][j] += left[i][k] * right[k][j]
    return result


def power(matrix, exponent):
    """The matrix times itself, again and again."""
    if exponent < 0:
        raise ValueError("exponent must not be negative")
    result = identity(len(matrix))
    for _ in range(exponent):
        result = product(result, matrix)
    return result

### matrix/shapes.py
"""Turning and cutting matrices."""


def transpose(matrix):
    """Rows become columns."""
    return [list(column) for column in zip(*matrix)]


def rotate(matrix):
    """The matrix turned a quarter clockwise."""
    return [list(column) for column in zip(*matrix[::-1])]


def minor(matrix, row, column):
    """The matrix without a row and a column."""
    return [line[:column] + line[column + 1 :] for index, line in enumerate(matrix) if index != row]


def trace(matrix):
    """Sum of the diagonal."""
    return sum(matrix[i][i] for i in range(len(matrix)))


def determinant(matrix):
    """Determinant of a square matrix."""
    if len(matrix) == 1:
        return matrix[0][0]
    total = 0
    for column, cell in enumerate(matrix[0]):
        sign = -1 if column % 2 else 1
        total += sign * cell * determinant(minor(matrix, 0, column))
    return total


def symmetric(matrix):
    """Whether a matrix equals its transpose."""
    return matrix == transpose(matrix)

### tests/test_build.py
import unittest

from matrix.build import filled, from_text, identity, shape


class BuildTest(unittest.TestCase):
    def test_filled(self):
        self.assertEqual(filled(2, 3, «V»), [[«V», «V», «V»], [«V», «V», «V»]])

    def test_filled_with_zero(self):
        self.assertEqual(filled(1, 2), [[0, 0]])

    def test_one_cell(self):
        self.assertEqual(filled(1, 1, 4), [[4]])

    def test_no_rows(self):
        with self.assertRaises(ValueError):
            filled(0, 2)

    def test_no_columns(self):
        with self.assertRaises(ValueError):
            filled(2, 0)

    def test_identity(self):
        self.assertEqual(identity(2), [[1, 0], [0, 1]])

    def test_identity_with_value(self):
        self.assertEqual(identity(2, «V»), [[«V», 0], [0, «V»]])

    def test_from_text(self):
        self.assertEqual(from_text("1 2\n3 4\n"), [[1, 2], [3, 4]])

    def test_from_text_with_empty_line(self):
        self.assertEqual(from_text("1 2\n\n3 4"), [[1, 2], [3, 4]])

    def test_ragged_text(self):
        with self.assertRaises(ValueError):
            from_text("1 2\n3")

    def test_shape(self):
        self.assertEqual(shape([[1, 2, 3], [4, 5, 6]]), (2, 3))

### tests/test_arith.py
import unittest

from matrix.arith import add, power, product, scale


class ArithTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add([[1, 2]], [[«V», 4]]), [[«V + 1», 6]])

    def test_add_other_shape(self):
        with self.assertRaises(ValueError):
            add([[1, 2]], [[1], [2]])

    def test_scale(self):
        self.assertEqual(scale([[1, 2], [3, 5]], «V»), [[«V», «2 * V»], [«3 * V», «5 * V»]])

    def test_product(self):
        self.assertEqual(product([[1, 2], [3, 4]], [[5, 6], [7, 8]]), [[19, 22], [43, 50]])

    def test_product_of_row_and_column(self):
        self.assertEqual(product([[1, 2, 3]], [[4], [5], [6]]), [[32]])

    def test_product_that_does_not_fit(self):
        with self.assertRaises(ValueError):
            product([[1, 2]], [[1, 2]])

    def test_power(self):
        self.assertEqual(power([[1, 1], [1, 0]], 5), [[8, 5], [5, 3]])

    def test_power_of_zero(self):
        self.assertEqual(power([[2, 3], [4, 5]], 0), [[1, 0], [0, 1]])

    def test_negative_power(self):
        with self.assertRaises(ValueError):
            power([[2]], -1)

### tests/test_shapes.py
import unittest

from matrix.shapes import determinant, minor, rotate, symmetric, trace, transpose


class ShapesTest(unittest.TestCase):
    def test_transpose(self):
        self.assertEqual(transpose([[1, 2, 3], [4, 5, 6]]), [[1, 4], [2, 5], [3, 6]])

    def test_rotate(self):
        self.assertEqual(rotate([[1, 2], [3, 4]]), [[3, 1], [4, 2]])

    def test_minor(self):
        self.assertEqual(minor([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 1, 1), [[1, 3], [7, 9]])

    def test_minor_at_a_corner(self):
        self.assertEqual(minor([[1, 2], [3, 4]], 0, 0), [[4]])

    def test_trace(self):
        self.assertEqual(trace([[1, 2], [3, 4]]), 5)

    def test_determinant_of_one_cell(self):
        self.assertEqual(determinant([[«V»]]), «V»)

    def test_determinant(self):
        self.assertEqual(determinant([[1, 2], [3, 4]]), -2)

    def test_determinant_of_three_rows(self):
        self.assertEqual(determinant([[2, 0, 1], [1, 3, 2], [1, 1, 4]]), 18)

    def test_symmetric(self):
        self.assertEqual(symmetric([[1, 2], [2, 1]]), True)

    def test_not_symmetric(self):
        self.assertEqual(symmetric([[1, 2], [3, 1]]), False)
''',
    names={
        "matrix": ("matrix", "grid", "tablemath"),
        "build": ("build", "create", "make"),
        "arith": ("arith", "calculate", "algebra"),
        "shapes": ("shapes", "views", "transform"),
        "filled": ("filled", "constant", "full"),
        "identity": ("identity", "eye", "diagonal"),
        "product": ("product", "multiply", "matmul"),
        "power": ("power", "raise_to", "pow_of"),
        "scale": ("scale", "times", "stretch"),
        "rotate": ("rotate", "turn", "quarter_turn"),
        "minor": ("minor", "without", "drop"),
        "cell": ("cell", "entry", "element"),
        "result": ("result", "answer", "out"),
    },
    constants={"V": (2, 3, 5, 7)},
)
