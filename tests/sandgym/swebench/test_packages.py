"""The library of packages: every family works under all names and constants, and suites run as unittest runs them."""

import ast
import subprocess
import sys

import pytest

from sandgym.draws import Draw
from sandgym.swebench.packages import TEST_FAMILIES, TRAIN_FAMILIES, Family, describe, family, render
from sandgym.swebench.proof import EndlessError, Modules, outcomes

FAMILIES = TRAIN_FAMILIES + TEST_FAMILIES
TEXT = """
### shop/counter.py
class Counter:
    \"\"\"A counter; ``step`` is what it counts by, in Counter.\"\"\"

    def __init__(self, step=«STEP»):
        self.step = step

### tests/test_counter.py
import unittest

from shop.counter import Counter


class CounterTest(unittest.TestCase):
    def test_step(self):
        self.assertEqual(Counter().step, «2 * STEP - STEP»)
        self.assertEqual(«NAME», "a" + "b")
"""


def small(**names: tuple[str, ...]) -> Family:
    return describe("shop", "Counts.", TEXT, names, {"STEP": (7,), "NAME": ("ab",)})


def test_names_and_constants_are_filled_in():
    package = render(small(Counter=("Tally",), counter=("tally",), shop=("store",), step=("pace",)), Draw())
    assert package.name == "store"
    assert package.modules == ("store/tally.py",)
    assert package.suites == ("tests/test_tally.py",)
    assert package.files["store/tally.py"].splitlines() == [
        "class Tally:",
        '    """A counter; ``pace`` is what it counts by, in Counter."""',
        "",
        "    def __init__(self, pace=7):",
        "        self.pace = pace",
    ]
    assert "        self.assertEqual(Tally().pace, 7)" in package.files["tests/test_tally.py"]
    assert '        self.assertEqual("ab", "a" + "b")' in package.files["tests/test_tally.py"]
    assert package.files["store/__init__.py"] == '"""Counts."""\n'


def test_names_may_change_places():
    package = render(small(Counter=("CounterTest",), CounterTest=("Counter",)), Draw())
    assert "class Counter(unittest.TestCase):" in package.files["tests/test_counter.py"]
    assert "CounterTest().step" in package.files["tests/test_counter.py"]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_passes_its_tests_under_all_names_and_constants(name):
    template = family(name)
    assert template.name == name
    shapes = set()
    drawn = set()
    for number in range(6):
        package = render(template, Draw(name, number))
        results = outcomes(package.files, package.suites)
        assert [test for test, outcome in results.items() if outcome != "passed"] == []
        assert len(results) >= 20
        assert 2 <= len(package.modules) <= 4
        shapes.add(tuple(shape(package.files[path]) for path in package.modules))
        drawn.add(tuple(package.files[path] for path in package.modules))
    assert len(shapes) == 1
    assert len(drawn) == 6


def shape(text: str) -> tuple[type, ...]:
    """Kinds of the nodes of a syntax tree, in order; names and values left out. A sign is part of a number."""
    nodes = [node for node in ast.walk(ast.parse(text)) if not isinstance(node, ast.UnaryOp | ast.USub)]
    return tuple(type(node) for node in nodes)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_alternative_of_a_name_works(name):
    """Each name by itself, so that no pair of names hides another's clash."""
    template = family(name)
    for old, choices in template.names.items():
        assert old in choices or template.name in ("semver", "urls", "bowling"), old
    turns = max(len(choices) for choices in template.names.values())
    for turn in range(turns):
        names = {old: (choices[turn % len(choices)],) for old, choices in template.names.items()}
        fixed = Family(template.name, template.summary, template.sources, names, template.constants)
        package = render(fixed, Draw(name, turn))
        assert set(outcomes(package.files, package.suites).values()) == {"passed"}


def test_there_are_enough_families_and_none_is_in_two_splits():
    assert len(TRAIN_FAMILIES) >= 20
    assert len(set(FAMILIES)) == len(FAMILIES)


# Running suites without files.

FILES = {
    "pkg/__init__.py": "",
    "pkg/a.py": "import os\nfrom pkg.b import value\n\n\ndef twice(n=value):\n    return 2 * n\n",
    "pkg/b.py": "value = 4\n\n\ndef forever():\n    while True:\n        pass\n",
    "pkg/c.py": "import pkg.b\n\n\ndef generator():\n    try:\n        yield\n    finally:\n        pkg.b.forever()\n",
    "tests/__init__.py": "",
    "tests/test_a.py": """\
import unittest

from pkg.a import twice
from pkg.b import forever
from pkg.c import generator


class ATest(unittest.TestCase):
    def test_right(self):
        self.assertEqual(twice(), 8)

    def test_wrong(self):
        self.assertEqual(twice(3), 7)

    def test_error(self):
        twice(None)

    def test_forever(self):
        forever()

    def test_finalizer(self):
        next(generator())

    @unittest.skip("not now")
    def test_skipped(self):
        pass
""",
}
RESULTS = {
    "test_error (tests.test_a.ATest.test_error)": "failed",
    "test_finalizer (tests.test_a.ATest.test_finalizer)": "endless",
    "test_forever (tests.test_a.ATest.test_forever)": "endless",
    "test_right (tests.test_a.ATest.test_right)": "passed",
    "test_skipped (tests.test_a.ATest.test_skipped)": "failed",
    "test_wrong (tests.test_a.ATest.test_wrong)": "failed",
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_outcomes():
    assert outcomes(FILES, ("tests/test_a.py",)) == RESULTS
    assert not {"pkg", "pkg.a", "tests.test_a"} & set(sys.modules)


def test_names_of_tests_are_those_that_unittest_prints(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    short = [test for test, outcome in RESULTS.items() if outcome != "endless"]
    command = [sys.executable, "-m", "unittest", "-v", *(f"tests.test_a.ATest.{test.split()[0]}" for test in short)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    printed = dict(line.split(" ... ") for line in done.stderr.splitlines() if " ... " in line)
    assert set(printed) == set(short)
    assert printed["test_right (tests.test_a.ATest.test_right)"] == "ok"
    assert printed["test_wrong (tests.test_a.ATest.test_wrong)"] == "FAIL"
    assert printed["test_error (tests.test_a.ATest.test_error)"] == "ERROR"


def test_statements_beside_modules():
    modules = Modules(FILES)
    scope = modules.scope()
    modules.run("from pkg.a import twice\nresult = twice(5)", scope)
    assert scope["result"] == 10
    with pytest.raises(EndlessError):
        modules.run("from pkg.b import forever\nforever()", scope)
    with pytest.raises(ModuleNotFoundError):
        modules.run("import pkg.d", scope)


def test_a_module_that_cannot_be_imported():
    with pytest.raises(ZeroDivisionError):
        outcomes({**FILES, "pkg/a.py": "1 / 0\n"}, ("tests/test_a.py",))
