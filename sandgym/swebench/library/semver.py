"""Version numbers and requirements."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "semver",
    "Reads, compares and raises version numbers, and checks requirements.",
    r'''
### semver/version.py
"""Version numbers of three parts."""


def parse(text):
    """Major, minor and patch number; what is missing counts as zero."""
    text = text.strip()
    if text.startswith("v"):
        text = text[1:]
    parts = text.split("-")[0].split(".")
    if len(parts) > 3:
        raise ValueError("too many parts")
    numbers = [int(part) for part in parts]
    return tuple(numbers + [0] * (3 - len(numbers)))


def label(text):
    """What stands after the dash, such as beta; empty for a release."""
    _, _, rest = text.partition("-")
    return rest


def key(text):
    """By which versions are ordered: a release comes after its labels."""
    return parse(text), label(text) == "", label(text)


def newest(texts, labels=False):
    """The largest version; labelled ones only where that is allowed."""
    allowed = [text for text in texts if labels or not label(text)]
    if not allowed:
        return None
    return max(allowed, key=key)


def sort_versions(texts):
    """Versions, the oldest first."""
    return sorted(texts, key=key)

### semver/bump.py
"""The next version."""

from semver.version import label, parse


def show(numbers):
    """Text of version numbers."""
    return ".".join(str(number) for number in numbers)


def bump(text, part="patch"):
    """The version with a part raised and the parts after it at zero."""
    major, minor, patch = parse(text)
    if part == "major":
        return show((major + 1, 0, 0))
    elif part == "minor":
        return show((major, minor + 1, 0))
    elif part == "patch":
        if label(text):
            return show((major, minor, patch))
        return show((major, minor, patch + 1))
    raise ValueError("unknown part")


def part_of(old, new):
    """Which part differs between two versions, or None."""
    names = ("major", "minor", "patch")
    for name, before, after in zip(names, parse(old), parse(new)):
        if before != after:
            return name
    return None


def history(start, parts):
    """Versions that follow each other when parts are raised."""
    versions = [start]
    for part in parts:
        versions.append(bump(versions[-1], part))
    return versions

### semver/require.py
"""Requirements such as >=1.2,<2."""

from semver.version import key, newest, parse

SIGNS = (">=", "<=", "==", "!=", ">", "<", "~")


def split_sign(condition):
    """Sign and version of a condition; no sign means equal."""
    condition = condition.strip()
    for sign in SIGNS:
        if condition.startswith(sign):
            return sign, condition[len(sign) :].strip()
    return "==", condition


def meets(text, condition):
    """Whether a version meets a condition."""
    sign, wanted = split_sign(condition)
    if sign == ">=":
        return key(text) >= key(wanted)
    elif sign == "<=":
        return key(text) <= key(wanted)
    elif sign == ">":
        return key(text) > key(wanted)
    elif sign == "<":
        return key(text) < key(wanted)
    elif sign == "!=":
        return key(text) != key(wanted)
    elif sign == "~":
        return key(text) >= key(wanted) and parse(text)[:2] == parse(wanted)[:2]
    return key(text) == key(wanted)


def meets_all(text, requirement):
    """Whether a version meets all conditions, which commas separate."""
    return all(meets(text, condition) for condition in requirement.split(",") if condition.strip())


def best(texts, requirement):
    """The newest version that meets a requirement, or None."""
    return newest([text for text in texts if meets_all(text, requirement)])

### tests/test_version.py
import unittest

from semver.version import label, newest, parse, sort_versions


class VersionTest(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(parse("1.«A».3"), (1, «A», 3))

    def test_parse_short(self):
        self.assertEqual(parse("«A»"), («A», 0, 0))

    def test_parse_with_mark(self):
        self.assertEqual(parse("v2.«A»"), (2, «A», 0))

    def test_parse_with_label(self):
        self.assertEqual(parse("1.2.«A»-beta"), (1, 2, «A»))

    def test_parse_with_space(self):
        self.assertEqual(parse(" 1.2.3\n"), (1, 2, 3))

    def test_parse_too_many(self):
        with self.assertRaises(ValueError):
            parse("1.2.3.4")

    def test_label(self):
        self.assertEqual(label("1.2.3-beta-2"), "beta-2")

    def test_no_label(self):
        self.assertEqual(label("1.2.3"), "")

    def test_newest(self):
        self.assertEqual(newest(["1.9.0", "1.10.0", "1.2.0"]), "1.10.0")

    def test_newest_without_labels(self):
        self.assertEqual(newest(["1.0.0", "2.0.0-beta"]), "1.0.0")

    def test_newest_with_labels(self):
        self.assertEqual(newest(["1.0.0", "2.0.0-beta"], True), "2.0.0-beta")

    def test_newest_of_nothing(self):
        self.assertEqual(newest(["1.0.0-beta"]), None)

    def test_sort_versions(self):
        self.assertEqual(sort_versions(["2.0", "1.10", "1.9"]), ["1.9", "1.10", "2.0"])

    def test_release_after_its_labels(self):
        self.assertEqual(sort_versions(["1.0", "1.0-beta", "1.0-a"]), ["1.0-a", "1.0-beta", "1.0"])

### tests/test_bump.py
import unittest

from semver.bump import bump, history, part_of, show


class BumpTest(unittest.TestCase):
    def test_show(self):
        self.assertEqual(show((1, 2, «A»)), "1.2.«A»")

    def test_patch_by_default(self):
        self.assertEqual(bump("1.2.«A»"), "1.2.«A + 1»")

    def test_minor(self):
        self.assertEqual(bump("1.«A».3", "minor"), "1.«A + 1».0")

    def test_major(self):
        self.assertEqual(bump("«A».2.3", "major"), "«A + 1».0.0")

    def test_patch_of_a_label(self):
        self.assertEqual(bump("1.2.«A»-beta"), "1.2.«A»")

    def test_unknown_part(self):
        with self.assertRaises(ValueError):
            bump("1.2.3", "tiny")

    def test_part_of_major(self):
        self.assertEqual(part_of("1.2.3", "2.2.3"), "major")

    def test_part_of_patch(self):
        self.assertEqual(part_of("1.2.3", "1.2.4"), "patch")

    def test_part_of_equal(self):
        self.assertEqual(part_of("1.2.3", "1.2.3"), None)

    def test_history(self):
        self.assertEqual(history("1.0.0", ["patch", "minor"]), ["1.0.0", "1.0.1", "1.1.0"])

### tests/test_require.py
import unittest

from semver.require import best, meets, meets_all, split_sign


class RequireTest(unittest.TestCase):
    def test_split(self):
        self.assertEqual(split_sign(">= 1.2"), (">=", "1.2"))

    def test_split_short_sign(self):
        self.assertEqual(split_sign("<2"), ("<", "2"))

    def test_split_without_sign(self):
        self.assertEqual(split_sign(" 1.2 "), ("==", "1.2"))

    def test_at_least(self):
        self.assertEqual(meets("1.2.0", ">=1.2"), True)
        self.assertEqual(meets("1.1.9", ">=1.2"), False)

    def test_at_most(self):
        self.assertEqual(meets("1.2.0", "<=1.2"), True)
        self.assertEqual(meets("1.2.1", "<=1.2"), False)

    def test_larger(self):
        self.assertEqual(meets("1.2.0", ">1.2"), False)
        self.assertEqual(meets("1.3", ">1.2"), True)

    def test_smaller(self):
        self.assertEqual(meets("1.2.0", "<1.2"), False)
        self.assertEqual(meets("1.1", "<1.2"), True)

    def test_different(self):
        self.assertEqual(meets("1.2.0", "!=1.2"), False)
        self.assertEqual(meets("1.3", "!=1.2"), True)

    def test_equal(self):
        self.assertEqual(meets("1.2.0", "==1.2"), True)
        self.assertEqual(meets("1.2.1", "1.2"), False)

    def test_compatible(self):
        self.assertEqual(meets("1.2.9", "~1.2.3"), True)

    def test_compatible_too_old(self):
        self.assertEqual(meets("1.2.2", "~1.2.3"), False)

    def test_compatible_other_minor(self):
        self.assertEqual(meets("1.3.5", "~1.2.3"), False)

    def test_all(self):
        self.assertEqual(meets_all("1.5", ">=1.2, <2"), True)
        self.assertEqual(meets_all("2.0", ">=1.2, <2"), False)

    def test_all_of_nothing(self):
        self.assertEqual(meets_all("1.5", ""), True)

    def test_best(self):
        self.assertEqual(best(["1.1", "1.4", "1.9", "2.0"], "<2"), "1.9")

    def test_no_best(self):
        self.assertEqual(best(["1.1"], ">=2"), None)
''',
    names={
        "semver": ("semver", "releases", "verscheme"),
        "version": ("version", "numbers_of", "tags"),
        "bump": ("bump", "raise_part", "advance"),
        "require": ("require", "conditions", "matching"),
        "parse": ("parse", "read", "parts_of"),
        "label": ("label", "suffix", "prerelease"),
        "newest": ("newest", "latest", "largest"),
        "sort_versions": ("sort_versions", "in_order", "ascending"),
        "part_of": ("part_of", "difference", "changed_part"),
        "history": ("history", "sequence", "chain"),
        "meets": ("meets", "satisfies", "fits"),
        "meets_all": ("meets_all", "satisfies_all", "fits_all"),
        "best": ("best", "pick", "choose"),
        "split_sign": ("split_sign", "sign_and_version", "cut"),
        "beta": ("beta", "dev", "rc"),
    },
    constants={"A": (4, 6, 8)},
)
