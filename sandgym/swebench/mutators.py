"""The kinds of mistakes: what each does to a node of the syntax tree.

Invariant: which edits a node has, and in which order, does not depend on names.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from sandgym.swebench.sourcecode import Edit, Scope, Source

BOUNDARIES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
INVERSIONS = {"==": "!=", "!=": "==", "in": "not in", "not in": "in", "is": "is not", "is not": "is"}
OPERATORS = {"+": "-", "-": "+", "*": "+", "//": "/", "/": "//", "%": "//", "**": "*", "&": "|", ">>": "<<"}
UPDATES = {"+=": ("-=", "="), "-=": ("+=", "="), "*=": ("=",), "//=": ("=",), ">>=": ("<<=",)}
OTHER_CALLS = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "upper": "lower",
    "lower": "upper",
    "startswith": "endswith",
    "endswith": "startswith",
    "partition": "rpartition",
    "rpartition": "partition",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "ljust": "rjust",
    "find": "rfind",
    "sum": "len",
    "isdigit": "isalpha",
    "isalpha": "isdigit",
    "popleft": "pop",
    "values": "keys",
    "reversed": "list",
    "update": "setdefault",
}
WRAPPERS = ("abs", "sorted", "reversed", "round", "set")
CLEANERS = ("strip", "lower", "upper", "rstrip", "lstrip", "split")
_SYMBOLS: dict[type, str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}


def expression_edits(source: Source, node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """Mistakes in an expression."""
    if isinstance(node, ast.Compare):
        yield from _comparison(source, node)
    elif isinstance(node, ast.BinOp):
        yield from _operation(source, node)
    elif isinstance(node, ast.BoolOp):
        yield from _logic(source, node)
    elif isinstance(node, ast.UnaryOp):
        yield from _sign(source, node)
    elif isinstance(node, ast.Call):
        yield from _call(source, node)
    elif isinstance(node, ast.Constant):
        yield from _constant(source, node, scope)
    elif isinstance(node, ast.IfExp):
        swapped = [source.segment(part) for part in (node.orelse, node.test, node.body)]
        yield source.replace("swapped branches", node, "{} if {} else {}".format(*swapped))
    elif isinstance(node, ast.Name | ast.Attribute):
        yield from _name(source, node, scope)
    elif isinstance(node, ast.Subscript):
        yield from _subscript(source, node)
    elif isinstance(node, ast.Tuple | ast.List | ast.Dict) and scope.function == "":
        yield from _entries(source, node)


def statement_edits(source: Source, node: ast.stmt) -> Iterator[Edit]:
    """Mistakes in a statement and in the statements below it."""
    if isinstance(node, ast.AugAssign):
        old = f"{_SYMBOLS[type(node.op)]}="
        for new in UPDATES.get(old, ()):
            kind = "lost update" if new == "=" else "wrong operator"
            yield from source.between(kind, node.target, node.value, old, new)
    elif isinstance(node, ast.FunctionDef):
        for default in node.args.defaults:
            yield from _default(source, default)
    elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
        yield source.replace("wrong exception", node.exc.func, _other_error(node.exc.func.id))
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
        first, second = (source.segment(part) for part in node.value.elts)
        yield source.replace("swapped results", node, f"return {second}, {first}")
    elif isinstance(node, ast.If):
        yield from _missing_case(source, node)
    for name in ("body", "orelse"):
        block = getattr(node, name, [])
        if len(block) > 1:
            for statement in block:
                yield from _missing(source, statement)


def _other_error(name: str) -> str:
    return "TypeError" if name == "ValueError" else "ValueError"


def _comparison(source: Source, node: ast.Compare) -> Iterator[Edit]:
    for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
        old = _SYMBOLS[type(operator)]
        if old in BOUNDARIES:
            yield from source.between("wrong boundary", left, right, old, BOUNDARIES[old])
            turned = (">" if old[0] == "<" else "<") + old[1:]
            yield from source.between("wrong comparison", left, right, old, turned)
        else:
            yield from source.between("inverted condition", left, right, old, INVERSIONS[old])


def _operation(source: Source, node: ast.BinOp) -> Iterator[Edit]:
    old = _SYMBOLS[type(node.op)]
    text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
    if not text and old in OPERATORS:
        yield from source.between("wrong operator", node.left, node.right, old, OPERATORS[old])
    if isinstance(node.right, ast.Constant) and node.right.value == 1 and old in "+-":
        yield source.replace("off by one", node, source.segment(node.left))
    if old in ("-", "/", "//", "%", "**"):
        operands = source.segment(node.right), source.segment(node.left)
        yield source.replace("swapped operands", node, f"{operands[0]} {old} {operands[1]}")


def _logic(source: Source, node: ast.BoolOp) -> Iterator[Edit]:
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in itertools.pairwise(node.values):
        yield from source.between("wrong logic", left, right, old, new)
    end = source.end(node.values[-1])
    first, second, last = source.start(node.values[0]), source.start(node.values[1]), source.end(node.values[-2])
    for start, stop in ((last, end), (first, second)):
        if source.text[start:stop].count("(") == source.text[start:stop].count(")"):
            yield Edit("missing condition", start, stop, "")


def _sign(source: Source, node: ast.UnaryOp) -> Iterator[Edit]:
    if isinstance(node.op, ast.Not):
        yield source.replace("inverted condition", node, source.segment(node.operand))
    elif isinstance(node.op, ast.USub):
        yield source.replace("wrong sign", node, source.segment(node.operand))


def _call(source: Source, node: ast.Call) -> Iterator[Edit]:
    function = node.func
    if isinstance(function, ast.Name) and function.id in OTHER_CALLS:
        yield source.replace("wrong call", function, OTHER_CALLS[function.id])
    if isinstance(function, ast.Attribute) and function.attr in OTHER_CALLS:
        end = source.end(function)
        yield Edit("wrong call", end - len(function.attr), end, OTHER_CALLS[function.attr])
    if isinstance(function, ast.Name) and function.id in WRAPPERS and len(node.args) == 1 and not node.keywords:
        yield source.replace("missing call", node, source.segment(node.args[0]))
    if isinstance(function, ast.Attribute) and function.attr in CLEANERS and not node.args:
        yield source.replace("missing call", node, source.segment(function.value))
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return
    for first, second in itertools.pairwise(node.args):
        swapped = f"{source.segment(second)}{source.text[source.end(first) : source.start(second)]}"
        yield Edit("swapped arguments", source.start(first), source.end(second), f"{swapped}{source.segment(first)}")
    if len(node.args) > 1 and not node.keywords:
        yield Edit("missing argument", source.end(node.args[-2]), source.end(node.args[-1]), "")
    if isinstance(function, ast.Name) and function.id == "range":
        last = node.args[0] if len(node.args) == 1 else node.args[1]
        yield source.replace("off by one", last, f"{source.segment(last)} - 1")
        if len(node.args) == 1:
            yield source.replace("off by one", last, f"1, {source.segment(last)}")
    for keyword in node.keywords:
        if keyword.arg in ("reverse", "default"):
            before = source.text.rindex(",", 0, source.start(keyword.value))
            yield Edit("missing argument", before, source.end(keyword.value), "")


def _constant(source: Source, node: ast.Constant, scope: Scope) -> Iterator[Edit]:
    value = node.value
    if isinstance(value, bool):
        yield source.replace("wrong flag", node, str(not value))
    elif isinstance(value, int):
        kind = "off by one" if scope.function else "wrong constant"
        yield source.replace(kind, node, str(value + 1))
        if value > 0:
            yield source.replace(kind, node, str(value - 1))
    elif isinstance(value, str) and source.segment(node).startswith('"') and '"""' not in source.segment(node):
        if len(value) > 1 and "\\" not in source.segment(node):
            yield source.replace("wrong text", node, f'"{value[:-1]}"')
        elif value == "":
            yield source.replace("wrong text", node, '" "')


