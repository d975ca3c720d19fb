"""Diagnoses of several runs together, one file each."""
