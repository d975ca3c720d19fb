"""Perfetto's own traces."""
