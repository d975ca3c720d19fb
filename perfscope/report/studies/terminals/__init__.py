"""What the terminal prints of each kind of study, one file each."""
