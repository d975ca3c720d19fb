"""Metrics of hosts: samples, memory, CPUs, files and counters."""
