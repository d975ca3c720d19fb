"""Where people work: experiment trackers, continuous integration, pytest, notebooks."""
