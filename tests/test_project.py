"""The project as a whole: the README is true, imports point one way, and packaging names what there is."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = ("sandgym", "algos", "cli", "leaderboard", "recipes", "benchmarks", "tests", "docs", ".ci", ".github")
TEXT = {"", ".py", ".md", ".json", ".toml", ".yaml", ".yml", ".svg", ".html"}
HEAVY = (
    "pydantic",
    "torch",
    "transformers",
    "tokenizers",
    "scipy",
    "pandas",
    "matplotlib",
    "spacy",
    "rapidfuzz",
    "regex",
    "rich",
)


def files(*folders: str, suffixes: set[str] | None = None) -> list[Path]:
    """Files of the project below some folders; without folders, all of them and those at the top."""
    inside = [path for folder in folders or FOLDERS for path in (ROOT / folder).rglob("*")]
    top = [] if folders else [path for path in ROOT.iterdir() if path.suffix in TEXT - {""} or path.name == "LICENSE"]
    found = [path for path in inside + top if path.is_file() and "__pycache__" not in path.parts]
    return sorted(path for path in found if path.suffix in (suffixes or TEXT))


def imported(path: Path) -> Iterator[str]:
    """Full names of the modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:  # what runs beside a command is loaded from its own folder
                assert path.parent.name == "confined", f"{path} has a relative import"
                continue
            yield str(node.module)
            yield from (f"{node.module}.{name.name}" for name in node.names)


def offences(folder: str, forbidden: tuple[str, ...]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files(folder, suffixes={".py"})
        for name in imported(path)
        if any(name == module or name.startswith(f"{module}.") for module in forbidden)
    ]


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def python(code: str, **environment: str) -> str:
    """What a fresh interpreter prints."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# The README.


def test_the_readmes_test_command_is_what_the_checks_run():
    _, test = fenced("bash")
    assert test.strip().endswith("pytest")
    assert test.strip() in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_readmes_commands_set_up_with_extras_that_exist():
    for command in fenced("bash"):
        extra = re.search(r'-e "\.\[(\w+)\]"', command)
        assert extra is not None
        assert extra[1] in PYPROJECT["project"]["optional-dependencies"]


def test_the_readmes_example_runs_as_written_and_gives_the_same_digest_everywhere(tmp_path):
    (example,) = fenced("python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 15
    one, other = (python(example, PYTHONHASHSEED=seed, SANDGYM_DATA=str(tmp_path)) for seed in ("1", "2"))
    assert one == other
    *futures, digest = one.splitlines()
    assert len(set(futures)) == 3
    assert re.fullmatch("[0-9a-f]{64}", digest)


def test_the_readme_names_the_algorithms_and_the_environments_there_are():
    from algos.registry import ALGORITHMS
    from sandgym import ENV_IDS

    assert set(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)) == set(ALGORITHMS)
    assert set(re.findall(r"^\| `(sandgym/[\w-]+)` \|", README, re.MULTILINE)) == set(ENV_IDS.values())


# Imports.


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("sandgym", ("algos", "cli", "leaderboard", "benchmarks", "torch", "transformers")),
        ("algos", ("cli", "leaderboard", "benchmarks")),
        ("leaderboard", ("cli", "benchmarks", "torch", "transformers", "scipy")),
        ("cli", ("benchmarks",)),
    ],
)
def test_arrows_point_one_way(folder, forbidden):
    assert files(folder, suffixes={".py"})
    assert offences(folder, forbidden) == []


def test_the_contract_stands_alone():
    names = set(imported(ROOT / "sandgym" / "core.py"))
    assert not [name for name in names if name.partition(".")[0] in ("sandgym", "algos", "cli")]


def test_algorithms_know_the_contract_and_no_environment():
    beyond = ("sandgym.webshop", "sandgym.memory", "sandgym.bench")
    assert offences("algos", beyond) == []
    named = re.compile("webshop|alfworld|swe.?bench", re.IGNORECASE)
    assert [path.name for path in files("algos") if named.search(path.read_text(encoding="utf-8"))] == []


def test_the_learner_knows_no_algorithm():
    from algos.registry import ALGORITHMS

    algorithms = {f"algos.{name}" for name in (*ALGORITHMS, "registry", "base")}
    for module in ("learner", "losses", "packing"):
        assert not algorithms & set(imported(ROOT / "algos" / f"{module}.py"))


@pytest.mark.parametrize(
    ("statement", "absent"),
    [("import sandgym", HEAVY), ("import cli.main", tuple(name for name in HEAVY if name != "rich"))],
)
def test_a_start_imports_nothing_heavy(statement, absent):
    loaded = python(f"import sys; {statement}; print(*sys.modules, sep='\\n')").split()
    assert statement.split()[1] in loaded
    assert [name for name in absent if name in loaded] == []


# Packaging.


def test_extras_that_messages_name_exist():
    from cli.errors import EXTRAS

    extras = set(PYPROJECT["project"]["optional-dependencies"])
    named = {
        (path.name, extra)
        for path in [*files("sandgym", "algos", "cli"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        for extra in re.findall(r"(?:sandgym|\.)\[([a-z]+)\]\"", path.read_text(encoding="utf-8"))
        if path.parent.name != "swebench" or path.name != "commands.py"  # how other projects are installed
    }
    assert named
    assert {(file, extra) for file, extra in named if extra not in extras} == set()
    assert set(EXTRAS) == extras - {"dev"}


def test_every_import_is_of_a_declared_dependency():
    project = PYPROJECT["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    declared = {re.split(r"[\[<>=~!]", line)[0].lower() for line in lines} | {"cloudpickle"}  # Gymnasium brings it
    providers = metadata.packages_distributions() | {"docker": ["docker"], "spacy": ["spacy"], "vllm": ["vllm"]}
    own = {
        "sandgym",
        "algos",
        "cli",
        "leaderboard",
        "benchmarks",
        "tests",
        *(path.stem for path in files("tests", "benchmarks", suffixes={".py"})),
    }
    # The recorder runs in an interpreter that has TextWorld.
    elsewhere = {("alfworld_textworld.py", "textworld"), ("alfworld_textworld.py", "alfworld")}
    undeclared = {
        (path.name, name)
        for path in files("sandgym", "algos", "cli", "leaderboard", "benchmarks", "tests", suffixes={".py"})
        for name in {name.partition(".")[0] for name in imported(path)} - own - set(sys.stdlib_module_names)
        if not {provider.lower() for provider in providers.get(name, [name])} & declared
    }
    assert undeclared - elsewhere == set()


def test_no_file_names_a_path_of_a_machine():
    place = re.compile(r"(?<![\w.~/-])/(?:home/(?!(?:someone|agent)\b)|root/|work/|Users/|mnt/|workspace/)[\w.-]")
    found = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files()
        for match in place.finditer(path.read_text(encoding="utf-8"))
    }
    assert found == set()
