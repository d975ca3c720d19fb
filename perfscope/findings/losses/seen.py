"""Whether samples have met what is lost often enough to say that it takes time."""

from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.few_looks import is_clear
from perfscope.findings.losses.groups import Group


def is_seen(run: Facts, group: Group) -> bool:
    """Whether a group of losses is more than a few samples that happened to meet something.

    A sample stands for the time until the next one: in a short run that may be much, of which it
    tells little. What no sample met is known from elsewhere, and waiting is measured.
    """
    activity = group.entries[0].cause.activity
    if activity is None:
        return True
    looks = run.looks_by_activity[activity]
    return not looks or is_clear(looks)
