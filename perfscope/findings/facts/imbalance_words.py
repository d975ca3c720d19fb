"""What is said of ranks that work longer than others: who, where, how long, and what to change."""

from collections.abc import Sequence
from statistics import mean

from perfscope.findings.core import wording
from perfscope.findings.core.finding import Evidence
from perfscope.findings.facts.imbalance_facts import ImbalanceFacts
from perfscope.findings.facts.imbalance_judgment import Judgment, spent
from perfscope.findings.facts.uneven_work import Excess
from perfscope.metrics.results import Results
from perfscope.savings import LEAST_TOLD
from perfscope.trace.model import Frame
from perfscope.units import capitalized, format_seconds

EVIDENT_PART = 0.01  # of the largest excess: less says nothing
SPLIT = (
    "Split the work{} across all ranks: give each rank part of the data, and combine the results "
    "with one allreduce, or, where the work is small, have every rank do all of it"
)
"""What helps where one rank does for all what all could do; `{}` is where."""


def others(facts: ImbalanceFacts) -> str:
    """The ranks that work less, inside a sentence."""
    rest = facts.others
    return wording.ranks(rest) if len(rest) == 1 else "the others"


def place(facts: ImbalanceFacts) -> str:
    """Where the excess lies: ` in compute() (train.py:12), forward phase,`."""
    if not facts.excess or facts.excess[0].seconds <= 0:
        return ""
    top = facts.excess[0]
    where = wording.place(top.where[0]) if top.where else ""
    if not top.phase or not where:
        return f" in {where or top.name}"
    return f" in {where}, {top.name} phase,"


def is_alone(facts: ImbalanceFacts) -> bool:
    """Whether the ranks that work longer alone do that: no other was seen at these lines."""
    top = facts.excess[0] if facts.excess else None
    return top is not None and top.seconds > 0 and bool(top.where) and top.is_alone


def unseen(results: Results, facts: ImbalanceFacts) -> str:
    """What would show where the overloaded ranks work longer; "" where that was seen."""
    who, top = wording.ranks(facts.overloaded), facts.excess[0] if facts.excess else None
    if top is None or top.seconds <= 0:
        extra = format_seconds(max(facts.work_s) - min(facts.work_s))
        longer = f"{who} {inflected(facts, 'work')} up to {extra} longer than {others(facts)}"
        return f"{wording.to_see_functions(results)}: {longer}, and nothing tells in what."
    if top.where and wording.place(top.where[0]):
        return ""
    missing = f"{wording.to_see_functions(results)}, to see which function of {top.name} it is"
    return f"{missing}: {spends(facts)}."


def less_work(found: Judgment, split: Frame | None) -> tuple[str, Frame | None]:
    """How much less the overloaded ranks are to do, where all ranks do it, and why.

    `split` is the line of the program that alone deals out work by rank; None of none or several.
    It is returned where the text says that it may set the split; else None.
    """
    facts = found.facts
    top, who = facts.excess[0], wording.ranks(facts.overloaded)
    if facts.is_single:
        do = "do" if len(facts.overloaded) > 1 else "does"
        when = "on all ranks at once, or while the other ranks work"
        return f"Do what {who} {do} once{place(facts)} {when}: {spends(facts)}.", None
    left = len(facts.overloaded) / len(facts.ranks) if facts.is_split else 0.0
    where = place(facts).rstrip(",")
    if not left and top.usual_s <= 0:  # what most others do is nothing
        return f"{SPLIT.format(where)}: {spends(facts)}.", None
    less = f"{100 * (1.0 - left) * top.seconds / top.own_s:.0f} %"
    if not left:
        given = f"as much as {others(facts)} do"
        return f"Give {who} {less} less of the work{where}, {given}: {spends(facts)}.", None
    each = " each" if len(facts.overloaded) > 1 else ""
    spent_s, more_s, at, told = top.own_s, top.seconds, place(facts), spends(facts)
    if is_of_more(found):  # an even split is one of all their work
        spent_s, at = _work_s(facts, facts.overloaded), ""
        more_s = spent_s - _work_s(facts, facts.others)
        told = _works(facts)
    less = f"{100 * (1.0 - left) * more_s / spent_s:.0f} %"
    told = (
        f"Deal out the work{at} evenly by the time that it takes: move {less}{each} of it "
        f"from {who} to {others(facts)}. {capitalized(told)}. {_set_at(split)}"
    )
    return told, split if wording.place(split) else None


def is_of_more(found: Judgment) -> bool:
    """Whether an even split saves more than the work in the place that is named."""
    facts = found.facts
    top = facts.excess[0] if facts.excess else None
    if not facts.is_split or top is None or top.seconds <= 0:
        return False
    left_s = top.seconds * len(facts.overloaded) / len(facts.ranks)
    return wording.differs(top.seconds - left_s, found.gain) > 0


