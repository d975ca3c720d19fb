"""Findings about devices: idle, shared, slowed down, or lost."""
