"""Lines that libraries wrote into the log of a job."""
