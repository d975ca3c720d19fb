"""Findings about how a job is started and set up."""
