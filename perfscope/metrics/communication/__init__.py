"""Metrics of messages and collectives."""
