"""The loss account: what the ranks' time was lost to, as a partition of it."""
