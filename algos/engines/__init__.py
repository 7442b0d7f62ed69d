"""Who generates tokens."""
