"""Measuring the environments: what ``sandgym bench`` prints; one module an environment."""
