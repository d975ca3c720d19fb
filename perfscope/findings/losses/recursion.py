"""Functions of the program that call themselves: they may compute the same many times."""

from collections import Counter

import numpy as np

from perfscope.attribution.feeding import looks
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.changes import OF_RECURSION
from perfscope.findings.losses.groups import Group
from perfscope.judging import MAIN
from perfscope.schema.enums import Activity


def change(run: Facts, group: Group) -> str:
    """What to change about Python code of a function that calls itself; "" of anything else."""
    first, trace = group.entries[0], run.results.trace
    if first.cause.activity is not Activity.INTERPRETER or first.frame is None:
        return ""
    own = {n for n, frame in enumerate(trace.frames) if frame.key == first.frame.key}
    met, seen, within = looks(trace), 0, 0
    for number in np.flatnonzero(met).tolist():
        times = Counter(one for one in trace.stacks[number] if one in own)
        seen += int(met[number]) * bool(times)
        # other functions may have the same name: one that calls itself does so at one line
        within += int(met[number]) * (max(times.values(), default=0) > 1)
    return OF_RECURSION if within > MAIN * seen else ""
