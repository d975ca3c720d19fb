"""Traces that AMD's rocprof and rocprofv3 write as CSV."""
