"""Results that anyone can check: every submitted episode is replayed, and no number is typed.

A submission is a folder of ``submission.yaml``, ``episodes.jsonl.gz`` and ``README.md``. Because the
environments are deterministic, its actions give its score on every machine. That proves that the score
follows from the actions, not who chose them.

Invariant: files of a submission are data. Nothing in them is run, and none of their paths is followed.
"""
