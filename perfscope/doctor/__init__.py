"""What works on this machine, and the exact fix for what does not: one check a file."""
