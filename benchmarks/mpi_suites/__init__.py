"""Test suites of MPI, run unrecorded and recorded: the same outcome is wanted of every test."""
