"""Real rows, where they are shared."""

from pathlib import Path

import pytest

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "swebench"


def real(name: str) -> Path:
    """A shared file, or a skipped test."""
    path = REAL / name
    if not path.is_file():
        pytest.skip(f"the shared rows are not in {path}")
    return path
