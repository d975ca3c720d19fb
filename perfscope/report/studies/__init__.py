"""The page and the terminal's summary of a study, from study.json alone."""
