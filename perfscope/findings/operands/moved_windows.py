"""Windows of one length that are copied for each piece that is added."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from perfscope.attribution.stack_rules import is_user_file
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.facts.copied_lines import Copied, copied, was_looked_at
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import saved_of_ranks
from perfscope.judging import MAIN
from perfscope.schema.enums import Confidence
from perfscope.trace.model import Frame
from perfscope.units import format_seconds, listed

ACTION = (
    "Use a ring buffer: allocate {0} once and overwrite the oldest rows. That is "
    "`rows[at:at + n] = new`, `at` going round; row i is then `rows[(at + i) % len(rows)]`. Clone "
    "slices that you keep, as they will be overwritten."
)
JOINS = ("cat", "concat", "concatenate", "roll")
"""What functions of C, and those of NumPy and PyTorch, that put arrays together are called."""


def judge(run: Facts) -> Outcome:
    """Whether copies of what stays in windows take enough of the run to act on."""
    by_function: defaultdict[tuple[str, str], list[Copied]] = defaultdict(list)
    for own in copied(run, lambda one: one.moves):
        by_function[own[0].seen.frame.key].extend(one for one in own if _spared_s(run, one) > 0)
    worst = max(by_function.values(), key=_seconds, default=None)
    if not worst:
        return passed("No window of one length was seen that a loop makes anew for each piece.")
    spent = _spared_by_rank(run, worst)
    gain = saved_of_ranks(run.results, [spent[one.number] for one in run.results.trace.ranks])
    status = thresholds.deserved(gain)
    if not status.is_fault:
        most = format_seconds(gain.seconds)
        return passed(f"Copies of what stays in windows take {most} at most.")
    lines = sorted(worst, key=lambda one: -one.seconds)
    main = lines[0]
    frames = tuple(dict.fromkeys(one.seen.frame for one in lines))
    names = list(dict.fromkeys(f"`{one.seen.name}`" for one in lines))
    place = wording.place(frames[0])
    return Finding(
        status=status,
        title=f"{place} copies the whole of {_named(names)} each time",
        summary=(
            f"Each turn makes {listed(names)} anew of all but one end of what was there and a new "
            "piece, so that all that stays is copied, into memory that is new each time. It holds "
            f"{main.seen.most:,} values in each of {main.seen.looks} looks. Rank "
            f"{main.rank.number} spends {format_seconds(_of_rank(worst, main.rank.number))} in "
            f"{'these lines' if len(frames) > 1 else 'this line'}. Written over the oldest, a "
            f"piece would save {wording.saving(run.results, gain.seconds, is_bound=True)}."
        ),
        gain=replace(gain, bridge=_counted(frames)),
        # what is measured is the line; what is joined there follows from the program's text
        confidence=Confidence.MEDIUM,
        is_inferred=True,
        ranks=tuple(sorted({one.rank.number for one in worst})),
        where=frames,
        evidence=_evidence(lines),
        actions=(ACTION.format(listed(names)),),
        overlaps=("growing_copies", "repeated_work"),
    )


def _named(names: Sequence[str]) -> str:
    """Two of them, or one and how many others there are."""
    return listed(names if len(names) < 3 else [names[0], f"{len(names) - 1} others"])


def _counted(frames: Sequence[Frame]) -> str:
    """Which lines the saving counts, as a sentence."""
    lines = sorted({one.line for one in frames})
    where = f"lines {listed(list(map(str, lines)))} spend" if len(lines) > 1 else "this line spends"
    return f"That is what {where} on copying values that stay"


def _evidence(lines: Sequence[Copied]) -> tuple[Evidence, ...]:
    seen = dict.fromkeys((one.seen.frame.line, one.seen.name, one.seen.most) for one in lines)
    return tuple(Evidence(f"Values in `{name}` (line {line})", most) for line, name, most in seen)


def _seconds(own: Sequence[Copied]) -> float:
    return sum(one.seconds for one in own)


def _of_rank(own: Sequence[Copied], number: int) -> float:
    return _seconds([one for one in own if one.rank.number == number])


def _spared_by_rank(run: Facts, own: Sequence[Copied]) -> Mapping[int, float]:
    """Of each rank, what goes to what stays."""
    spent = dict.fromkeys((rank.number for rank in run.results.trace.ranks), 0.0)
    for one in own:
        spent[one.rank.number] += _spared_s(run, one)
    return spent


def _spared_s(run: Facts, one: Copied) -> float:
    """How long a line copies what stays: its time in joins, less the part of the pieces.

    0 where its samples mostly show other work, or looks do not tell how large the pieces are.
    """
    joining = run.line_samples.share_by(one.rank, one.seen.frame, _is_join)
    kept = _kept_share(run, one)
    return one.seconds * joining * kept if joining > MAIN and kept > MAIN else 0.0


def _is_join(called: Sequence[Frame]) -> bool:
    """Whether all that a line calls, outermost first, ends in putting arrays together."""
    if not called or any(is_user_file(one.file) for one in called):
        return False
    return called[-1].function.rsplit(".", maxsplit=1)[-1] in JOINS


def _kept_share(run: Facts, one: Copied) -> float:
    """How much of the window stays, by the pieces that the line was seen to take beside it.

    0 where none was seen, or gradients are computed through it: what is written over breaks these.
    """
    taken = [
        operand
        for own in run.worked_on
        for site in own
        if site.frame == one.seen.frame
        for operand in site.operands
    ]
    sizes: dict[str, int] = {}
    for operand in taken:
        if operand.name != one.seen.name:
            sizes[operand.name] = max(sizes.get(operand.name, 0), operand.elements)
    if not sizes or any(operand.has_gradient for operand in taken):
        return 0.0
    return max(1.0 - sum(sizes.values()) / one.seen.most, 0.0)


DIAGNOSIS = Diagnosis(
    id="moved_windows",
    title="A window of one length is copied for each piece that is added",
    description=(
        "Looks at variables that a loop makes anew from what they were. Where one holds as much "
        "each time, the program's text gives a call all but one end of it with pieces beside "
        "(`rows = concat([rows[n:], piece])`), and samples show that the call mostly joins arrays, "
        "all that stays is copied for what is new. Pieces whose size was not seen, or that are "
        "half of it or more, and windows that gradients flow through, are left alone."
    ),
    judge=judge,
    applies=was_looked_at,
    intact=RANK_BY_RANK,
    passed="No window is copied for each piece that is added",
    evidence="how many values the windows hold",
    gain_from=(
        "upper bound: the time that lines of the function which spends most in such take to join, "
        "less the part that the pieces have of the window"
    ),
    rank=292,
    of_work=True,
)
