"""Findings about host memory: growth, and what is left of it."""
