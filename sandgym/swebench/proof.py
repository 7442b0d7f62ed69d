"""Running a package's test suites in this very interpreter, without files.

Invariant: nothing outside changes: modules live in a table of their own and never in
``sys.modules``. Each turn of a loop and each call of a function counts, and a test that takes
more than any sensible one is ended, after the same number on every machine.

Only for sources that this package has written itself: they run with all rights.
"""

from __future__ import annotations

import ast
import builtins
import functools
import types
import unittest
from collections.abc import Mapping
from typing import Any, Literal

Outcome = Literal["passed", "failed", "endless"]
STEPS = 3000
_COUNT = "__count_step__"


class EndlessError(BaseException):
    """A run takes longer than any sensible one; no test can catch it by mistake."""


def _count_steps(statements: list[ast.stmt]) -> None:
    """Put a call of the counter at the start of every function and every loop's body."""
    for statement in statements:
        for name in ("body", "orelse"):
            block: list[ast.stmt] = getattr(statement, name, [])
            _count_steps(block)
            if name == "body" and isinstance(statement, ast.FunctionDef | ast.For | ast.While):
                place = {"lineno": statement.lineno, "col_offset": 0}
                call = ast.Call(ast.Name(_COUNT, ast.Load(), **place), [], [], **place)
                block.insert(0, ast.Expr(call, **place))


@functools.lru_cache(maxsize=4096)
def _compiled(text: str, path: str) -> types.CodeType:
    tree = ast.parse(text, path)
    _count_steps(tree.body)
    return compile(tree, path, "exec", dont_inherit=True)


class Modules:
    """The modules of a repository, imported from a mapping of its files.

    Args:
        files: path to text; only Python files matter.
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._loaded: dict[str, types.ModuleType] = {}
        self._tops = {path.partition("/")[0] for path in files if path.endswith(".py")}
        self._builtins = {**vars(builtins), "__import__": self._import, _COUNT: self._count}
        self._left = STEPS

    def module(self, name: str) -> types.ModuleType:
        """A module by its full name; imported on first use.

        Raises:
            ModuleNotFoundError: there is no such file.
            Exception: whatever the module raises.
        """
        if name in self._loaded:
            return self._loaded[name]
        stem = name.replace(".", "/")
        path = next((p for p in (f"{stem}.py", f"{stem}/__init__.py") if p in self._files), None)
        if path is None:
            raise ModuleNotFoundError(f"no module named {name!r}")
        module = types.ModuleType(name)
        vars(module)["__builtins__"] = self._builtins
        self._loaded[name] = module
        try:
            exec(_compiled(self._files[path], path), vars(module))
        except BaseException:
            del self._loaded[name]
            raise
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(self.module(parent), child, module)
        return module

    def scope(self) -> dict[str, Any]:
        """An empty scope for statements that import these modules (see ``run``)."""
        return {"__builtins__": self._builtins, "__name__": "__main__"}

    def run(self, statements: str, scope: dict[str, Any]) -> None:
        """Run statements in a scope; counting starts again.

        Raises:
            EndlessError: they take too long.
            Exception: whatever they raise.
        """
        self._left = STEPS
        exec(_compiled(statements, "<statements>"), scope)

    def test(self, case: unittest.TestCase) -> Outcome:
        """Run a test of these modules; counting starts again."""
        self._left = STEPS
        result = unittest.TestResult()
        try:
            case.run(result)
        except EndlessError:
            return "endless"
        if self._left < 0:  # where a finalizer has swallowed the error
            return "endless"
        return "passed" if result.wasSuccessful() and not result.skipped else "failed"

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise EndlessError

    def _import(self, name: str, scope: Any = None, local: Any = None, wanted: Any = (), level: int = 0) -> Any:
        if name.partition(".")[0] not in self._tops:
            return builtins.__import__(name, scope, local, wanted, level)
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            self.module(".".join(parts[:end]))
        return self._loaded[name] if wanted else self._loaded[parts[0]]


def outcomes(files: Mapping[str, str], suites: tuple[str, ...]) -> dict[str, Outcome]:
    """What becomes of each test, by the name that ``python -m unittest -v`` prints for it.

    Args:
        files: path to text.
        suites: paths of the test modules to run.

    Raises:
        Exception: what a module raises when it is imported.
    """
    modules = Modules(files)
    found: dict[str, Outcome] = {}
    for path in suites:
        module = modules.module(path.removesuffix(".py").replace("/", "."))
        for value in list(vars(module).values()):
            if isinstance(value, type) and issubclass(value, unittest.TestCase):
                for name in unittest.defaultTestLoader.getTestCaseNames(value):
                    found[f"{name} ({module.__name__}.{value.__qualname__}.{name})"] = modules.test(value(name))
    return found
