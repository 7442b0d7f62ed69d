"""Mistakes in source text, tests taken out of suites, and what issues say."""

import ast
import dataclasses
from collections import Counter

import pytest

from sandgym.draws import Draw
from sandgym.swebench.bugs import Bug, Example, find_bug, sites
from sandgym.swebench.issues_text import hints_text, issue_text, readable, symptom
from sandgym.swebench.mutations import mutations
from sandgym.swebench.packages import TEST_FAMILIES, TRAIN_FAMILIES, Package, family, render
from sandgym.swebench.proof import Modules
from sandgym.swebench.suites import Step, test_name, trial, without_tests


def changed(text: str, kind: str) -> list[str]:
    """What the mistakes of a kind make of a text."""
    return [mutation.apply(text) for mutation in mutations(text) if mutation.kind == kind]


def body(*lines: str) -> str:
    return "def f(a, b):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("kind", "line", "wrong"),
    [
        ("wrong boundary", "return a < b", ["return a <= b"]),
        ("wrong boundary", "return 0 <= a < b", ["return 0 < a < b", "return 0 <= a <= b"]),
        ("wrong comparison", "return a <= b", ["return a >= b"]),
        ("inverted condition", "return a == b", ["return a != b"]),
        ("inverted condition", "return (a) is not (b)", ["return (a) is (b)"]),
        ("inverted condition", "return not a", ["return a"]),
        ("wrong operator", "return (a + 2) * b", ["return (a + 2) + b", "return (a - 2) * b"]),
        ("wrong operator", "a += b", ["a -= b"]),
        ("lost update", "a += b", ["a = b"]),
        ("off by one", "return a - 1", ["return a", "return a - 2", "return a - 0"]),
        ("off by one", "return range(b)", ["return range(b - 1)", "return range(1, b)"]),
        ("swapped operands", "return a // b", ["return b // a"]),
        ("wrong logic", "return a and b", ["return a or b"]),
        ("missing condition", "return a or b", ["return a", "return b"]),
        ("missing condition", "return a and (b or 1)", ["return a and (b)", "return a and (1)"]),
        ("wrong sign", "return -a", ["return a"]),
        ("wrong call", "return min(a.lstrip(), b)", ["return max(a.lstrip(), b)", "return min(a.rstrip(), b)"]),
        ("missing call", "return sorted(a.strip())", ["return a.strip()", "return sorted(a)"]),
        ("swapped arguments", "return pow(a, b)", ["return pow(b, a)"]),
        ("missing argument", "return pow(a, b)", ["return pow(a)"]),
        ("missing argument", "return sorted(a, key=b, reverse=True)", ["return sorted(a, key=b)"]),
        ("wrong flag", "return True", ["return False"]),
        ("wrong text", 'return ", "', ['return ","']),
        ("swapped branches", "return 1 if a else b", ["return b if a else 1"]),
        ("wrong variable", "return a", ["return b"]),
        ("wrong index", "return a[0]", ["return a[-1]"]),
        ("wrong index", "return a[-1]", ["return a[0]"]),
        ("wrong order", "return a[::-1]", ["return a"]),
        ("swapped results", "return a, b", ["return b, a"]),
        ("wrong exception", 'raise ValueError("x")', ['raise TypeError("x")']),
    ],
)
def test_kinds_in_a_line(kind, line, wrong):
    assert sorted(changed(body(line), kind)) == sorted(map(body, wrong))


def test_missing_guard():
    text = body("if a:", "    return b", "return a")
    assert changed(text, "missing guard") == [body("return a")]


def test_no_guard_is_taken_from_a_block_that_has_nothing_else():
    assert changed(body("if a:", "    return b"), "missing guard") == []


def test_missing_branch():
    text = body("if a:", "    b()", "elif b:", "    a()", "else:", "    a(b)")
    assert changed(text, "missing case") == [body("if a:", "    b()", "else:", "    a(b)")]


def test_missing_entry():
    assert changed("T = (1, 2, 3)\n", "missing case") == ["T = (2, 3)\n", "T = (1, 3)\n", "T = (1, 2)\n"]
    assert changed('T = {"a": 1, "b": 2, "c": 3}\n', "missing case")[2] == 'T = {"a": 1, "b": 2}\n'


def test_missing_statement():
    text = body("a.x = 1", "b = 2", "a.append(b)")
    assert changed(text, "missing statement") == [body("b = 2", "a.append(b)"), body("a.x = 1", "b = 2")]


def test_wrong_default():
    assert changed("def f(a=10, b=True, c=None):\n    pass\n", "wrong default") == [
        "def f(a=5, b=True, c=None):\n    pass\n",
        "def f(a=10, b=False, c=None):\n    pass\n",
    ]


def test_wrong_attribute():
    text = "class C:\n    def __init__(self):\n        self.a = self.b = 0\n\n    def f(self):\n        return self.a\n"
    assert changed(text, "wrong attribute") == [text.replace("return self.a", "return self.b")]


