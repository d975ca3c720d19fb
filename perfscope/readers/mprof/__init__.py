"""memory_profiler: what `mprof run` writes."""
