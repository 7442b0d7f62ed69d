"""The ``sandgym`` command: parses, calls, prints. Entry point ``cli.main:app``.

Invariant: nothing here imports PyTorch before a command needs it, so that help is instant.
"""
