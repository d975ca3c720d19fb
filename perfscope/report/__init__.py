"""The report: one offline HTML file made from analysis.json; it formats and computes no metric."""
