"""The study of a sweep: which configuration is best, how sure that is, and why."""
