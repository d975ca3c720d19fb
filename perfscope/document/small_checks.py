"""Which checks of the recording that did not pass are about too little to change an answer."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.document.others import host_gain, wholes_beside
from perfscope.document.verdict import told_range
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.judging import MAIN, MAJOR
from perfscope.schema.enums import Status
from perfscope.schema.findings import QualityRow
from perfscope.schema.run import Verdict


def weighed(
    run: Facts, checks: Sequence[QualityRow], findings: Sequence[Finding], answer: Verdict
) -> tuple[QualityRow, ...]:
    """The checks, those marked that are about less than the leading saving is unsure by.

    That is half of the range that it is told with; all that are marked are together about less,
    and about less than makes a problem a major one.
    What other processes took is no small thing where the verdict tells what they cost.
    """
    leading = next((one for one in findings if one.id in answer.top[:1]), None)
    ends = told_range(leading, wholes_beside(run.results, host_gain(run))) if leading else None
    unsure_s = MAIN * (ends[1] - ends[0]) if ends and not answer.host else 0.0
    unsure_s = min(unsure_s, MAJOR * run.results.run_s)
    known = [one for one in checks if one.status is Status.WARN and one.lost_s is not None]
    small, sum_s = [], 0.0
    for one in sorted(known, key=lambda one: one.lost_s or 0.0):
        sum_s += one.lost_s or 0.0
        if sum_s < unsure_s:
            small.append(one.id)
    return tuple(replace(one, is_small=one.id in small) for one in checks)
