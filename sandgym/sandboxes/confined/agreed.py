"""What both ends of a sandbox agree on.

Invariant: nothing is imported here, so that a first process starts in no time.
"""

STATE = "/run/shell"  # inside; holds what the shell reads first and what it leaves
USER = 1000  # user and group of a command, as seen from inside
LONGEST_ARGUMENT = 120_000  # bytes; the kernel takes 131,072 in one
