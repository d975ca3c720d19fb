"""What is loaded into every Python process of a recorded job.

Standard library only; Python 3.7 and later.
"""
