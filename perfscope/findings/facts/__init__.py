"""What several findings look at: facts about the run, each worked out in one place."""
