"""Directed graphs: paths, order, components."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "graphs",
    "Paths and orders in graphs of named places.",
    r'''
### graphs/network.py
"""Places and weighted roads."""


class Network:
    """A directed graph; ``roads[a][b]`` is the length of the road from a to b."""

    def __init__(self, edges=()):
        self.roads = {}
        for edge in edges:
            self.connect(*edge)

    def connect(self, start, end, length=1, both=False):
        """Add a road; the shorter of two roads stays."""
        if length < 0:
            raise ValueError("length must not be negative")
        self.roads.setdefault(start, {})
        self.roads.setdefault(end, {})
        known = self.roads[start].get(end)
        if known is None or length < known:
            self.roads[start][end] = length
        if both:
            self.connect(end, start, length)

    def neighbours(self, place):
        """Places that a road leads to, in order of their names."""
        return sorted(self.roads.get(place, {}))

    def incoming(self, place):
        """How many roads lead to a place."""
        return sum(1 for ends in self.roads.values() if place in ends)

### graphs/routes.py
"""Finding ways."""

import heapq
from collections import deque


def fewest_stops(network, start, end):
    """Places on a way with as few roads as possible, or None."""
    came_from = {start: None}
    waiting = deque([start])
    while waiting:
        place = waiting.popleft()
        if place == end:
            return trace(came_from, end)
        for other in network.neighbours(place):
            if other not in came_from:
                came_from[other] = place
                waiting.append(other)
    return None


def trace(came_from, end):
    """The way to a place, from its start."""
    way = []
    place = end
    while place is not None:
        way.append(place)
        place = came_from[place]
    return way[::-1]


def distances(network, start, limit=None):
    """Lengths of the shortest ways to all places within a limit."""
    known = {}
    heap = [(0, start)]
    while heap:
        length, place = heapq.heappop(heap)
        if place in known:
            continue
        if limit is not None and length > limit:
            break
        known[place] = length
        for other, road in network.roads.get(place, {}).items():
            heapq.heappush(heap, (length + road, other))
    return known

### graphs/order.py
"""Orders of places."""


def topological(network):
    """All places so that roads lead forward only; a circle is an error."""
    counts = {place: network.incoming(place) for place in network.roads}
    ready = sorted(place for place, count in counts.items() if count == 0)
    order = []
    while ready:
        place = ready.pop(0)
        order.append(place)
        for other in network.neighbours(place):
            counts[other] -= 1
            if counts[other] == 0:
                ready.append(other)
    if len(order) < len(counts):
        raise ValueError("there is a circle")
    return order


def reachable(network, start):
    """Places that can be reached, the start among them, in order of their names."""
    seen = {start}
    waiting = [start]
    while waiting:
        for other in network.neighbours(waiting.pop()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return sorted(seen)

### tests/test_network.py
import unittest

from graphs.network import Network


class NetworkTest(unittest.TestCase):
    def test_neighbours(self):
        network = Network([("oslo", "rome"), ("oslo", "cork")])
        self.assertEqual(network.neighbours("oslo"), ["cork", "rome"])

    def test_roads_have_a_direction(self):
        network = Network([("oslo", "rome")])
        self.assertEqual(network.neighbours("rome"), [])

    def test_unknown_place(self):
        self.assertEqual(Network().neighbours("oslo"), [])

    def test_both_directions(self):
        network = Network()
        network.connect("oslo", "rome", «L», True)
        self.assertEqual(network.roads, {"oslo": {"rome": «L»}, "rome": {"oslo": «L»}})

    def test_shorter_road_stays(self):
        network = Network([("oslo", "rome", «L»), ("oslo", "rome", «L + 1»)])
        self.assertEqual(network.roads["oslo"], {"rome": «L»})

    def test_shorter_road_replaces(self):
        network = Network([("oslo", "rome", «L»), ("oslo", "rome", «L - 1»)])
        self.assertEqual(network.roads["oslo"], {"rome": «L - 1»})

    def test_default_length(self):
        network = Network([("oslo", "rome")])
        self.assertEqual(network.roads["oslo"], {"rome": 1})

    def test_negative_length(self):
        with self.assertRaises(ValueError):
            Network([("oslo", "rome", -1)])

    def test_length_of_zero(self):
        network = Network([("oslo", "rome", 0)])
        self.assertEqual(network.roads["oslo"], {"rome": 0})

    def test_incoming(self):
        network = Network([("oslo", "rome"), ("cork", "rome"), ("rome", "oslo")])
        self.assertEqual(network.incoming("rome"), 2)

### tests/test_routes.py
import unittest

from graphs.network import Network
from graphs.routes import distances, fewest_stops, trace


class RoutesTest(unittest.TestCase):
    def test_direct(self):
        network = Network([("oslo", "cork"), ("cork", "rome"), ("oslo", "rome", 50)])
        self.assertEqual(fewest_stops(network, "oslo", "rome"), ["oslo", "rome"])

    def test_two_roads(self):
        network = Network([("oslo", "cork"), ("cork", "rome")])
        self.assertEqual(fewest_stops(network, "oslo", "rome"), ["oslo", "cork", "rome"])

    def test_no_way(self):
        network = Network([("oslo", "cork")])
        self.assertEqual(fewest_stops(network, "cork", "oslo"), None)

    def test_start_is_end(self):
        self.assertEqual(fewest_stops(Network(), "oslo", "oslo"), ["oslo"])

    def test_trace(self):
        self.assertEqual(trace({"oslo": None, "cork": "oslo"}, "cork"), ["oslo", "cork"])

    def test_distances(self):
        network = Network([("oslo", "cork", «L»), ("cork", "rome", 3)])
        self.assertEqual(distances(network, "oslo"), {"oslo": 0, "cork": «L», "rome": «L + 3»})

    def test_shorter_way_round(self):
        network = Network([("oslo", "rome", 9), ("oslo", "cork", 2), ("cork", "rome", 3)])
        self.assertEqual(distances(network, "oslo")["rome"], 5)

    def test_limit(self):
        network = Network([("oslo", "cork", 2), ("cork", "rome", 3)])
        self.assertEqual(distances(network, "oslo", 4), {"oslo": 0, "cork": 2})

    def test_limit_exactly(self):
        network = Network([("oslo", "cork", 2), ("cork", "rome", 3)])
        self.assertEqual(distances(network, "oslo", 5), {"oslo": 0, "cork": 2, "rome": 5})

### tests/test_order.py
import unittest

from graphs.network import Network
from graphs.order import reachable, topological


class OrderTest(unittest.TestCase):
    def test_chain(self):
        network = Network([("b", "c"), ("a", "b")])
        self.assertEqual(topological(network), ["a", "b", "c"])

    def test_two_starts(self):
        network = Network([("d", "c"), ("a", "c")])
        self.assertEqual(topological(network), ["a", "d", "c"])

    def test_diamond(self):
        network = Network([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
        self.assertEqual(topological(network), ["a", "b", "c", "d"])

    def test_circle(self):
        with self.assertRaises(ValueError):
            topological(Network([("a", "b"), ("b", "a")]))

    def test_reachable(self):
        network = Network([("a", "b"), ("b", "c"), ("d", "a")])
        self.assertEqual(reachable(network, "a"), ["a", "b", "c"])

    def test_reachable_in_a_circle(self):
        network = Network([("b", "a"), ("a", "b")])
        self.assertEqual(reachable(network, "b"), ["a", "b"])

    def test_nothing_reachable(self):
        self.assertEqual(reachable(Network(), "a"), ["a"])
''',
    names={
        "graphs": ("graphs", "roadmap", "pathfinder"),
        "network": ("network", "roadnet", "digraph"),
        "Network": ("Network", "Map", "Digraph"),
        "routes": ("routes", "paths", "search"),
        "connect": ("connect", "link", "add_road"),
        "fewest_stops": ("fewest_stops", "shortest_path", "bfs"),
        "distances": ("distances", "lengths", "costs"),
        "topological": ("topological", "sort_places", "arrange"),
        "reachable": ("reachable", "visit", "closure"),
        "came_from": ("came_from", "parents", "before"),
        "waiting": ("waiting", "queue", "todo"),
        "oslo": ("oslo", "lima", "nice"),
        "rome": ("rome", "turin", "riga"),
        "cork": ("cork", "bonn", "graz"),
    },
    constants={"L": (4, 6, 7, 8)},
)
