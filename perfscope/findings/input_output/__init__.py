"""Findings about input data, files and checkpoints."""
