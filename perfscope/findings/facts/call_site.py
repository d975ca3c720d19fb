"""Where the program calls a function: the line to change for calling it less often."""

from collections import Counter
from collections.abc import Collection

from perfscope.attribution.stack_rules import is_user_file
from perfscope.judging import MAIN
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.results import Results
from perfscope.trace.model import Frame


def call_site(results: Results, callee: Frame, ranks: Collection[int]) -> Frame | None:
    """The line of the program from which most samples of a function came.

    Args:
        results: the run.
        callee: a function of the user's.
        ranks: numbers of those whose samples are looked at.

    Returns:
        The nearest caller in a file of the user's; None where no line has most of the samples.
    """
    trace, found, whole = results.trace, Counter[Frame](), 0
    for rank in trace.ranks:
        if rank.number not in ranks:
            continue
        rows = results.focus.within(rank.main_stacks)
        for place, count in Counter(rows["stack"].tolist()).items():
            frames = [trace.frames[one] for one in trace.stacks[place]]
            inside = next((n for n, one in enumerate(frames) if one.key == callee.key), None)
            if inside is None:
                continue
            whole += count
            callers = [one for one in frames[:inside] if is_user_file(one.file)]
            if callers and callers[-1].line > 0:
                found[callers[-1]] += count
    site, most = max(found.items(), key=lambda one: one[1], default=(None, 0))
    return site if most > MAIN * whole else None


def led_by_call(results: Results, phase: PhaseResult) -> tuple[Frame, ...]:
    """The lines of a phase, and before them that which calls it, where it is known."""
    where = phase.where
    site = call_site(results, where[0], phase.entering_ranks) if where else None
    return (site, *where) if site else where
