"""Priority queues and what is done with them."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "pqueue",
    "A heap, a queue of jobs with priorities, and merging of sorted lists.",
    r'''
### pqueue/heap.py
"""A binary heap; the smallest item is on top."""


class Heap:
    """Items in a list; the children of place i are at 2i + 1 and 2i + 2."""

    def __init__(self, items=()):
        self.items = []
        for item in items:
            self.push(item)

    def __len__(self):
        return len(self.items)

    def push(self, item):
        """Add an item and let it rise."""
        self.items.append(item)
        place = len(self.items) - 1
        while place > 0:
            parent = (place - 1) // 2
            if self.items[parent] <= self.items[place]:
                break
            self.swap(parent, place)
            place = parent

    def pop(self):
        """Remove the smallest item."""
        if not self.items:
            raise IndexError("the heap is empty")
        self.swap(0, len(self.items) - 1)
        smallest = self.items.pop()
        self.sink(0)
        return smallest

    def sink(self, place):
        """Let an item sink until its children are larger."""
        while True:
            child = 2 * place + 1
            if child >= len(self.items):
                return
            if child + 1 < len(self.items) and self.items[child + 1] < self.items[child]:
                child += 1
            if self.items[place] <= self.items[child]:
                return
            self.swap(place, child)
            place = child

    def swap(self, one, other):
        """Exchange two items."""
        self.items[one], self.items[other] = self.items[other], self.items[one]

### pqueue/jobs.py
"""Jobs with priorities."""

from pqueue.heap import Heap


class Jobs:
    """The highest priority first; equal ones in the order in which they came."""

    def __init__(self, normal=«NORMAL»):
        self.heap = Heap()
        self.normal = normal
        self.count = 0
        self.done = []

    def add(self, name, priority=None):
        """Add a job."""
        if priority is None:
            priority = self.normal
        if not 0 <= priority <= «MOST»:
            raise ValueError("priority out of range")
        self.heap.push((-priority, self.count, name))
        self.count += 1

    def next(self):
        """Name of the next job, or None."""
        if len(self.heap) == 0:
            return None
        name = self.heap.pop()[2]
        self.done.append(name)
        return name

    def run(self, most=None):
        """Names of the next jobs, in order."""
        names = []
        while len(self.heap) > 0 and (most is None or len(names) < most):
            names.append(self.next())
        return names

    def waiting(self):
        """How many jobs are not done."""
        return self.count - len(self.done)

### pqueue/merging.py
"""Sorted lists."""

from pqueue.heap import Heap


def heap_sort(items, descending=False):
    """Items in order."""
    heap = Heap(items)
    result = [heap.pop() for _ in range(len(heap))]
    return result[::-1] if descending else result


def smallest(items, count=1):
    """The smallest items, in order."""
    heap = Heap(items)
    return [heap.pop() for _ in range(min(count, len(heap)))]


def merge(*lists):
    """Sorted lists as one."""
    heap = Heap((items[0], number, 0) for number, items in enumerate(lists) if items)
    result = []
    while len(heap) > 0:
        item, number, place = heap.pop()
        result.append(item)
        if place + 1 < len(lists[number]):
            heap.push((lists[number][place + 1], number, place + 1))
    return result


def median(items):
    """The middle item; of two middle ones the smaller."""
    if not items:
        return None
    return heap_sort(items)[(len(items) - 1) // 2]

### tests/test_heap.py
import unittest

from pqueue.heap import Heap


class HeapTest(unittest.TestCase):
    def test_smallest_on_top(self):
        self.assertEqual(Heap([5, 2, 8]).items, [2, 5, 8])

    def test_push(self):
        heap = Heap([«N»])
        heap.push(1)
        self.assertEqual(heap.items, [1, «N»])

    def test_push_larger(self):
        heap = Heap([1])
        heap.push(«N»)
        self.assertEqual(heap.items, [1, «N»])

    def test_push_rises_twice(self):
        self.assertEqual(Heap([4, 5, 6, 7, 1]).items, [1, 4, 6, 7, 5])

    def test_pop(self):
        self.assertEqual(Heap([5, «N», 8]).pop(), «min(N, 5)»)

    def test_pop_twice(self):
        heap = Heap([5, 2, 8, 1])
        self.assertEqual([heap.pop(), heap.pop()], [1, 2])

    def test_pop_all(self):
        heap = Heap([3, 1, 2, 5, 4])
        self.assertEqual([heap.pop() for _ in range(5)], [1, 2, 3, 4, 5])

    def test_pop_empty(self):
        with self.assertRaises(IndexError):
            Heap().pop()

    def test_length(self):
        self.assertEqual(len(Heap([4, «N»])), 2)

    def test_sink_to_the_right(self):
        heap = Heap([1, 7, 2])
        heap.items[0] = 9
        heap.sink(0)
        self.assertEqual(heap.items, [2, 7, 9])

    def test_swap(self):
        heap = Heap([1, 2])
        heap.swap(0, 1)
        self.assertEqual(heap.items, [2, 1])

### tests/test_jobs.py
import unittest

from pqueue.jobs import Jobs


class JobsTest(unittest.TestCase):
    def test_highest_priority_first(self):
        jobs = Jobs()
        jobs.add("wash", 1)
        jobs.add("cook", 3)
        self.assertEqual(jobs.next(), "cook")

    def test_equal_priority(self):
        jobs = Jobs()
        jobs.add("wash", 1)
        jobs.add("cook", 1)
        self.assertEqual(jobs.run(), ["wash", "cook"])

    def test_normal_priority(self):
        jobs = Jobs()
        jobs.add("wash", «NORMAL - 1»)
        jobs.add("cook")
        jobs.add("bake", «NORMAL + 1»)
        self.assertEqual(jobs.run(), ["bake", "cook", "wash"])

    def test_lowest_priority(self):
        jobs = Jobs()
        jobs.add("wash", 0)
        self.assertEqual(jobs.run(), ["wash"])

    def test_highest_priority(self):
        jobs = Jobs()
        jobs.add("wash", «MOST»)
        self.assertEqual(jobs.waiting(), 1)

    def test_priority_out_of_range(self):
        with self.assertRaises(ValueError):
            Jobs().add("wash", «MOST + 1»)

    def test_negative_priority(self):
        with self.assertRaises(ValueError):
            Jobs().add("wash", -1)

    def test_nothing_to_do(self):
        self.assertEqual(Jobs().next(), None)

    def test_run_some(self):
        jobs = Jobs()
        for name in ("wash", "cook", "bake"):
            jobs.add(name)
        self.assertEqual(jobs.run(2), ["wash", "cook"])
        self.assertEqual(jobs.waiting(), 1)

    def test_done(self):
        jobs = Jobs()
        jobs.add("wash")
        jobs.next()
        self.assertEqual(jobs.done, ["wash"])

    def test_own_normal(self):
        jobs = Jobs(0)
        jobs.add("wash")
        jobs.add("cook", 1)
        self.assertEqual(jobs.next(), "cook")

### tests/test_merging.py
import unittest

from pqueue.merging import heap_sort, median, merge, smallest


class MergingTest(unittest.TestCase):
    def test_heap_sort(self):
        self.assertEqual(heap_sort([4, 1, 3]), [1, 3, 4])

    def test_descending(self):
        self.assertEqual(heap_sort([4, 1, 3], True), [4, 3, 1])

    def test_smallest(self):
        self.assertEqual(smallest([4, 1, 3]), [1])

    def test_smallest_two(self):
        self.assertEqual(smallest([4, 1, 3], 2), [1, 3])

    def test_more_than_there_are(self):
        self.assertEqual(smallest([4, 1], 5), [1, 4])

    def test_merge(self):
        self.assertEqual(merge([1, 4], [2, 3, 9]), [1, 2, 3, 4, 9])

    def test_merge_with_an_empty_list(self):
        self.assertEqual(merge([], [2, «N + 2»]), [2, «N + 2»])

    def test_merge_equal_items(self):
        self.assertEqual(merge([1, 1], [1]), [1, 1, 1])

    def test_median(self):
        self.assertEqual(median([9, 1, 5]), 5)

    def test_median_of_two(self):
        self.assertEqual(median([9, 1]), 1)

    def test_median_of_nothing(self):
        self.assertEqual(median([]), None)
''',
    names={
        "pqueue": ("pqueue", "heapwork", "priorities"),
        "heap": ("heap", "tree", "pile"),
        "Heap": ("Heap", "MinHeap", "Pile"),
        "jobs": ("jobs", "agenda", "tasks"),
        "Jobs": ("Jobs", "Agenda", "Tasks"),
        "merging": ("merging", "sorting", "lists_of"),
        "sink": ("sink", "sift_down", "descend"),
        "swap": ("swap", "exchange", "switch"),
        "heap_sort": ("heap_sort", "ordered", "in_order"),
        "smallest": ("smallest", "least", "lowest"),
        "merge": ("merge", "join", "interleave"),
        "median": ("median", "middle", "central"),
        "place": ("place", "index", "at"),
        "wash": ("wash", "mail", "scan"),
        "cook": ("cook", "draw", "clean"),
        "bake": ("bake", "copy", "send"),
    },
    constants={"NORMAL": (2, 3, 5), "MOST": (9, 10), "N": (4, 6, 7)},
)
