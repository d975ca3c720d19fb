"""Logs of NCCL's inspector, a plugin that writes each collective with its time."""
