"""Calls with one sample each, where a batch would take little longer."""

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.core.gain import saved
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import (
    frames_of,
    has_operands,
    ranks_of,
    seen_on,
    shape_of,
)
from perfscope.judging import MAIN
from perfscope.metrics.host.hot_lines import HotLine
from perfscope.metrics.host.looks import FEWEST_LOOKS
from perfscope.schema.enums import Confidence
from perfscope.trace.operands import MANY_CONTENTS, NEAR_CACHE_BYTES, Operand


def judge(run: Facts) -> Outcome:
    """Whether lines that get one small sample at a time take enough of the run to act on."""
    results = run.results
    lines = [line for line in run.hot_lines if single_sample(line) is not None]
    if not lines:
        return passed("No line was seen that gets one sample at a time.")
    frames = frames_of(lines)
    spent = {line.rank.number: run.line_samples.seconds(line.rank, frames) for line in lines}
    gain = saved(results, max(spent.values()))
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed("Lines that get one sample at a time take little of the run.")
    line = _outermost(run, lines)
    operand = single_sample(line)
    assert operand is not None
    return Finding(
        status=status,
        title=f"{wording.place(line.site.frame)} gets one sample at a time, `{operand.name}`",
        summary=(
            f"`{operand.name}` is {shape_of(operand)}, another one at each look: most of a call "
            "with so few values is what each call costs. In batches these lines would save "
            f"{wording.saving(results, gain.seconds, is_bound=True)}."
        ),
        gain=gain,
        confidence=Confidence.LOW,
        ranks=ranks_of(lines),
        where=frames_of([line, *lines]),
        evidence=(*_evidence(line, operand), *seen_on(lines)),
        actions=(
            (
                f"Collect what {wording.called(line.site.frame)} gets one by one, and make one "
                "call for all of it (a leading axis of samples), as far as none depends on the "
                "result of another."
            ),
        ),
    )


def single_sample(line: HotLine) -> Operand | None:
    """The small operand of a line that is a batch of one; nothing that goes with many samples."""
    site = line.site
    for one in site.operands:
        is_single = len(one.shape) > 1 and one.shape[0] == 1 and _is_small(one)
        others = [other for other in site.operands if other is not one]
        is_single = is_single and not one.is_parameter
        if is_single and _is_new_each_time(one) and not any(_fits(one, two) for two in others):
            return one
    return None


def _is_small(operand: Operand) -> bool:
    """Whether a call is over before such values matter; one value alone is no sample."""
    return operand.elements > 1 and operand.elements * operand.value_bytes <= NEAR_CACHE_BYTES


def _is_new_each_time(operand: Operand) -> bool:
    is_seen = operand.looks >= FEWEST_LOOKS
    return is_seen and operand.contents > MAIN * min(operand.looks, MANY_CONTENTS)


def _fits(row: Operand, other: Operand) -> bool:
    """Whether another operand holds many samples that this one goes with.

    That is a table with rows of the same length, as in `table - mean`, and the input of a recurrent
    network, be it of words, beside its state, whose axes count layers and then the samples.
    """
    is_table = len(other.shape) == len(row.shape) and other.shape[0] > 1
    is_row = other.shape[-1:] == row.shape[-1:] != other.shape[:1]
    is_state = len(row.shape) > 2 and row.shape[1] > 1 and row.shape[1] in other.shape[:2]
    return (is_table and is_row) or is_state


def _outermost(run: Facts, lines: list[HotLine]) -> HotLine:
    """Of these lines the one that holds most of their time."""
    return max(lines, key=lambda one: run.line_samples.seconds(one.rank, [one.site.frame]))


def _evidence(line: HotLine, operand: Operand) -> list[Evidence]:
    return [
        Evidence(f"Looks at line {line.site.frame.line}", line.site.looks),
        Evidence(f"`{operand.name}`", shape_of(operand)),
        Evidence("Most values of it in all looks", operand.elements),
    ]


DIAGNOSIS = Diagnosis(
    id="single_samples",
    title="A model or function is called with one sample at a time",
    description=(
        "Looks for small operands whose leading axis has the length 1 and that are others at each "
        "look, in lines that take much of the run."
    ),
    judge=judge,
    applies=has_operands,
    intact=RANK_BY_RANK,
    passed="No line works on one sample at a time",
    evidence="the operand with its shape, and how often it was looked at",
    gain_from="upper bound: the time of these lines, and of what they call",
    rank=288,
    of_work=True,
)
