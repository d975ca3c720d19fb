"""Values of `Rank.clock_error_ns` that are not a bound on the remaining clock error."""

UNMEASURED = -1
"""The offset from other hosts' clocks was never measured; times are as recorded."""
UNSTATED = -2
"""The tool that wrote the trace corrected the offset, but does not state the remaining error."""
