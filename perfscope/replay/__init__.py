"""Replay: what the run would have taken if something had been different."""
