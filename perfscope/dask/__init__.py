"""Reads the files of a run on the workers of a Dask cluster: `perfscope analyze --scheduler`."""
