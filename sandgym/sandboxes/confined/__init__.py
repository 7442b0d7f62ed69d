"""What runs in the launcher: a small process that puts commands into namespaces.

Invariant: these modules import nothing but the standard library and each other, so that
the launcher starts in milliseconds and forks cheaply.
"""
