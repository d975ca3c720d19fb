"""The result of an analysis: analysis.json, the one document that reports and gates read."""
