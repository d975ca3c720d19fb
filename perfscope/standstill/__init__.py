"""A job in which nobody gets on: where each rank is, what it waits for, and since when."""