def test_functions_have_their_class():
    text = "class C:\n    def __init__(self):\n        self.a = 1\n\n\ndef f():\n    return 1\n\n\nX = 1\n"
    assert {mutation.function for mutation in mutations(text)} == {"C.__init__", "f", ""}


def test_texts_inside_of_formatted_strings_and_docstrings_stay():
    assert mutations('def f(a):\n    """About 1."""\n    return f"{a + 1}"\n') == []


@pytest.mark.parametrize("name", TRAIN_FAMILIES + TEST_FAMILIES)
def test_all_mistakes_of_the_library_are_python_and_places_do_not_depend_on_names(name):
    template = family(name)
    packages = [render(template, Draw(name, number)) for number in range(2)]
    found = []
    for package in packages:
        places = {}
        for path in package.modules:
            texts = set()
            for mutation in mutations(package.files[path]):
                text = mutation.apply(package.files[path])
                ast.parse(text)
                texts.add(text)
                places[package.modules.index(path), mutation.place] = mutation.kind
            assert len(texts) == len(mutations(package.files[path]))
        found.append(places)
    shared = found[0].keys() & found[1].keys()
    assert len(shared) >= 0.95 * len(found[0])
    assert all(found[0][place] == found[1][place] for place in shared)


# Suites.

SUITE = """\
import unittest

from pkg.a import twice, unused
from pkg.b import Box

ROWS = [1, 2]
OTHER = 3


class OneTest(unittest.TestCase):
    def test_a(self):
        self.assertEqual(twice(2), 4)

    def test_b(self):
        box = Box(
            ROWS,
        )
        for row in ROWS:
            box.add(row)
        self.assertEqual(box.pop(), 2)
        self.assertEqual(len(box), 3)


class TwoTest(unittest.TestCase):
    def test_c(self):
        with self.assertRaises(ValueError):
            twice(None)
"""


def test_tests_are_taken_out():
    assert without_tests(SUITE, {("OneTest", "test_a")}) == SUITE.replace(
        "    def test_a(self):\n        self.assertEqual(twice(2), 4)\n\n", ""
    )
    kept = without_tests(SUITE, {("OneTest", "test_b"), ("TwoTest", "test_c")})
    assert kept == SUITE[: SUITE.index("    def test_b")].rstrip() + "\n"
    assert without_tests(SUITE, set()) == SUITE


def test_a_class_without_tests_goes():
    kept = without_tests(SUITE, {("OneTest", "test_a"), ("OneTest", "test_b")})
    assert kept == SUITE[: SUITE.index("class OneTest")] + SUITE[SUITE.index("class TwoTest") :]


def test_what_a_test_does():
    tried = trial(SUITE, "OneTest", "test_b")
    assert tried.imports == ("from pkg.b import Box",)
    assert tried.constants == ("ROWS = [1, 2]",)
    assert tried.steps == (
        Step("setup", "box = Box(\n    ROWS,\n)"),
        Step("setup", "for row in ROWS:\n    box.add(row)"),
        Step("value", "box.pop()"),
        Step("value", "len(box)"),
    )
    assert trial(SUITE, "TwoTest", "test_c").steps == (Step("error", "twice(None)"),)


def test_name_of_a_test():
    assert test_name("test_a (tests.test_b.CTest.test_a)") == ("tests/test_b.py", "CTest", "test_a")


test_name.__test__ = False  # a function of the package, not a test


# Bugs.

MODULE = """\
class Box:
    def __init__(self, most=3):
        self.most = most
        self.things = []

    def put(self, thing):
        if len(self.things) >= self.most:
            raise ValueError("full")
        self.things.append(thing)
        return len(self.things)


def halves(number):
    while number > 1:
        number = number // 2
    return number
"""
TESTS = """\
import unittest

from box.core import Box, halves


class BoxTest(unittest.TestCase):
    def test_put(self):
        box = Box()
        self.assertEqual(box.put("a"), 1)
        self.assertEqual(box.things, ["a"])

    def test_full(self):
        box = Box(2)
        box.put("a")
        box.put("b")
        with self.assertRaises(ValueError):
            box.put("c")

    def test_most(self):
        self.assertEqual(Box().most, 3)
"""
MORE = "".join(f"\n    def test_halves_{n}(self):\n        self.assertEqual(halves({n}), 1)\n" for n in range(1, 11))
BOX = Package(
    "box",
    "box",
    {
        "box/__init__.py": "",
        "box/core.py": MODULE,
        "tests/__init__.py": "",
        "tests/test_core.py": TESTS + MORE,
    },
    ("box/core.py",),
    ("tests/test_core.py",),
)


def bugs(kind: str) -> list[Bug]:
    found = (find_bug(BOX, site) for site, each in sites(BOX, Draw()) if each == kind)
    return sorted((bug for bug in found if bug is not None), key=lambda bug: bug.mutation.start)


def test_a_bug_that_refuses_too_early():
    (bug,) = bugs("wrong comparison")
    assert bug.bad == MODULE.replace(">= self.most", "<= self.most")
    assert bug.failing == (
        "test_full (tests.test_core.BoxTest.test_full)",
        "test_put (tests.test_core.BoxTest.test_put)",
    )
    assert len(bug.passing) == 11
    assert bug.example == Example(
        ("from box.core import Box", "box = Box(2)"), 'box.put("a")', "", False, "ValueError", True
    )


