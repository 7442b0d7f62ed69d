"""Writing the pages: README.md, results.json and the site.

Invariant: equal results give equal bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from leaderboard.markdown import readme
from leaderboard.page import page


def rendered(results: dict[str, Any]) -> dict[str, str]:
    """Content of each file, by its path in the leaderboard's folder."""
    return {
        "README.md": readme(results),
        "results.json": json.dumps(results, indent=1, ensure_ascii=True) + "\n",
        "site/index.html": page(results),
    }


def render(root: Path, results: dict[str, Any]) -> list[Path]:
    """Write the pages of a leaderboard; returns their files."""
    written = []
    for name, text in rendered(results).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        written.append(path)
    return written
