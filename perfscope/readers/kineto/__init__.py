"""Profiles of PyTorch and other Chrome timelines."""
