"""Rows, repositories and sandboxes for the SWE-bench tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import bookshop as shop
import gymnasium
import pytest
from shared import real

import sandgym  # noqa: F401  registers the environment
from sandgym.sandboxes import available
from sandgym.swebench.images import FolderImages
from sandgym.swebench.rows import Row, load_rows
from sandgym.swebench.workspace import SandboxOptions, Workspace


@pytest.fixture(scope="session")
def new_rows() -> dict[str, Row]:
    """252 rows of SWE-bench Verified in the new schema, by id."""
    return {row.instance_id: row for row in load_rows(real("verified_sample.parquet"))}


@pytest.fixture(scope="session")
def old_rows() -> dict[str, Row]:
    """10 rows in the old schema, by id."""
    return {row.instance_id: row for row in load_rows(real("old_schema_10.jsonl"))}


@pytest.fixture(scope="session", params=["copy", "overlay"])
def backend(request: Any) -> str:
    """Each backend of folders that works here."""
    if (said := available()[request.param]) != "ok":
        pytest.skip(f"the {request.param} backend does not work here: {said}")
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def quick() -> str:
    """The quickest backend of folders that works here."""
    working = [name for name, said in available().items() if said == "ok"]
    if not working:
        pytest.skip(f"no backend of folders works here: {available()}")
    return "overlay" if "overlay" in working else working[0]


@pytest.fixture(scope="session")
def shop_data(tmp_path_factory: Any) -> dict[str, Any]:
    """Arguments of an environment whose only task is the shop."""
    return shop.write_data(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def workspace(shop_data: dict[str, Any], quick: str) -> Iterator[Workspace]:
    """The shop in a sandbox."""
    space = Workspace(shop.row(), FolderImages(shop_data["checkouts"]).image(shop.row()), SandboxOptions(quick))
    yield space
    space.close()


@pytest.fixture
def make(shop_data: dict[str, Any], quick: str) -> Iterator[Callable[..., Any]]:
    """Makes environments of the shop; they are closed at the end."""
    made = []

    def build(**kwargs: Any) -> Any:
        made.append(gymnasium.make("sandgym/SWEbenchVerified-v0", **{"backend": quick, **shop_data, **kwargs}))
        return made[-1]

    yield build
    for env in made:
        env.close()
