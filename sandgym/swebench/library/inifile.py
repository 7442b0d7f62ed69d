"""Settings in sections."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "inifile",
    "Reads settings in sections, with types, defaults and references.",
    r'''
### inifile/reader.py
"""From text to sections."""


def strip_comment(line, marks="#;"):
    """A line without what follows a comment mark."""
    for place, char in enumerate(line):
        if char in marks:
            return line[:place].rstrip()
    return line.rstrip()


def read(text, first=«FIRST»):
    """Sections of names and values; lines before a heading are of the first section."""
    sections = {}
    section = first
    for number, line in enumerate(text.splitlines(), 1):
        line = strip_comment(line).strip()
        if not line:
            continue
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
            sections.setdefault(section, {})
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise SyntaxError("line {}: no value".format(number))
        sections.setdefault(section, {})[name.strip().lower()] = value.strip()
    return sections


def write(sections):
    """Text of sections, in order of their names."""
    blocks = []
    for section in sorted(sections):
        lines = ["[" + section + "]"]
        lines += [name + " = " + value for name, value in sections[section].items()]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"

### inifile/typed.py
"""Values with types."""

TRUE = ("1", "yes", "true", "on")
FALSE = ("0", "no", "false", "off")


def as_bool(value):
    """Truth of a word."""
    word = value.lower()
    if word in TRUE:
        return True
    elif word in FALSE:
        return False
    raise ValueError("not a truth value")


def as_list(value, separator=","):
    """Parts of a value, without empty ones."""
    return [part.strip() for part in value.split(separator) if part.strip()]


def as_bytes(value):
    """Number of bytes of a size such as 4k or 2m."""
    factors = {"k": 1024, "m": 1024 * 1024}
    unit = value[-1].lower()
    if unit in factors:
        return int(value[:-1]) * factors[unit]
    return int(value)


def in_range(value, low=0, high=«HIGH»):
    """A whole number, not outside the range."""
    return max(low, min(int(value), high))

### inifile/settings.py
"""Looking up settings."""


class Settings:
    """Sections with a fallback section."""

    def __init__(self, sections, fallback=«FIRST»):
        self.sections = sections
        self.fallback = fallback
        self.asked = []

    def has(self, section, name):
        """Whether a section itself has a name."""
        return section in self.sections and name in self.sections[section]

    def get(self, section, name, default=None):
        """A value: of the section, else of the fallback section, else the default."""
        self.asked.append(name)
        for place in (section, self.fallback):
            if self.has(place, name):
                return self.sections[place][name]
        return default

    def resolve(self, section, name, depth=3):
        """A value in which ``$name`` stands for another value of the section."""
        if depth < 0:
            raise RecursionError("references are too deep")
        words = []
        for word in self.get(section, name, "").split(" "):
            if word.startswith("$"):
                word = self.resolve(section, word[1:], depth - 1)
            words.append(word)
        return " ".join(words)

    def merged(self, others):
        """All sections with those of others, which win."""
        result = {section: dict(values) for section, values in self.sections.items()}
        for section, values in others.items():
            result.setdefault(section, {}).update(values)
        return result

    def unused(self, section):
        """Names of a section that nobody asked for, in order."""
        return sorted(name for name in self.sections.get(section, {}) if name not in self.asked)

### tests/test_reader.py
import unittest

from inifile.reader import read, strip_comment, write


class ReaderTest(unittest.TestCase):
    def test_strip_comment(self):
        self.assertEqual(strip_comment("port = 1 # main"), "port = 1")

    def test_strip_other_comment(self):
        self.assertEqual(strip_comment("; main"), "")

    def test_no_comment(self):
        self.assertEqual(strip_comment("port = 1 "), "port = 1")

    def test_own_comment(self):
        self.assertEqual(strip_comment("a # b ! c", "!"), "a # b")

    def test_read(self):
        self.assertEqual(read("[web]\nport = 80"), {"web": {"port": "80"}})

    def test_read_before_a_heading(self):
        self.assertEqual(read("port = 80"), {«FIRST»: {"port": "80"}})

    def test_read_names_in_capitals(self):
        self.assertEqual(read("[Web]\nPort=80"), {"Web": {"port": "80"}})

    def test_read_two_equals(self):
        self.assertEqual(read("[web]\nrule = a=b"), {"web": {"rule": "a=b"}})

    def test_read_empty_section(self):
        self.assertEqual(read("[ web ]\n\n# end\n"), {"web": {}})

    def test_read_section_twice(self):
        self.assertEqual(read("[web]\na=1\n[db]\n[web]\nb=2"), {"web": {"a": "1", "b": "2"}, "db": {}})

    def test_read_no_value(self):
        with self.assertRaises(SyntaxError):
            read("[web]\nport")

    def test_write(self):
        self.assertEqual(write({"web": {"port": "80"}, "db": {}}), "[db]\n\n[web]\nport = 80\n")

### tests/test_typed.py
import unittest

from inifile.typed import as_bool, as_bytes, as_list, in_range


class TypedTest(unittest.TestCase):
    def test_true(self):
        self.assertEqual(as_bool("Yes"), True)
        self.assertEqual(as_bool("1"), True)

    def test_false(self):
        self.assertEqual(as_bool("OFF"), False)
        self.assertEqual(as_bool("no"), False)

    def test_neither(self):
        with self.assertRaises(ValueError):
            as_bool("maybe")

    def test_list(self):
        self.assertEqual(as_list("a, b,c"), ["a", "b", "c"])

    def test_list_without_empty_parts(self):
        self.assertEqual(as_list("a,, b ,"), ["a", "b"])

    def test_list_with_separator(self):
        self.assertEqual(as_list("a:b", ":"), ["a", "b"])

    def test_bytes(self):
        self.assertEqual(as_bytes("«N»"), «N»)

    def test_kilobytes(self):
        self.assertEqual(as_bytes("«N»k"), «1024 * N»)

    def test_megabytes(self):
        self.assertEqual(as_bytes("2M"), 2097152)

    def test_in_range(self):
        self.assertEqual(in_range("«N»"), «N»)

    def test_below_range(self):
        self.assertEqual(in_range("-3"), 0)

    def test_above_range(self):
        self.assertEqual(in_range("«HIGH + 1»"), «HIGH»)

    def test_own_range(self):
        self.assertEqual(in_range("7", 8, 9), 8)

### tests/test_settings.py
import unittest

from inifile.settings import Settings

SECTIONS = {«FIRST»: {"host": "here", "port": "80"}, "web": {"port": "«N»", "url": "http $host"}}


class SettingsTest(unittest.TestCase):
    def test_get(self):
        self.assertEqual(Settings(SECTIONS).get("web", "port"), "«N»")

    def test_get_from_the_fallback(self):
        self.assertEqual(Settings(SECTIONS).get("web", "host"), "here")

    def test_get_default(self):
        self.assertEqual(Settings(SECTIONS).get("web", "user", "me"), "me")

    def test_get_nothing(self):
        self.assertEqual(Settings(SECTIONS).get("web", "user"), None)

    def test_own_fallback(self):
        self.assertEqual(Settings(SECTIONS, "web").get("db", "port"), "«N»")

    def test_has(self):
        self.assertEqual(Settings(SECTIONS).has("web", "port"), True)

    def test_has_not(self):
        self.assertEqual(Settings(SECTIONS).has("web", "host"), False)

    def test_has_no_section(self):
        self.assertEqual(Settings(SECTIONS).has("db", "host"), False)

    def test_resolve(self):
        self.assertEqual(Settings(SECTIONS).resolve("web", "url"), "http here")

    def test_resolve_missing(self):
        self.assertEqual(Settings({}).resolve("web", "url"), "")

    def test_resolve_circle(self):
        with self.assertRaises(RecursionError):
            Settings({"web": {"a": "$b", "b": "$a"}}).resolve("web", "a")

    def test_resolve_chain(self):
        values = {"a": "$b", "b": "$c", "c": "$d", "d": "end"}
        self.assertEqual(Settings({"web": values}).resolve("web", "a"), "end")

    def test_merged(self):
        settings = Settings({"web": {"port": "1", "host": "a"}})
        self.assertEqual(settings.merged({"web": {"port": "2"}}), {"web": {"port": "2", "host": "a"}})

    def test_merged_new_section(self):
        self.assertEqual(Settings({}).merged({"db": {"a": "1"}}), {"db": {"a": "1"}})

    def test_merged_leaves_the_settings(self):
        settings = Settings({"web": {"port": "1"}})
        settings.merged({"web": {"port": "2"}})
        self.assertEqual(settings.sections, {"web": {"port": "1"}})

    def test_unused(self):
        settings = Settings({"web": {"port": "1", "host": "a", "base": "/"}})
        settings.get("web", "port")
        self.assertEqual(settings.unused("web"), ["base", "host"])

    def test_unused_in_no_section(self):
        self.assertEqual(Settings({}).unused("web"), [])
''',
    names={
        "inifile": ("inifile", "confreader", "options_lib"),
        "reader": ("reader", "loading", "source"),
        "typed": ("typed", "kinds", "casts"),
        "settings": ("settings", "configuration", "options"),
        "Settings": ("Settings", "Configuration", "Options"),
        "strip_comment": ("strip_comment", "without_comment", "code_of"),
        "read": ("read", "parse", "load"),
        "write": ("write", "dump", "to_text"),
        "as_bool": ("as_bool", "truth", "to_bool"),
        "as_list": ("as_list", "parts_of", "to_list"),
        "as_bytes": ("as_bytes", "size_of", "byte_count"),
        "in_range": ("in_range", "clamp", "limited"),
        "resolve": ("resolve", "expand", "follow"),
        "merged": ("merged", "combined", "with_others"),
        "unused": ("unused", "never_asked", "leftover"),
        "web": ("web", "mail", "shop"),
    },
    constants={"HIGH": (100, 255, 1000), "FIRST": ("main", "common", "base"), "N": (5, 64, 99)},
)
