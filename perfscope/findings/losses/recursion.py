"""Functions of the program that call themselves: they may compute the same many times."""

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
    own = np.array([frame.key == first.frame.key for frame in trace.frames], np.bool_)
    met, seen, within = looks(trace), 0, 0
    for number in np.flatnonzero(met).tolist():
        times = int(own[list(trace.stacks[number])].sum())
        seen += int(met[number]) * (times > 0)
        within += int(met[number]) * (times > 1)
    return OF_RECURSION if within > MAIN * seen else ""
