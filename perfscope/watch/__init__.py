"""A job while it runs: what `perfscope watch` shows, and what `perfscope run --on-hang` keeps."""
