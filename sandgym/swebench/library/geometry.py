"""Points, rectangles and polygons on a grid."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "geometry",
    "Points, rectangles and polygons with whole coordinates.",
    r'''
### geometry/points.py
"""Points as pairs of x and y."""


def move(point, dx=0, dy=0):
    """A point somewhere else."""
    return point[0] + dx, point[1] + dy


def steps(one, other):
    """Steps along the grid between two points."""
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def turn(point, quarters=1):
    """A point turned about the origin, against the clock."""
    x, y = point
    for _ in range(quarters % 4):
        x, y = -y, x
    return x, y


def nearest(point, others, limit=«LIMIT»):
    """The nearest of other points within a limit, or None."""
    best = None
    for other in others:
        far = steps(point, other)
        if far <= limit and (best is None or far < steps(point, best)):
            best = other
    return best

### geometry/rectangle.py
"""Rectangles."""


class Rectangle:
    """Left, top, width and height; y grows downwards."""

    def __init__(self, left, top, width, height):
        if width <= 0 or height <= 0:
            raise ValueError("width and height must be positive")
        self.left = left
        self.top = top
        self.width = width
        self.height = height

    def right(self):
        """The first x beyond the rectangle."""
        return self.left + self.width

    def bottom(self):
        """The first y beyond the rectangle."""
        return self.top + self.height

    def area(self):
        """Number of cells."""
        return self.width * self.height

    def perimeter(self):
        """Length of the edge."""
        return 2 * (self.width + self.height)

    def contains(self, x, y):
        """Whether a cell is inside."""
        return self.left <= x < self.right() and self.top <= y < self.bottom()

    def corners(self):
        """All four as left, top, right and bottom."""
        return self.left, self.top, self.right(), self.bottom()

    def overlap(self, other):
        """The common part, or None."""
        left = max(self.left, other.left)
        top = max(self.top, other.top)
        width = min(self.right(), other.right()) - left
        height = min(self.bottom(), other.bottom()) - top
        if width <= 0 or height <= 0:
            return None
        return Rectangle(left, top, width, height)

    def grown(self, border=1):
        """A rectangle with a border around this one."""
        return Rectangle(self.left - border, self.top - border, self.width + 2 * border, self.height + 2 * border)

### geometry/polygon.py
"""Polygons as lists of points."""

from geometry.points import steps


def edges(points):
    """Pairs of points that an edge joins; the last one leads back."""
    return [(points[i], points[(i + 1) % len(points)]) for i in range(len(points))]


def double_area(points):
    """Twice the area."""
    if len(points) < 3:
        return 0
    total = 0
    for (x1, y1), (x2, y2) in edges(points):
        total += x1 * y2 - x2 * y1
    return abs(total)


def bounds(points):
    """Smallest and largest x and y: left, low, right, high."""
    xs = [x for x, _ in points]
    ys = [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


def way(points, closed=False):
    """Steps along all points, and back to the first where closed."""
    pairs = edges(points) if closed else list(zip(points, points[1:]))
    return sum(steps(one, other) for one, other in pairs)


def clockwise(a, b, c):
    """Whether one turns right from a over b to c, with y upwards."""
    return (b[0] - a[0]) * (c[1] - a[1]) < (b[1] - a[1]) * (c[0] - a[0])

### tests/test_points.py
import unittest

from geometry.points import move, nearest, steps, turn


class PointsTest(unittest.TestCase):
    def test_move(self):
        self.assertEqual(move((1, 2), «N», 5), («N + 1», 7))

    def test_move_not_at_all(self):
        self.assertEqual(move((1, 2)), (1, 2))

    def test_steps(self):
        self.assertEqual(steps((1, 2), (4, 0)), 5)

    def test_steps_back(self):
        self.assertEqual(steps((4, 0), (1, 9)), 12)

    def test_turn(self):
        self.assertEqual(turn((2, «N»)), («-N», 2))

    def test_turn_back(self):
        self.assertEqual(turn((2, «N»), -1), («N», -2))

    def test_whole_turn(self):
        self.assertEqual(turn((2, «N»), 4), (2, «N»))

    def test_nearest(self):
        self.assertEqual(nearest((0, 0), [(2, 2), (1, 1), (3, 0)]), (1, 1))

    def test_first_of_equal_points(self):
        self.assertEqual(nearest((0, 0), [(1, 1), (2, 0)]), (1, 1))

    def test_nearest_within_the_limit(self):
        self.assertEqual(nearest((0, 0), [(0, «LIMIT»)]), (0, «LIMIT»))

    def test_nearest_beyond_the_limit(self):
        self.assertEqual(nearest((0, 0), [(0, «LIMIT + 1»)]), None)

### tests/test_rectangle.py
import unittest

from geometry.rectangle import Rectangle


class RectangleTest(unittest.TestCase):
    def test_no_width(self):
        with self.assertRaises(ValueError):
            Rectangle(0, 0, 0, 2)

    def test_no_height(self):
        with self.assertRaises(ValueError):
            Rectangle(0, 0, 2, 0)

    def test_right(self):
        self.assertEqual(Rectangle(«N», 1, 5, 2).right(), «N + 5»)

    def test_bottom(self):
        self.assertEqual(Rectangle(1, «N», 5, 2).bottom(), «N + 2»)

    def test_area(self):
        self.assertEqual(Rectangle(1, 1, «N», 4).area(), «4 * N»)

    def test_perimeter(self):
        self.assertEqual(Rectangle(1, 1, «N», 4).perimeter(), «2 * N + 8»)

    def test_contains(self):
        self.assertEqual(Rectangle(1, 1, 4, 3).contains(2, 3), True)

    def test_contains_first_cell(self):
        self.assertEqual(Rectangle(1, 1, 4, 3).contains(1, 1), True)

    def test_contains_no_further_column(self):
        self.assertEqual(Rectangle(1, 1, 4, 3).contains(5, 2), False)

    def test_contains_no_further_row(self):
        self.assertEqual(Rectangle(1, 1, 4, 3).contains(2, 4), False)

    def test_contains_nothing_above(self):
        self.assertEqual(Rectangle(1, 1, 4, 3).contains(2, 0), False)

    def test_overlap(self):
        part = Rectangle(0, 0, 5, 5).overlap(Rectangle(3, 2, 5, 5))
        self.assertEqual(part.corners(), (3, 2, 5, 5))

    def test_overlap_inside(self):
        part = Rectangle(2, 2, 1, 2).overlap(Rectangle(0, 0, 9, 9))
        self.assertEqual(part.corners(), (2, 2, 3, 4))

    def test_neighbours_do_not_overlap(self):
        self.assertEqual(Rectangle(0, 0, 3, 3).overlap(Rectangle(3, 0, 3, 3)), None)

    def test_no_overlap_below(self):
        self.assertEqual(Rectangle(0, 0, 3, 3).overlap(Rectangle(0, 3, 3, 3)), None)

    def test_grown(self):
        self.assertEqual(Rectangle(2, 3, 1, 1).grown().corners(), (1, 2, 4, 5))

    def test_grown_by_two(self):
        self.assertEqual(Rectangle(2, 3, 1, 1).grown(2).corners(), (0, 1, 5, 6))

### tests/test_polygon.py
import unittest

from geometry.polygon import bounds, clockwise, double_area, edges, way

TRIANGLE = [(0, 0), (4, 0), (0, 3)]


class PolygonTest(unittest.TestCase):
    def test_edges(self):
        self.assertEqual(edges([(0, 0), (1, 0)]), [((0, 0), (1, 0)), ((1, 0), (0, 0))])

    def test_triangle(self):
        self.assertEqual(double_area(TRIANGLE), 12)

    def test_triangle_backwards(self):
        self.assertEqual(double_area(TRIANGLE[::-1]), 12)

    def test_square(self):
        self.assertEqual(double_area([(1, 1), («N + 1», 1), («N + 1», 3), (1, 3)]), «4 * N»)

    def test_area_of_a_line(self):
        self.assertEqual(double_area([(1, 1), (4, 4)]), 0)

    def test_area_of_nothing(self):
        self.assertEqual(double_area([]), 0)

    def test_bounds(self):
        self.assertEqual(bounds([(3, 7), (-1, 2), («N», 4)]), (-1, 2, «max(N, 3)», 7))

    def test_way(self):
        self.assertEqual(way(TRIANGLE), 11)

    def test_closed_way(self):
        self.assertEqual(way(TRIANGLE, True), 14)

    def test_clockwise(self):
        self.assertEqual(clockwise((0, 0), (0, 1), (1, 1)), True)

    def test_against_the_clock(self):
        self.assertEqual(clockwise((0, 0), (1, 0), (1, 1)), False)

    def test_straight_on(self):
        self.assertEqual(clockwise((0, 0), (1, 1), (2, 2)), False)
''',
    names={
        "geometry": ("geometry", "plane", "gridshapes"),
        "points": ("points", "coords", "dots"),
        "rectangle": ("rectangle", "area_box", "rects"),
        "polygon": ("polygon", "outline", "corners_of"),
        "Rectangle": ("Rectangle", "Rect", "Box"),
        "move": ("move", "translate", "displaced"),
        "steps": ("steps", "manhattan", "grid_distance"),
        "turn": ("turn", "rotate", "quarter_turns"),
        "nearest": ("nearest", "closest", "next_to"),
        "contains": ("contains", "has_cell", "covers"),
        "overlap": ("overlap", "intersect", "shared"),
        "grown": ("grown", "with_border", "inflate"),
        "double_area": ("double_area", "twice_area", "shoelace"),
        "bounds": ("bounds", "extent", "bounding_box"),
        "way": ("way", "path_length", "length_of"),
    },
    constants={"LIMIT": (6, 10, 15), "N": (2, 4, 7)},
)
