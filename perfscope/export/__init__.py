"""Writes traces in other formats, one a file: `perfscope export`."""
