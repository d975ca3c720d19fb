"""The model of a trace: what every reader produces and every metric reads."""
