"""A trace as pandas DataFrames: what `perfscope.open_trace` gives."""
