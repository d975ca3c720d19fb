"""How fast runs are replayed, and in how much memory."""
