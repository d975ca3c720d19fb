"""Runs of one job in the order of time."""
