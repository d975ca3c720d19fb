"""Runs one command in many configurations: the grid, its plan on disk, and the runs one by one."""
