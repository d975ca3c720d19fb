"""Functions whose work several ranks do, each of them all of it."""

from collections.abc import Iterable, Sequence

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import has_operands, saved_of_ranks, shape_of
from perfscope.findings.facts.worker_turns import loader_line, sharded_at
from perfscope.judging import ALONE
from perfscope.metrics.host.compared import Instruction, compared
from perfscope.metrics.host.replicated import Replicated, replicated
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence
from perfscope.trace.model import Frame
from perfscope.units import format_seconds, inside, listed


def _applies(results: Results) -> bool:
    return len(results.trace.ranks) > 1 and has_operands(results)


def judge(run: Facts) -> Outcome:
    """Whether functions in which ranks work on the same take enough of the run to act on."""
    results = run.results
    seen = tuple(compared(results.own_looks))
    if not seen:
        return not_measured("No two ranks were looked at in the same line at the same moment.")
    found = replicated(results, seen)
    if not found:
        return passed(
            "At no function were several ranks seen to work on the same contents at the same time."
        )
    trains = _trains(seen, found)
    whole = "" if trains else _library(run, found[0].place)
    saved = _saved(results, found, trains=trains, is_whole=bool(whole))
    gain = saved_of_ranks(results, saved)
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed(
            "Work that ranks do several times takes little: done once, it would save "
            f"{format_seconds(gain.seconds)} at most."
        )
    data = loader_line(results) if trains else None
    return Finding(
        status=status,
        title=_title(results, found, data, trains=trains),
        summary=_summary(run, found, gain.seconds, trains=trains, whole=whole),
        gain=gain,
        confidence=Confidence.HIGH if _is_of_data(found) else Confidence.MEDIUM,
        ranks=tuple(
            rank.number
            for rank, seconds in zip(results.trace.ranks, saved, strict=True)
            if seconds > 0
        ),
        where=(*([data] if data else []), *(one.place for one in found)),
        evidence=_evidence(found),
        actions=_actions(found, data, trains=trains, whole=whole),
        overlaps=("repeated_work",),
    )


def _saved(
    results: Results, found: Sequence[Replicated], *, trains: bool, is_whole: bool
) -> Sequence[float]:
    """Seconds that each rank saves at most that does its part alone.

    Of training on the same data that is so much of all steps: an epoch has fewer of them. Of what a
    library may only do as a whole it is all: done more rarely, or something cheaper instead.
    """
    spent_s = results.steps.spent_s
    if trains and spent_s is not None:
        return [spent_s * (1.0 - 1.0 / found[0].copies)] * len(results.trace.ranks)
    parts = [one.saved_s for one in found]
    if is_whole:
        parts[0] = [found[0].part * seconds for seconds in found[0].seconds]
    return [sum(own) for own in zip(*parts, strict=True)]


def _is_of_data(found: Sequence[Replicated]) -> bool:
    """Whether more than a loss was seen to be the same, which may be that of all ranks' data."""
    return any(one.elements > 1 for it in found for one in it.operands)


def _whom(results: Results) -> str:
    return "Both ranks" if len(results.trace.ranks) == 2 else "Ranks"


def _trains(seen: Iterable[Instruction], found: Sequence[Replicated]) -> bool:
    """Whether it is training by a framework that ranks do on the same data, nearly always.

    Where layers are divided among ranks, some have the same input by design, and others not.
    """
    arrays = [one for one in seen if one.is_of_arrays]
    is_all = sum(one.alike for one in arrays) > ALONE * sum(one.meetings for one in arrays)
    return is_all and any(
        one.has_gradient and not one.is_parameter for it in found for one in it.operands
    )


def _title(
    results: Results, found: Sequence[Replicated], data: Frame | None, *, trains: bool
) -> str:
    if trains:
        made = f", from the DataLoader made in {wording.place(data)}" if data else ""
        return f"{_whom(results)} train on the same data{made}: only the work of one of them counts"
    return f"{_whom(results)} compute the same in {listed([*map(_called, found[:2])])}"


def _called(found: Replicated) -> str:
    return wording.called(found.place)


def _names(found: Replicated) -> str:
    return listed([f"`{one.name}`" for one in found.operands[:3]])


