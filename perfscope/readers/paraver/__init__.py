"""Paraver's traces, as Extrae writes them."""
