"""Texts of the package families; one module each, whose ``FAMILY`` describes it."""
