"""Seeds of a run's many random choices, all derived from its one seed.

Invariant: a derived seed is a function of its parts only, the same on every machine.
"""

from __future__ import annotations

import hashlib
from typing import Any


def derive_seed(*parts: Any) -> int:
    """A 63-bit seed from integers and strings: BLAKE2b-64 of their ``repr``, the lowest bit dropped."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
