"""analysis.json, declared once: its closed sets, the efficiency tree and its structures."""
