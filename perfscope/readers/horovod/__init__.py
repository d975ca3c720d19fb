"""Horovod's timeline."""