def _default(source: Source, node: ast.expr) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield source.replace("wrong default", node, str(not node.value))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield source.replace("wrong default", node, str(node.value + 1 if node.value < 2 else node.value // 2))


def _name(source: Source, node: ast.Name | ast.Attribute, scope: Scope) -> Iterator[Edit]:
    if not isinstance(node.ctx, ast.Load):
        return
    if isinstance(node, ast.Name) and node.id in scope.variables:
        at = scope.variables.index(node.id)
        others = scope.variables[at + 1 :] + scope.variables[:at]
        for other in (others[:1] + others[-1:]) if len(others) > 1 else others:
            yield source.replace("wrong variable", node, other)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in scope.attributes:
        at = scope.attributes.index(node.attr)
        others = scope.attributes[at + 1 :] + scope.attributes[:at]
        for other in others[:1] + others[-1:]:
            yield source.replace("wrong attribute", node, f"{node.value.id}.{other}")


def _subscript(source: Source, node: ast.Subscript) -> Iterator[Edit]:
    part = node.slice
    if isinstance(part, ast.Slice):
        if part.step is not None and part.lower is None and part.upper is None:
            yield source.replace("wrong order", node, source.segment(node.value))
        for bound in (part.lower, part.upper):
            if bound is not None and not isinstance(bound, ast.Constant):
                yield source.replace("off by one", bound, f"{source.segment(bound)} + 1")
    elif isinstance(part, ast.UnaryOp):
        yield source.replace("wrong index", part, "0")
    elif isinstance(part, ast.Constant) and part.value == 0:
        yield source.replace("wrong index", part, "-1")


def _entries(source: Source, node: ast.Tuple | ast.List | ast.Dict) -> Iterator[Edit]:
    """An entry of a table is forgotten."""
    starts = [key for key in node.keys if key is not None] if isinstance(node, ast.Dict) else node.elts
    ends = node.values if isinstance(node, ast.Dict) else node.elts
    if len(starts) < 3:
        return
    for one, following in itertools.pairwise(starts):
        yield Edit("missing case", source.start(one), source.start(following), "")
    yield Edit("missing case", source.end(ends[-2]), source.end(ends[-1]), "")


def _missing_case(source: Source, node: ast.If) -> Iterator[Edit]:
    """A branch after the first one is forgotten."""
    if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        branch = node.orelse[0]
        if source.segment(branch).startswith("elif"):
            yield Edit("missing case", *source.lines(branch, branch.body[-1]), "")


def _missing(source: Source, node: ast.stmt) -> Iterator[Edit]:
    """A statement among others is forgotten."""
    start, end = source.lines(node, node)
    if isinstance(node, ast.If):
        leaves = isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue | ast.Break)
        if leaves and not node.orelse:
            yield Edit("missing guard", start, end, "")
    elif _has_effect(node):
        yield Edit("missing statement", start, end, "")


def _has_effect(node: ast.stmt) -> bool:
    """Whether a statement changes something other than a local name."""
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    return isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
