"""What all studies need: runs, where they lie, and what they are measured in."""