def test_a_bug_that_does_not_refuse():
    (bug,) = bugs("missing guard")
    assert bug.example.expected == "ValueError"
    assert (bug.example.raises, bug.example.raised) == (True, False)
    assert symptom(bug.example) == '`box.put("c")` should raise ValueError, but it does not.'
    assert bug.example.setup == ("from box.core import Box", "box = Box(2)", 'box.put("a")', 'box.put("b")')


def test_a_bug_in_a_value():
    shown = {symptom(bug.example) for bug in bugs("wrong default")}
    assert shown == {"`Box().most` should give `3`, but I get `1`."}


def test_endless_loops_and_what_no_test_sees_are_no_bugs():
    assert not any("number > 1" not in bug.bad and "number >= 1" in bug.bad for bug in bugs("wrong boundary"))
    assert bugs("wrong text") == []


def test_kinds_take_turns():
    kinds = [kind for _, kind in sites(BOX, Draw())]
    different = len(set(kinds))
    assert set(kinds[:different]) == set(kinds)
    assert Counter(kinds) == Counter(m.kind for m in mutations(MODULE))


def test_a_package_that_fails_its_own_tests_is_no_package():
    files = {**BOX.files, "tests/test_core.py": TESTS.replace("most, 3", "most, 4") + MORE}
    broken = dataclasses.replace(BOX, files=files)
    places = [site for site, kind in sites(broken, Draw()) if kind == "missing guard"]
    with pytest.raises(AssertionError, match="test_most"):
        find_bug(broken, places[0])


# Issues.


def test_an_issue_says_what_happens_and_where():
    (bug,) = bugs("missing guard")
    text = issue_text(bug, True, False, Draw("a"))
    assert "`put`" in text.splitlines()[0]
    code = 'from box.core import Box\n\nbox = Box(2)\nbox.put("a")\nbox.put("b")\nbox.put("c")\n'
    assert f"```python\n{code}```" in text
    assert symptom(bug.example) in text
    assert "`Box.put` in `box/core.py`" in text
    assert "a missing guard in `Box.put` in `box/core.py`" in hints_text(bug, Draw("a"))


def test_an_issue_that_says_what_the_line_should_be():
    (bug,) = bugs("wrong comparison")
    number = bug.bad.splitlines().index("        if len(self.things) <= self.most:") + 1
    for draw in range(20):
        text = issue_text(bug, True, True, Draw(draw))
        assert f"`box/core.py:{number}`" in text
        assert "`if len(self.things) >= self.most:`" in text
        assert "<=" not in text
    (bug,) = bugs("missing guard")  # of two lines
    assert issue_text(bug, True, True, Draw("a")) == issue_text(bug, True, False, Draw("a"))


def test_an_issue_that_does_not_say_where():
    (bug,) = bugs("missing guard")
    for number in range(20):
        text = issue_text(bug, False, False, Draw(number))
        assert "box/core.py" not in text
        assert "Box.put" not in text


@pytest.mark.parametrize(
    ("call", "expected", "actual", "said"),
    [
        ("f(1)", ("2", False), ("3", False), "`f(1)` should give `2`, but I get `3`."),
        ("f(1)", ("2", False), ("KeyError", True), "`f(1)` should give `2`, but it raises KeyError."),
        ("f(1)", ("", False), ("KeyError", True), "`f(1)` should work, but it raises KeyError."),
        ("f(1)", ("OSError", True), ("KeyError", True), "`f(1)` should raise OSError, but it raises KeyError."),
        ("f(1)", ("OSError", True), ("", False), "`f(1)` should raise OSError, but it does not."),
        ("for i in x:\n    f(i)", ("", False), ("E", True), "The last statement should work, but it raises E."),
        ("repr(f(1))", ("'S(1)'", False), ("'S(2)'", False), "`f(1)` should give `S(1)`, but I get `S(2)`."),
    ],
)
def test_symptoms(call, expected, actual, said):
    assert symptom(readable(Example((), call, *expected, *actual))) == said


def test_the_example_of_an_issue_is_true():
    package = render(family("inventory"), Draw("issue"))
    shown = 0
    for site, _ in sites(package, Draw("issue"))[:20]:
        bug = find_bug(package, site)
        if bug is None:
            continue
        shown += 1
        lines = "\n".join((*bug.example.setup, f"result = {bug.example.call}"))
        ends = (bug.example.expected, bug.example.actual)
        for text, end in zip((bug.good, bug.bad), ends, strict=True):
            assert run({**package.files, bug.path: text}, lines) == (end or "None")
    assert shown >= 8


def run(files: dict[str, str], lines: str) -> str:
    modules = Modules(files)
    scope = modules.scope()
    try:
        modules.run(lines, scope)
    except Exception as error:
        return type(error).__name__
    return repr(scope["result"])
