"""Caches with a limit and with an age."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "cachebox",
    "Caches that forget what was not used for long, and counters of hits.",
    r'''
### cachebox/recent.py
"""A cache of what was used last."""


class RecentCache:
    """At most ``limit`` entries; the one that was not used for longest goes first."""

    def __init__(self, limit=«LIMIT»):
        if limit < 1:
            raise ValueError("limit must be positive")
        self.limit = limit
        self.entries = {}

    def get(self, key, default=None):
        """Value of a key, which counts as used now."""
        if key not in self.entries:
            return default
        value = self.entries.pop(key)
        self.entries[key] = value
        return value

    def put(self, key, value):
        """Keep a value; an old one of the same key is replaced."""
        if key in self.entries:
            del self.entries[key]
        elif len(self.entries) >= self.limit:
            self.forget_oldest()
        self.entries[key] = value

    def forget_oldest(self):
        """Drop the entry that was not used for longest; returns its key."""
        oldest = next(iter(self.entries))
        del self.entries[oldest]
        return oldest

    def keys(self):
        """Keys, the one that was used last at the end."""
        return list(self.entries)

### cachebox/aging.py
"""A cache of entries that grow old."""


class AgingCache:
    """Entries that are gone after ``lifetime`` ticks; the clock is moved by hand."""

    def __init__(self, lifetime=«LIFETIME»):
        self.lifetime = lifetime
        self.now = 0
        self.values = {}
        self.born = {}

    def tick(self, ticks=1):
        """Let time pass."""
        self.now += ticks

    def put(self, key, value):
        """Keep a value from now on."""
        self.values[key] = value
        self.born[key] = self.now

    def age(self, key):
        """Ticks since a value was put in."""
        return self.now - self.born[key]

    def get(self, key, default=None):
        """Value of a key that is not too old."""
        if key not in self.values or self.age(key) >= self.lifetime:
            return default
        return self.values[key]

    def sweep(self):
        """Remove what is too old; returns how many entries that were."""
        old = [key for key in self.values if self.age(key) >= self.lifetime]
        for key in old:
            del self.values[key]
            del self.born[key]
        return len(old)

### cachebox/counting.py
"""Functions that remember their results and count."""


class Counted:
    """A function with one argument whose results are kept."""

    def __init__(self, function):
        self.function = function
        self.known = {}
        self.hits = 0
        self.misses = 0

    def __call__(self, argument):
        if argument in self.known:
            self.hits += 1
            return self.known[argument]
        self.misses += 1
        result = self.function(argument)
        self.known[argument] = result
        return result

    def ratio(self):
        """Percentage of calls whose result was known."""
        calls = self.hits + self.misses
        if calls == 0:
            return 0
        return 100 * self.hits // calls

    def clear(self):
        """Forget results and counts."""
        self.known = {}
        self.hits = 0
        self.misses = 0

### tests/test_recent.py
import unittest

from cachebox.recent import RecentCache


class RecentCacheTest(unittest.TestCase):
    def test_get(self):
        cache = RecentCache()
        cache.put("pear", 1)
        self.assertEqual(cache.get("pear"), 1)

    def test_missing(self):
        self.assertEqual(RecentCache().get("pear"), None)

    def test_missing_with_default(self):
        self.assertEqual(RecentCache().get("pear", «LIMIT»), «LIMIT»)

    def test_no_limit(self):
        with self.assertRaises(ValueError):
            RecentCache(0)

    def test_limit_of_one(self):
        cache = RecentCache(1)
        cache.put("pear", 1)
        cache.put("plum", 2)
        self.assertEqual(cache.keys(), ["plum"])

    def test_oldest_goes(self):
        cache = RecentCache(2)
        cache.put("pear", 1)
        cache.put("plum", 2)
        cache.put("fig", 3)
        self.assertEqual(cache.keys(), ["plum", "fig"])

    def test_full_but_not_too_full(self):
        cache = RecentCache(2)
        cache.put("pear", 1)
        cache.put("plum", 2)
        self.assertEqual(cache.keys(), ["pear", "plum"])

    def test_get_counts_as_use(self):
        cache = RecentCache(2)
        cache.put("pear", 1)
        cache.put("plum", 2)
        cache.get("pear")
        self.assertEqual(cache.keys(), ["plum", "pear"])

    def test_put_again(self):
        cache = RecentCache(2)
        cache.put("pear", 1)
        cache.put("plum", 2)
        cache.put("pear", 3)
        self.assertEqual(cache.keys(), ["plum", "pear"])
        self.assertEqual(cache.get("pear"), 3)

    def test_forget_oldest(self):
        cache = RecentCache(2)
        cache.put("pear", 1)
        cache.put("plum", 2)
        self.assertEqual(cache.forget_oldest(), "pear")
        self.assertEqual(cache.keys(), ["plum"])

    def test_default_limit(self):
        self.assertEqual(RecentCache().limit, «LIMIT»)

### tests/test_aging.py
import unittest

from cachebox.aging import AgingCache


class AgingCacheTest(unittest.TestCase):
    def test_fresh(self):
        cache = AgingCache()
        cache.put("pear", 1)
        self.assertEqual(cache.get("pear"), 1)

    def test_missing(self):
        self.assertEqual(AgingCache().get("pear", 7), 7)

    def test_age(self):
        cache = AgingCache()
        cache.tick(2)
        cache.put("pear", 1)
        cache.tick(3)
        self.assertEqual(cache.age("pear"), 3)

    def test_tick_of_one(self):
        cache = AgingCache()
        cache.tick()
        self.assertEqual(cache.now, 1)

    def test_still_young(self):
        cache = AgingCache()
        cache.put("pear", 1)
        cache.tick(«LIFETIME - 1»)
        self.assertEqual(cache.get("pear"), 1)

    def test_too_old(self):
        cache = AgingCache()
        cache.put("pear", 1)
        cache.tick(«LIFETIME»)
        self.assertEqual(cache.get("pear"), None)

    def test_put_again_makes_young(self):
        cache = AgingCache(3)
        cache.put("pear", 1)
        cache.tick(2)
        cache.put("pear", 4)
        cache.tick(2)
        self.assertEqual(cache.get("pear"), 4)

    def test_sweep(self):
        cache = AgingCache(3)
        cache.put("pear", 1)
        cache.tick(3)
        cache.put("plum", 2)
        self.assertEqual(cache.sweep(), 1)
        self.assertEqual(cache.values, {"plum": 2})

    def test_nothing_to_sweep(self):
        cache = AgingCache(3)
        cache.put("pear", 1)
        cache.tick(2)
        self.assertEqual(cache.sweep(), 0)

### tests/test_counting.py
import unittest

from cachebox.counting import Counted


class CountedTest(unittest.TestCase):
    def test_result(self):
        self.assertEqual(Counted(abs)(-4), 4)

    def test_known_result(self):
        function = Counted(abs)
        function(-4)
        self.assertEqual(function(-4), 4)

    def test_hits(self):
        function = Counted(abs)
        function(-4)
        function(-4)
        function(-4)
        self.assertEqual((function.hits, function.misses), (2, 1))

    def test_misses(self):
        function = Counted(len)
        function("pear")
        function("plum")
        self.assertEqual((function.hits, function.misses), (0, 2))

    def test_ratio(self):
        function = Counted(len)
        function("pear")
        function("pear")
        function("pear")
        self.assertEqual(function.ratio(), 66)

    def test_ratio_without_calls(self):
        self.assertEqual(Counted(len).ratio(), 0)

    def test_clear(self):
        function = Counted(len)
        function("pear")
        function("pear")
        function.clear()
        self.assertEqual((function.hits, function.misses, function.known), (0, 0, {}))
''',
    names={
        "cachebox": ("cachebox", "keeper", "memobox"),
        "recent": ("recent", "lru", "lately"),
        "aging": ("aging", "expiring", "ttl"),
        "counting": ("counting", "memoize", "hitcount"),
        "RecentCache": ("RecentCache", "LRUCache", "BoundedCache"),
        "AgingCache": ("AgingCache", "ExpiringCache", "TimedCache"),
        "Counted": ("Counted", "Memoized", "Remembered"),
        "entries": ("entries", "stored", "kept"),
        "forget_oldest": ("forget_oldest", "evict", "drop_oldest"),
        "sweep": ("sweep", "purge", "clean"),
        "lifetime": ("lifetime", "max_age", "ttl_ticks"),
        "ratio": ("ratio", "hit_percent", "percentage"),
        "pear": ("pear", "oak", "tea", "red"),
        "plum": ("plum", "elm", "milk", "blue"),
        "fig": ("fig", "ash", "juice", "green"),
    },
    constants={"LIMIT": (8, 16, 32, 64), "LIFETIME": (5, 10, 30, 60)},
)
