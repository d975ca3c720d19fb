"""Whether samples have met what is lost often enough to say that it takes time."""

import numpy as np

from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.groups import Group
from perfscope.judging import FEWEST_SAMPLES
from perfscope.metrics.results import Results
from perfscope.schema.enums import Activity


def is_seen(run: Facts, group: Group) -> bool:
    """Whether a group of losses is more than one or two samples that happened to meet something.

    A sample stands for the time until the next one: in a short run that may be much, of which it
    tells little. What no sample met is known from elsewhere, and waiting is measured.
    """
    activity = group.entries[0].cause.activity
    if activity is None:
        return True
    looks = _looks(run.results, activity)
    return not looks or looks >= FEWEST_SAMPLES


def _looks(results: Results, activity: Activity) -> int:
    """How often main threads were met in an activity in the focus."""
    trace, focus = results.trace, results.focus
    told = stack_activities(trace) == ACTIVITIES.index(activity)
    rows = [focus.within(rank.main_stacks)["stack"] for rank in trace.ranks]
    return sum(int(np.count_nonzero(told[one])) for one in rows)
