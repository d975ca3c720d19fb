"""Findings about threads, cores and memory bandwidth of the hosts."""
