"""Powers of arrays that a few multiplications and a root would compute faster."""

from dataclasses import replace

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import (
    costliest,
    frames_of,
    has_operands,
    ranks_of,
    saved_at_most,
    seen_on,
    shape_of,
)
from perfscope.judging import MAIN
from perfscope.metrics.host.hot_lines import HotLine
from perfscope.schema.enums import Confidence
from perfscope.structures import dataclass
from perfscope.trace.operands import Raised
from perfscope.units import format_share


@dataclass(frozen=True)
class Slow:
    """A line that computes such a power, with the time that the other form would save."""

    line: HotLine
    told: Raised


def judge(run: Facts) -> Outcome:
    """Whether powers that products would make take enough of the run to act on."""
    found = [
        Slow(replace(line, seconds=line.part_s * (1.0 - told.share)), told)
        for line in run.hot_lines
        if (told := line.site.raised) is not None and told.share < MAIN and product(told)
    ]
    worst = costliest((one.line.site.frame, one) for one in found)
    if not worst:
        return passed(
            "No power of an array was seen that products would compute in less than half the time."
        )
    lines = [one.line for one in worst]
    gain = saved_at_most(run.results, lines)
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed("Powers of arrays that products would compute take little time.")
    told, frame = worst[0].told, worst[0].line.site.frame
    now, then = f"`{power(told)}`", f"`{product(told)}`"
    share = format_share(told.share)
    operands = [one for one in worst[0].line.site.operands if one.name == told.name]
    return Finding(
        status=status,
        title=f"{now} is slow in {wording.place(frame)}; {then} is faster",
        summary=(
            f"{then} is the same as {now} but for rounding. Timed on an array of that type when "
            f"the program was over, it took {share} of the time of the power. It would save "
            f"{wording.saving(run.results, gain.seconds, is_bound=True)}."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=ranks_of(lines),
        where=frames_of(lines),
        evidence=(
            *(Evidence(f"`{one.name}` is", shape_of(one)) for one in operands[:1]),
            Evidence(f"Of the time of {now}, {then} takes", share),
            *seen_on(lines),
        ),
        actions=(f"In {wording.place(frame)}: write {then} in place of {now}.",),
        overlaps=("slow_operands",),
    )


def power(told: Raised) -> str:
    """How the program writes that power."""
    return f"{told.name} {'**=' if told.is_in_place else '**'} {told.exponent:g}"


def product(told: Raised) -> str:
    """How a program writes it by multiplications, a root and a reciprocal; "" where it would not.

    As the agent does: not of more than three factors and a root.
    """
    whole, half = divmod(abs(told.exponent), 1.0)
    if whole > len("xxx") or half not in (0.0, 0.5):
        return ""
    factors = [told.name] * int(whole) + ([f"np.sqrt({told.name})"] if half else [])
    made = " * ".join(factors)
    if told.exponent < 0:
        made = f"1.0 / ({made})" if len(factors) > 1 else f"1.0 / {made}"
    return f"{told.name}[...] = {made}" if told.is_in_place and made else made


DIAGNOSIS = Diagnosis(
    id="slow_powers",
    title="Powers of arrays are computed where products would be faster",
    description=(
        "Looks for powers of NumPy arrays whose exponent is a constant, a whole number or half of "
        "one, up to 3.5. Up to three factors, a root and a reciprocal make the same; both forms "
        "are timed on an array of that type when the program is over."
    ),
    judge=judge,
    applies=has_operands,
    intact=RANK_BY_RANK,
    passed="No power of an array takes long that products would compute faster",
    evidence="the array, and what the other form takes of the time of the power",
    gain_from="upper bound: the time of these lines, less what the other form takes of it",
    counts_from="as most do, where the other form takes less than half of the time",
    rank=274,
    of_work=True,
    references=(
        "NumPy, numpy.power: https://numpy.org/doc/stable/reference/generated/numpy.power.html",
    ),
)
