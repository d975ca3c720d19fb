"""Lines that copy a variable which a loop makes anew, and how long that takes."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import has_operands
from perfscope.judging import FEWEST_SAMPLES
from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.carried import Carried, carried
from perfscope.trace.model import Frame, Rank
from perfscope.units import NS


@dataclass(frozen=True)
class Copied:
    """A line of one rank that copies a variable, and how long that takes."""

    rank: Rank
    seen: Carried
    seconds: float  # in the focus of analysis
    before_s: float  # before it begins, as data are loaded


def was_looked_at(results: Results) -> bool:
    """Whether any rank looked at what its lines work on, or make anew."""
    return has_operands(results) or any(carried(one.metadata) for one in results.trace.ranks)


def copied(run: Facts, is_one: Callable[[Carried], bool]) -> Sequence[Sequence[Copied]]:
    """By line and variable, the ranks that copy there what is such a one.

    A rank that was looked at too seldom to tell does in a line what another one was seen to do.
    """
    ranks = run.results.trace.ranks
    told = {
        rank.number: {(one.frame, one.name): one for one in carried(rank.metadata)}
        for rank in ranks
    }
    such = {
        at: one
        for own in told.values()
        for at, one in own.items()
        if one.is_innermost and is_one(one)
    }
    found: defaultdict[tuple[Frame, str], list[Copied]] = defaultdict(list)
    for rank in ranks:
        for (frame, name), elsewhere in such.items():
            seen = told[rank.number].get((frame, name))
            if seen is None or seen.looks <= FEWEST_SAMPLES:
                seen = elsewhere
            one = Copied(
                rank,
                seen,
                run.line_samples.seconds(rank, [frame]),
                _before_s(run.results, rank, frame),
            )
            if seen.is_innermost and is_one(seen) and one.seconds + one.before_s > 0:
                found[frame, name].append(one)
    return list(found.values())


def _before_s(results: Results, rank: Rank, frame: Frame) -> float:
    """How long a rank was in a line before the focus of analysis begins, as its samples tell."""
    trace, start_ns = results.trace, results.focus.start_ns
    rows = rank.main_stacks[rank.main_stacks["t"] < start_ns]
    numbers = {number for number, one in enumerate(trace.frames) if one == frame}
    inside = [not numbers.isdisjoint(trace.stacks[stack]) for stack in rows["stack"].tolist()]
    whole_s = NS * float(start_ns - rows["t"][0]) if inside else 0.0
    return whole_s * sum(inside) / max(len(inside), 1)
