"""Findings about devices: idle, crowded, slowed down, or lost."""
