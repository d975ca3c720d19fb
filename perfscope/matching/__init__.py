"""Which calls of the ranks belong together, and what each waited for."""
