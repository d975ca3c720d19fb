"""Dumps of PyTorch's flight recorder."""
