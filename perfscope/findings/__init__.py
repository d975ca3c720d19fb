"""Diagnoses: each file names one cause, proves it from metric results, and says what to do."""
