"""Lists that are searched from the start, again and again."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from perfscope.attribution.stack_rules import NATIVE_FILES
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import saved_of_ranks
from perfscope.findings.facts.searched import action, does
from perfscope.judging import MAIN
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank
from perfscope.trace.searched import How, Searched, has_looked
from perfscope.units import format_count, format_seconds, inside

TAKES = {
    How.IN: "goes through it item by item until it finds what it looks for",
    How.FIND: "goes through it item by item until it finds what it looks for",
    How.COUNT: "goes through all of its items",
    How.REMOVE: "goes through it until it finds an item, and moves all that follow by one place",
    How.SHIFT: "moves every other element by one place",
}


@dataclass(frozen=True)
class _Search:
    """A line of one rank that goes through a list, and how long that takes."""

    rank: Rank
    seen: Searched
    seconds: float
    called_s: float  # of these, seen in the list's own functions


def was_looked_at(results: Results) -> bool:
    """Whether any rank looked at what its lines search; earlier recordings did not."""
    return any(has_looked(one.metadata) for one in results.trace.ranks)


def judge(run: Facts) -> Outcome:
    """Whether going through lists takes enough of the run to act on."""
    found = _searches(run)
    worst = max(found, key=lambda own: sum(one.seconds for one in own), default=None)
    if worst is None:
        return passed("No list was seen that a loop searches from the start.")
    spent = {one.rank.number: one.seconds for one in worst}
    gain = saved_of_ranks(
        run.results, [spent.get(one.number, 0.0) for one in run.results.trace.ranks]
    )
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed(
            f"No line takes more than {format_seconds(gain.seconds)} to go through a list."
        )
    main = max(worst, key=lambda one: one.seconds)
    is_seen = main.called_s > MAIN * main.seconds
    seen, place = main.seen, wording.place(main.seen.frame)
    saving = wording.saving(run.results, gain.seconds, is_bound=True)
    return Finding(
        status=status,
        title=f"{place} {does(seen)}",
        summary=(
            f"Each time, this line {TAKES[seen.how]}: twice as many items take twice as long. Rank "
            f"{main.rank.number} spends {format_seconds(main.seconds)} on that. "
            f"To find items without that would save {saving}."
        ),
        gain=gain,
        # where no call was seen, which part of the line it takes is estimated
        confidence=Confidence.HIGH if is_seen else Confidence.MEDIUM,
        is_inferred=not is_seen,
        ranks=tuple(sorted(one.rank.number for one in worst)),
        where=(seen.frame,),
        evidence=(
            Evidence(f"Items of `{seen.name}`, on average of {seen.looks} looks", seen.length),
            Evidence("At most", format_count(seen.most)),
            Evidence("Of the line, what goes through it, about", seen.part, "ratio"),
        ),
        actions=(f"In {place}: {inside(action(seen))}",),
        overlaps=("data_stall", "growing_steps"),
    )


def _searches(run: Facts) -> Sequence[Sequence[_Search]]:
    """By line and name, the ranks that go through a list there.

    A rank that was looked at too seldom to tell does in a line what another one was seen to do.
    """
    ranks = run.results.trace.ranks
    told: dict[tuple[Frame, str], Searched] = {}
    for one in (it for own in run.results.searched for it in own):
        known = told.get((one.frame, one.name))
        if known is None or one.looks > known.looks:
            told[one.frame, one.name] = one
    found: defaultdict[tuple[Frame, str], list[_Search]] = defaultdict(list)
    for rank, searches in zip(ranks, run.results.searched, strict=True):
        own = {(one.frame, one.name): one for one in searches}
        for at, elsewhere in told.items():
            seen = own.get(at, elsewhere)
            if seen.part <= MAIN:  # a short list takes as long as a set
                continue
            lines, share = run.line_samples, run.line_samples.share_by
            line_s = lines.seconds(rank, [seen.frame])
            called_s = line_s * share(rank, seen.frame, partial(_is_search, seen.how))
            seconds = called_s + line_s * seen.part * share(rank, seen.frame, _is_alone)
            if seconds > 0:
                found[at].append(_Search(rank, seen, seconds, called_s))
    return list(found.values())


def _is_search(how: How, behind: Sequence[Frame]) -> bool:
    """Whether a line was seen in a function of a list that does so, and nowhere below."""
    return bool(behind) and all(
        one.file in NATIVE_FILES
        and one.function.startswith(OF_LISTS)
        and one.function.rpartition(".")[2] in METHODS[how]
        for one in behind
    )


def _is_alone(behind: Sequence[Frame]) -> bool:
    """Whether a line was not seen to call anything: it goes through a list, or does the rest."""
    return not behind


OF_LISTS = "builtins.list.", "collections.deque."
METHODS = {
    How.IN: ("__contains__",),
    How.FIND: ("index",),
    How.COUNT: ("count",),
    How.REMOVE: ("remove",),
    How.SHIFT: ("pop", "insert"),
}

DIAGNOSIS = Diagnosis(
    id="searched_lists",
    title="A list is searched from the start, again and again",
    description=(
        "Looks at lists, a few times a second, where the program tests whether something is in "
        "them, asks them for a place (`index`, `count`, `remove`), or takes or puts what is first "
        "(`pop(0)`, `insert(0, x)`). What was seen in such a call is time of that; of samples in "
        "the line alone how long the list is tells the part, if one item takes as long as one "
        "instruction of the interpreter. Where that is not the main part the list is too short."
    ),
    judge=judge,
    applies=was_looked_at,
    intact=RANK_BY_RANK,
    passed="No long list is searched again and again",
    evidence="how long the list was, and the part of the line that goes through it",
    gain_from=(
        "upper bound: that part of the time in the line, on the rank that spends most in it"
    ),
    rank=291,
    of_work=True,
)
