"""What is put together piece by piece, where each piece copies all that is there."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, passed
from perfscope.findings.core.gain import saved
from perfscope.findings.facts.copied_lines import Copied, copied, was_looked_at
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import saved_of_ranks
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence
from perfscope.units import format_seconds

AT_ONCE = (
    "Collect the pieces in a list (`pieces.append(piece)`), and put them together once after the "
    "loop, with one call for all of them."
)
WITH_ROOM = (
    "Keep the pieces in a list, and put them together where all of `{0}` is needed at once; or "
    "allocate room for more than there is, twice as much whenever it is full, and write each piece "
    "behind the last one (`room[n:n + len(piece)] = piece`; `room[:n]` is what is there)."
)


def judge(run: Facts) -> Outcome:
    """Whether copies of what grows take enough of the run to act on."""
    found = copied(run, lambda one: one.grows)
    worst = max(found, key=lambda own: sum(one.seconds + one.before_s for one in own), default=None)
    if worst is None:
        return passed("No variable was seen that a loop makes anew, larger each time.")
    gain = _gain(run.results, worst)
    status = thresholds.deserved(gain)
    if gain.is_once:
        status = thresholds.unless_once(status, gain.seconds, gain.share)
    if not status.is_fault:
        most = format_seconds(gain.seconds)
        return passed(f"Copies of what grows piece by piece take {most} at most.")
    main = max(worst, key=lambda one: one.seconds + one.before_s)
    seen, place = main.seen, wording.place(main.seen.frame)
    once = ", before the first step" if gain.is_once else ""
    return Finding(
        status=status,
        title=f"{place} copies all of `{seen.name}` for each piece that is added",
        summary=(
            f"Each turn makes `{seen.name}` anew of what it held before and one piece more, and "
            "copies all of it: twice as many pieces take four times as long. Rank "
            f"{main.rank.number} spends {format_seconds(main.seconds + main.before_s)} in this line"
            f"{once}. Put together once, that would save "
            f"{wording.saving(run.results, gain.seconds, is_bound=True)}."
        ),
        gain=gain,
        # a call that takes what grows may do more than copy it
        confidence=Confidence.MEDIUM,
        is_inferred=True,
        ranks=tuple(one.rank.number for one in worst),
        where=(seen.frame,),
        evidence=(
            Evidence(f"Values in `{seen.name}`, from {seen.fewest:,} to", seen.most),
            Evidence("Larger than in the look before", f"in {seen.grew} of {seen.looks} looks"),
        ),
        actions=((WITH_ROOM if seen.is_read else AT_ONCE).format(seen.name),),
        overlaps=("growing_steps", "repeated_work"),
    )


def _gain(results: Results, copied: Sequence[Copied]) -> Gain:
    """Of the steps what all ranks wait for at most; what comes before them is waited for once."""
    spent = {one.rank.number: one.seconds for one in copied}
    inside = saved_of_ranks(results, [spent.get(one.number, 0.0) for one in results.trace.ranks])
    before_s = max(one.before_s for one in copied)
    if before_s <= inside.seconds:
        return inside
    gain = saved(results, before_s, is_of_run=True)
    return replace(gain, share=before_s / (results.window_s + before_s), is_once=True)


DIAGNOSIS = Diagnosis(
    id="growing_copies",
    title="What grows piece by piece is copied for each piece",
    description=(
        "Looks at variables that a loop makes anew from what they were, as `table = "
        "concat([table, piece])` does, also attributes that a method does so with: where one holds "
        "ever more, each piece copies all that is there. What holds the same in each turn, as a "
        "window of fixed length, is none."
    ),
    judge=judge,
    applies=was_looked_at,
    intact=RANK_BY_RANK,
    passed="Nothing that grows is copied for each piece",
    evidence="how many values the variable held at first and last, and how often it had grown",
    gain_from=(
        "upper bound: the time in the line, on the rank that spends most in it, of the analyzed "
        "window or, where that is more, before it"
    ),
    rank=287,
    of_work=True,
)
