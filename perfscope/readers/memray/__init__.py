"""Captures of memray."""
