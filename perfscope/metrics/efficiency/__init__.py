"""Efficiencies of POP, steps and phases, and how they change with size."""
