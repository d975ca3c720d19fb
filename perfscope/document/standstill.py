"""That nobody got on at the end of a run that was ended from outside, in words."""

from perfscope.metrics.results import Results
from perfscope.standstill.pending import pending_collectives
from perfscope.standstill.ranks import ranks_now
from perfscope.standstill.reasons import in_start, reasons
from perfscope.trace.worlds import asked_for, starting
from perfscope.units import NS, counted, format_seconds

MOST_REASONS = 2
BEGAN_NOTHING = "began or finished a call, phase or step"
"""What is seen of ranks that stand still, whatever they do meanwhile."""


def told(results: Results) -> str:
    """For how long nobody got on, and who was where; "" where that was not so.

    Who was in no call for others may have worked: that is no lack of progress, and is told as what
    was seen.
    """
    found = results.standstill
    if found is None or results.labels is None:
        return ""
    run, how_long = found.trace, format_seconds(found.length_ns * NS)
    if there := starting(run):
        said = f"In its last {how_long} no process came out of MPI_Init."
        return f"{said} {in_start(there, asked_for(run))}"
    ranks = ranks_now(run, found.until_ns, results.labels.user_frame)
    why = reasons(ranks, pending_collectives(run, found.until_ns))
    more = len(why) - MOST_REASONS
    left_out = f"{counted(more, 'more such wait')} {'is' if more == 1 else 'are'} left out."
    what = "made progress" if found.is_deadlock else BEGAN_NOTHING
    said = f"In its last {how_long} no rank {what}."
    return " ".join([said, *why[:MOST_REASONS], *([left_out] if more > 0 else [])])


def deadlock_s(results: Results) -> float:
    """Seconds that ranks spent after the focus waiting for each other, mean of the ranks.

    0 where the focus does not end with that.
    """
    found = results.standstill
    if found is None or not found.is_deadlock or results.focus.end_ns != found.since_ns:
        return 0.0
    each = [max(0, rank.end_ns - found.since_ns) for rank in results.trace.ranks]
    return sum(each) * NS / len(each)
