"""Numbers computed from a trace, one family a file; metrics see only the trace model."""
