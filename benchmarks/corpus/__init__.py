"""Programs in the style of public ones, each run as its user starts it and once more recorded."""
