"""What each rank did when: focus, stacks, phases, timelines, and the ledger of its time."""
