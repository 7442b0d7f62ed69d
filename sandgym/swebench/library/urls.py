"""Addresses of web pages: splitting, joining, queries."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "urls",
    "Splits, joins and normalizes addresses of web pages.",
    r'''
### urls/address.py
"""Parts of an address."""

PORTS = {"http": 80, "https": 443, "ftp": 21}


def split_url(url):
    """Dictionary with scheme, host, port, path, query and fragment."""
    rest, _, fragment = url.partition("#")
    rest, _, query = rest.partition("?")
    scheme, found, rest = rest.rpartition("://")
    scheme = scheme.lower() or «SCHEME»
    host, slash, path = rest.partition("/")
    host, colon, port = host.partition(":")
    return {
        "scheme": scheme,
        "host": host.lower(),
        "port": int(port) if port else PORTS.get(scheme),
        "path": "/" + path,
        "query": query,
        "fragment": fragment,
    }


def build(parts):
    """The address of parts; the usual port is left out."""
    url = parts["scheme"] + "://" + parts["host"]
    if parts["port"] != PORTS.get(parts["scheme"]):
        url += ":" + str(parts["port"])
    url += parts["path"]
    if parts["query"]:
        url += "?" + parts["query"]
    if parts["fragment"]:
        url += "#" + parts["fragment"]
    return url


def same_site(one, other):
    """Whether two addresses have one host and port."""
    first = split_url(one)
    second = split_url(other)
    return first["host"] == second["host"] and first["port"] == second["port"]

### urls/query.py
"""Queries."""

SAFE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~"


def quote(text, plus=True):
    """Text as it may stand in a query."""
    result = ""
    for char in text:
        if char in SAFE:
            result += char
        elif char == " " and plus:
            result += "+"
        else:
            result += "%{:02X}".format(ord(char))
    return result


def unquote(text):
    """The text that was quoted."""
    result = ""
    place = 0
    while place < len(text):
        if text[place] == "%":
            result += chr(int(text[place + 1 : place + 3], 16))
            place += 3
        else:
            result += " " if text[place] == "+" else text[place]
            place += 1
    return result


def parse_query(query):
    """Names to lists of values; a name without a value has an empty one."""
    values = {}
    for pair in query.split("&"):
        if not pair:
            continue
        name, _, value = pair.partition("=")
        values.setdefault(unquote(name), []).append(unquote(value))
    return values


def build_query(values):
    """A query, names in order."""
    pairs = []
    for name in sorted(values):
        for value in values[name]:
            pairs.append(quote(name) + "=" + quote(value))
    return "&".join(pairs)

### urls/paths.py
"""Paths."""


def normalize(path):
    """Without single and double dots and doubled slashes."""
    kept = []
    for part in path.split("/"):
        if part == "..":
            if kept:
                kept.pop()
        elif part not in ("", "."):
            kept.append(part)
    result = "/" + "/".join(kept)
    if path.endswith("/") and kept:
        result += "/"
    return result


def join_path(base, link):
    """The path of a link on a page."""
    if link.startswith("/"):
        return normalize(link)
    folder = base.rpartition("/")[0]
    return normalize(folder + "/" + link)


def extension(path, default="html"):
    """Ending of the file that a path names, in small letters."""
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem:
        return default
    return ending.lower()


def depth(path):
    """How many folders a page is in."""
    return normalize(path).count("/") - 1

### tests/test_address.py
import unittest

from urls.address import build, same_site, split_url


class SplitTest(unittest.TestCase):
    def test_host(self):
        self.assertEqual(split_url("http://shop.org/tea")["host"], "shop.org")

    def test_host_in_capitals(self):
        self.assertEqual(split_url("HTTP://Shop.ORG/")["host"], "shop.org")

    def test_scheme(self):
        self.assertEqual(split_url("HTTP://shop.org/")["scheme"], "http")

    def test_no_scheme(self):
        self.assertEqual(split_url("shop.org/tea")["scheme"], «SCHEME»)

    def test_port(self):
        self.assertEqual(split_url("http://shop.org:«PORT»/tea")["port"], «PORT»)

    def test_usual_port(self):
        self.assertEqual(split_url("https://shop.org/tea")["port"], 443)

    def test_path(self):
        self.assertEqual(split_url("http://shop.org/tea/green?x=1")["path"], "/tea/green")

    def test_no_path(self):
        self.assertEqual(split_url("http://shop.org")["path"], "/")

    def test_query(self):
        self.assertEqual(split_url("http://shop.org/?x=1?#top")["query"], "x=1?")

    def test_fragment(self):
        self.assertEqual(split_url("http://shop.org/?x=1#top#2")["fragment"], "top#2")

    def test_build(self):
        url = "http://shop.org:«PORT»/tea?x=1#top"
        self.assertEqual(build(split_url(url)), url)

    def test_build_without_usual_port(self):
        self.assertEqual(build(split_url("http://shop.org:80/tea")), "http://shop.org/tea")

    def test_same_site(self):
        self.assertEqual(same_site("http://shop.org/a", "http://shop.org:80/b"), True)

    def test_other_port(self):
        self.assertEqual(same_site("http://shop.org/", "http://shop.org:«PORT»/"), False)

    def test_other_host(self):
        self.assertEqual(same_site("http://shop.org/", "http://tea.org/"), False)

### tests/test_query.py
import unittest

from urls.query import build_query, parse_query, quote, unquote


class QueryTest(unittest.TestCase):
    def test_quote(self):
        self.assertEqual(quote("a&b"), "a%26b")

    def test_quote_space(self):
        self.assertEqual(quote("a b"), "a+b")

    def test_quote_space_without_plus(self):
        self.assertEqual(quote("a b", False), "a%20b")

    def test_quote_safe(self):
        self.assertEqual(quote("a-Z_9.~"), "a-Z_9.~")

    def test_quote_line_end(self):
        self.assertEqual(quote("\n"), "%0A")

    def test_unquote(self):
        self.assertEqual(unquote("a%26b"), "a&b")

    def test_unquote_plus(self):
        self.assertEqual(unquote("a+b"), "a b")

    def test_unquote_twice(self):
        self.assertEqual(unquote("%41%42c"), "ABc")

    def test_parse_query(self):
        self.assertEqual(parse_query("x=1&y=2"), {"x": ["1"], "y": ["2"]})

    def test_parse_query_repeated(self):
        self.assertEqual(parse_query("x=1&x=2"), {"x": ["1", "2"]})

    def test_parse_query_without_value(self):
        self.assertEqual(parse_query("x&y=2"), {"x": [""], "y": ["2"]})

    def test_parse_empty_query(self):
        self.assertEqual(parse_query(""), {})

    def test_parse_quoted(self):
        self.assertEqual(parse_query("a+b=c%3D"), {"a b": ["c="]})

    def test_build_query(self):
        self.assertEqual(build_query({"y": ["2"], "x": ["a b", "1"]}), "x=a+b&x=1&y=2")

### tests/test_paths.py
import unittest

from urls.paths import depth, extension, join_path, normalize


class PathsTest(unittest.TestCase):
    def test_normalize(self):
        self.assertEqual(normalize("/a/./b"), "/a/b")

    def test_normalize_double_dots(self):
        self.assertEqual(normalize("/a/b/../c"), "/a/c")

    def test_normalize_above_the_root(self):
        self.assertEqual(normalize("/../a"), "/a")

    def test_normalize_slashes(self):
        self.assertEqual(normalize("/a//b"), "/a/b")

    def test_normalize_keeps_the_last_slash(self):
        self.assertEqual(normalize("/a/b/"), "/a/b/")

    def test_normalize_root(self):
        self.assertEqual(normalize("/"), "/")

    def test_join(self):
        self.assertEqual(join_path("/a/b.html", "c.html"), "/a/c.html")

    def test_join_up(self):
        self.assertEqual(join_path("/a/b/c.html", "../d.html"), "/a/d.html")

    def test_join_from_the_root(self):
        self.assertEqual(join_path("/a/b.html", "/d"), "/d")

    def test_extension(self):
        self.assertEqual(extension("/a/b.PNG"), "png")

    def test_extension_of_two(self):
        self.assertEqual(extension("/a/b.tar.gz"), "gz")

    def test_no_extension(self):
        self.assertEqual(extension("/a.b/c"), "html")

    def test_own_default(self):
        self.assertEqual(extension("/a/c", ""), "")

    def test_hidden_file(self):
        self.assertEqual(extension("/a/.rc"), "html")

    def test_depth(self):
        self.assertEqual(depth("/a/b/c.html"), 2)

    def test_depth_at_the_root(self):
        self.assertEqual(depth("/c.html"), 0)
''',
    names={
        "urls": ("urls", "weblinks", "addresses"),
        "address": ("address", "location", "splitting"),
        "split_url": ("split_url", "dissect", "parts_of"),
        "query": ("query", "params", "search"),
        "paths": ("paths", "folders", "pathwork"),
        "build": ("build", "assemble", "to_url"),
        "same_site": ("same_site", "same_host", "one_site"),
        "quote": ("quote", "escape", "encode"),
        "unquote": ("unquote", "unescape", "decode"),
        "parse_query": ("parse_query", "read_query", "query_values"),
        "build_query": ("build_query", "write_query", "query_text"),
        "normalize": ("normalize", "clean", "tidy"),
        "join_path": ("join_path", "resolve", "follow"),
        "extension": ("extension", "ending_of", "suffix"),
        "depth": ("depth", "level", "folder_count"),
        "kept": ("kept", "stack", "parts"),
    },
    constants={"SCHEME": ("http", "https"), "PORT": (8080, 8000, 3000)},
)
