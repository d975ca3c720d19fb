"""Runs of one job at several sizes."""
