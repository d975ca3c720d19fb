"""What is gathered on one rank that then works on it alone: one fault, with one saving."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from perfscope.findings.core import wording
from perfscope.findings.core.certainty import as_sure_as_its_interval
from perfscope.findings.core.finding import Finding
from perfscope.findings.core.gain import most_moving, saved
from perfscope.findings.facts import sampled_places
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.groups import FASTEST, class_of, lost_to_waiting
from perfscope.findings.losses.told import told_only
from perfscope.findings.losses.turns import waiting
from perfscope.losses.entry import Saving
from perfscope.replay.model import Edit
from perfscope.schema.enums import LossPattern
from perfscope.trace.model import Frame
from perfscope.trace.operations import OperationClass
from perfscope.units import NS, capitalized, format_seconds

APART = (
    "Have each rank do its part of this work in {place} on the data that it holds, and combine "
    "only the results: sums and maxima, for example, with Allreduce. Then nothing needs to be "
    "gathered, and nobody waits for {who}."
)
TRANSFER = "network_bound"
ALONE = lost_to_waiting(LossPattern.CHAINED)


def with_gathering(
    run: Facts, findings: Sequence[Finding], of_waiting: Collection[str]
) -> tuple[Finding, ...]:
    """The findings; what one rank works on alone, and the way of the data to it, are one.

    They are where a function has most of the data moved to a rank that others then wait for in the
    same function: the data need not be moved where each rank does its part of the work. What is
    saved is replayed without either. `of_waiting` are the identities of findings about ranks that
    wait for others.
    """
    if class_of(most_moving(run.results)) is not OperationClass.N_TO_ONE:
        return tuple(findings)
    loud = [one for one in findings if one.status.is_fault]
    moves = next((one for one in loud if one.id == TRANSFER), None)
    alone = [one for one in loud if one.id in {*of_waiting, ALONE} and one.gain and one.edits]
    works = max(alone, key=lambda one: one.gain_s or 0.0, default=None)
    place = _gathers(run, works) if moves and works else None
    together = _together(run, works, place) if works and place else None
    if moves is None or together is None:
        return tuple(findings)
    quiet = told_only(replace(moves, actions=()), together.id, together.title)
    told = {TRANSFER: quiet, together.id: together}
    return tuple(told.get(one.id, one) for one in findings)


def _gathers(run: Facts, works: Finding) -> Frame | None:
    """Where most data is brought to the rank that works alone, in the function where it does."""
    if len(works.ranks) != 1:
        return None
    found = sampled_places.main_place(run.results.call_sites.transfer)
    return found[0] if found and found[0].key in {one.key for one in works.where} else None


def _together(run: Facts, works: Finding, place: Frame) -> Finding | None:
    """The finding about the work, with what it costs to gather what is worked on."""
    operation = most_moving(run.results)
    edits = (*works.edits, Edit(factor=1.0, network=FASTEST, operation=operation))
    saving = run.savings.bound(edits)
    if not isinstance(saving, Saving):
        return None
    gain = saved(
        run.results,
        saving.seconds,
        interval_s=saving.interval_s,
        basis=saving.basis,
        edits=saving.edits,
    )
    moved_s, waited_s = _spent_s(run, works, operation)
    world = [rank.number for rank in run.results.trace.ranks]
    rest, wait = waiting(works.ranks, world)
    who = wording.ranks(works.ranks)
    frames = tuple(dict.fromkeys((*works.where, place)))
    found = replace(
        works,
        title=(
            f"{capitalized(who)} works alone on what {operation} gathers in "
            f"{wording.place(place)}, while {rest} {wait}"
        ),
        summary=(
            f"{capitalized(rest)} {wait} {format_seconds(waited_s)} for {who}, and "
            f"{operation} takes {format_seconds(moved_s)} per rank. With this work "
            "dealt out over all ranks, and nothing to gather, the run would be about "
            f"{format_seconds(gain.seconds)} shorter."
        ),
        gain=gain,
        first=None,
        where=frames,
        actions=(APART.format(place=wording.called(place), who=who),),
    )
    return as_sure_as_its_interval(found)


def _spent_s(run: Facts, works: Finding, operation: str) -> tuple[float, float]:
    """Seconds that an operation takes each rank, on average, and that others wait for the work."""
    results, functions = run.results, {one.key for one in works.where}
    rows = results.communication.operations
    moved_s = sum(row.transfer_s or 0.0 for row in rows if row.name == operation)
    waited_ns = sum(
        one.waiting_ns
        for one in run.losses.entries
        if one.ranks == works.ranks and one.frame is not None and one.frame.key in functions
    )
    return moved_s / len(results.trace.ranks), waited_ns * NS