def _work_s(facts: ImbalanceFacts, ranks: Sequence[int]) -> float:
    """How long some ranks work in all, mean of them."""
    return mean(facts.work_s[facts.ranks.index(rank)] for rank in ranks)


def _works(facts: ImbalanceFacts) -> str:
    """Inside a sentence, `rank 1 works 14.6 s, rank 0 4.28 s, most of it in compute()`."""
    who, rest, mean_of = wording.ranks(facts.overloaded), others(facts), " on average"
    own = format_seconds(_work_s(facts, facts.overloaded))
    usual = format_seconds(_work_s(facts, facts.others))
    told = f"{who} {inflected(facts, 'work')} {own}{mean_of if len(facts.overloaded) > 1 else ''}"
    at = place(facts).rstrip(",")
    told += f", {rest} {usual}{mean_of if len(facts.others) > 1 else ''}"
    return f"{told}; most of the difference is{at}" if at else told


def _set_at(split: Frame | None) -> str:
    """Where the split may be set: nothing shows that the uneven work comes from that line."""
    if not wording.place(split):
        return "The split may be set elsewhere, where the data is dealt out."
    return f"The only line that deals out by rank is {wording.place(split)}."


def why_differs(found: Judgment) -> str:
    """How what ranks were just said to do longer is spread; "" where that is not what is done."""
    facts = found.facts
    top = facts.excess[0] if facts.excess else None
    evenly = " The estimate assumes an even split over the ranks"
    if not facts.is_split or top is None or top.seconds <= 0:
        return f"{evenly}." if facts.is_split else ""
    left_s = top.seconds * len(facts.overloaded) / len(facts.ranks)
    differs = wording.differs(top.seconds - left_s, found.gain)
    rest = ""
    if differs < 0 and spent(facts) is None:
        rest = ", and that steps vary as they did, so that ranks still wait"
    if differs > 0 and (facts.is_shifting or is_alone(facts)):
        rest = ", of all uneven work and not of this alone"
    return f"{evenly}{rest}."


def spends(facts: ImbalanceFacts) -> str:
    """Inside a sentence, `rank 1 spends 20.0 s there, rank 0 3.00 s`.

    Of a phase that is the time in it, of which its place is a part.
    """
    top, rest = facts.excess[0], others(facts)
    who, own = wording.ranks(facts.overloaded), format_seconds(top.own_s)
    where = f"in {top.name}" if top.phase else "in that function" if top.where else "there"
    mean = " on average" if len(facts.overloaded) > 1 else ""
    told = f"{who} {inflected(facts, 'spend')} {own} {where}{mean}"
    several = len(facts.ranks) - len(facts.overloaded) > 1
    if 0 < top.usual_s <= LEAST_TOLD * top.own_s:
        do, spend = ("does", "spends") if len(facts.overloaded) == 1 else ("do", "spend")
        also = f"{rest} {'spend' if several else 'spends'} {format_seconds(top.usual_s)} on it"
        return f"only {who} {do} this, and {spend} {own} on it{mean} ({also})"
    if top.usual_s <= 0:
        return f"{told}, {'' if top.is_alone or not several else 'most of '}{rest} nothing"
    each = " in the median" if several else ""
    usual = f"{format_seconds(top.usual_s)}{each}"
    return f"{told}, {rest} {usual}"


def spends_more(facts: ImbalanceFacts, seconds: float, at: str = " there") -> str:
    """Inside a sentence, `rank 1 spends 17.0 s more there than rank 0`."""
    who = wording.ranks(facts.overloaded)
    spend = inflected(facts, "spend")
    return f"{who} {spend} {format_seconds(seconds)} more{at} than {others(facts)}"


def inflected(facts: ImbalanceFacts, verb: str) -> str:
    """`works` of one rank, `work` of several."""
    return f"{verb}s" if len(facts.overloaded) == 1 else verb


def waiting(facts: ImbalanceFacts) -> str:
    """Who waits meanwhile: `3 ranks wait`."""
    return wording.others(facts.others)


def excess_evidence(facts: ImbalanceFacts) -> tuple[Evidence, ...]:
    """Where the overloaded ranks work longer."""
    rows = []
    # what is next to nothing beside the first is no evidence
    least_s = EVIDENT_PART * max((excess.seconds for excess in facts.excess), default=0.0)
    for excess in facts.excess[:3]:
        if excess.seconds > 0 and excess.seconds >= least_s:
            ratio = f" ({excess.ratio:.2f} × the others)" if excess.ratio else ""
            label = f"{_label(excess)}: more than the other ranks{ratio}"
            rows.append(Evidence(label, excess.seconds, "s", "0"))
    return tuple(rows)


def _label(excess: Excess) -> str:
    return capitalized(excess.name) if excess.phase else excess.name
