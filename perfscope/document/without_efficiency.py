"""What a file does tell of a run whose efficiency it cannot."""

from perfscope.metrics.results import Results
from perfscope.units import format_count, format_seconds, format_share, of_all

MOST = 3
"""Phases that are named."""

LEAST_SHARE = 0.01
"""Of the ranks' time: a phase of less is not named."""


def known_without_efficiency(results: Results) -> str:
    """Its steps and its longest phases, as a sentence; "" where it has neither."""
    steps = results.steps
    parts = []
    if steps.count and steps.step_s_median.value is not None:
        median = format_seconds(steps.step_s_median.value)
        parts.append(f"of {format_count(steps.count)} steps of {median} (median)")
    whole_s = results.window_s * len(results.trace.ranks)
    shares = {
        phase.label: sum(phase.seconds_by_rank) / whole_s for phase in results.phases if whole_s
    }
    longest = sorted(shares.items(), key=lambda item: -item[1])[:MOST]
    named = [f"“{label}” {format_share(s)}" for label, s in longest if s >= LEAST_SHARE]
    if named:
        time = of_all("time", len(results.trace.ranks))
        parts.append(f"of what {time} goes to ({', '.join(named)})")
    return f" The file does tell {' and '.join(parts)}." if parts else ""
