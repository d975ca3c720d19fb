"""What `Rank.clock_error_ns` says where it is no bound on what is left of a clock's error."""

UNMEASURED = -1
"""Nobody measured how far the clock is from those of other hosts; times stand as they were read."""
UNSTATED = -2
"""The tool that wrote the trace measured it, and does not say how large an error is left."""
