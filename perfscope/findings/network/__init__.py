"""Findings about messages, collectives and the way that they take."""
