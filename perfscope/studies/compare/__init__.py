"""Two or more configurations of one job beside each other."""