def _summary(
    run: Facts, found: Sequence[Replicated], seconds: float, *, trains: bool, whole: str
) -> str:
    saving = wording.saving(run.results, seconds, is_bound=True)
    worst = found[0]
    seen = (
        f"At {worst.alike} of {worst.meetings} moments at which several ranks were looked at in "
        f"the same line of {_called(worst)}, or calling it, {_names(worst)} had the same contents "
        f"on {worst.copies} of them (of a large array, in a sample), and others at other "
        "moments"
    )
    if trains:
        return (
            f"{seen}: each rank goes through all the data, and the mean of equal gradients is that "
            "of one rank. With a part of the data for each, an epoch has as many steps fewer: as "
            f"many epochs would save {saving}."
        )
    if whole:
        return (
            f"{seen}: each rank does the work of all then, most of it in {whole}. Left out, it "
            f"would save {saving}; divided among them, if that is possible, less."
        )
    return (
        f"{seen}: each rank does the work of all then. Divided among them, it would save {saving}, "
        "less what it takes to exchange the results where every rank needs all of them."
    )


def _evidence(found: Sequence[Replicated]) -> tuple[Evidence, ...]:
    rows = [
        Evidence(
            "Moments at which several ranks were seen in the same line",
            sum(one.meetings for one in found),
        ),
        Evidence(
            "Of these, with the same contents; not where one rank is ahead of the others",
            sum(one.alike for one in found),
        ),
    ]
    for one in (it for function in found for it in function.instructions[:3]):
        line = one.site.frame.line
        rows += [Evidence(f"`{it.name}` in line {line}", shape_of(it)) for it in one.site.operands]
    return tuple(dict.fromkeys(rows))


def _actions(
    found: Sequence[Replicated], data: Frame | None, *, trains: bool, whole: str
) -> tuple[str, ...]:
    at = wording.place(found[0].place)
    if trains:
        return (_own_part(data, f" that {at} works on"),)
    if found[0].caller is not None:
        at += f", called in {wording.place(found[0].caller)}"
    divide = (
        f"let each rank compute its own part of {_names(found[0])} alone, selected before "
        "the work and not after it; where all ranks need all results, put them together with one "
        "Allgather."
    )
    other = f"If ranks are meant to work on different data: {inside(_own_part(None, ''))}"
    if not whole:
        return (f"In {at}: {divide}", other)
    rarer = f"In {at}: if {whole} needs all of {_names(found[0])} at once, call it less often, or"
    rarer += f" use something cheaper that serves as well; if not, {divide}"
    return (rarer, other)


def _library(run: Facts, frame: Frame) -> str:
    """The function of a library that a line's time is mostly in, which may need all of an array."""
    name, _ = run.line_samples.mostly_in(run.results.trace.ranks, frame)
    return name or ""


def _own_part(data: Frame | None, which: str) -> str:
    """How each rank gets data of its own: where the line is known that makes the loader, there."""
    how = sharded_at(data)
    if data is None:
        how = (
            f"Give each rank its own part of the data{which} (PyTorch: "
            "`DataLoader(..., sampler=DistributedSampler(dataset))`)"
        )
    return f"{how}. If samples are generated at random, seed each rank differently."


DIAGNOSIS = Diagnosis(
    id="replicated_work",
    title="Ranks compute the same",
    description=(
        "All ranks look at what the current instruction of the program takes, and at what decides "
        "the functions that it is in, at the same moments, about twice a second. Where the "
        "contents are the same on several ranks, and others at other moments, each rank does all "
        "of the work. A function that changes what it got from outside by what that was before, "
        "or is given what it has returned before and no other data, as an optimizer does, keeps a "
        "state that every rank needs, and does not count."
    ),
    judge=judge,
    applies=_applies,
    passed="No function was seen whose work several ranks do, each of them all of it",
    evidence="moments at which ranks were seen in one line, how often with the same, and of what",
    gain_from=(
        "upper bound: the time in these lines on the rank that spends most in them, but for the "
        "part that a rank would do of it; without the exchange of results. Where it is mostly "
        "in a function of a library, which may need all of the data, without that part as well. "
        "Of training on the same data that part of all steps"
    ),
    rank=289,
    of_work=True,
)
