"""Placeholder module text replaced by the conformance check."""


def check_snapshottable_env() -> None:
    """Replaced."""
