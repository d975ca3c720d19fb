"""Studies over several runs: scaling, sweeps, comparisons, history. Start with `study.runs`."""
