"""Algorithms on one rollout and evaluation harness; see ``algos.train``."""
