"""One job in several attempts: what was kept, what was lost between checkpoint and restart."""
