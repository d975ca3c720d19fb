"""Findings about work that is spread unevenly over ranks or done by one of them alone."""
