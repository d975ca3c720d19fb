"""Scales a gain from the recorded steps to the number of steps that the user plans to train."""

from perfscope.metrics.results import Results
from perfscope.schema.findings import PlannedRun

ONCE = "it happens once per run, whatever its length"


def planned_run(
    results: Results, gain_s: float | None, steps: int | None, *, is_once: bool = False
) -> PlannedRun | None:
    """What a gain is over the planned steps, as if the whole focus were repeated step by step.

    None where nobody asked or no seconds are claimed; with a reason where no steps are known.

    A gain that comes once (`is_once`) does not come again with more steps and is not drawn on.
    """
    if steps is None or gain_s is None:
        return None
    if is_once:
        return PlannedRun(steps, None, None, ONCE)
    count = results.steps_of_run
    if not count:
        reason = results.steps.step_s_median.reason or "no steps were found"
        return PlannedRun(steps, None, None, reason)
    scale = steps / count
    whole = results.window_s * scale
    return PlannedRun(steps, gain_s * scale, whole - gain_s * scale, None)
