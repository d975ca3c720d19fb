"""Messages between two ranks, where they make most of the transfer: how many, and of what size."""

from collections import Counter, defaultdict
from dataclasses import replace

from perfscope.attribution.activity_rules import is_converting
from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.findings.core.finding import Gain
from perfscope.findings.core.gain import as_bound, moved_s, saved
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.sampled_places import main_place
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.losses.entry import Saving
from perfscope.losses.savings import edits_of
from perfscope.metrics.communication.alike_messages import SENDING
from perfscope.metrics.communication.call_sites import Places
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.metadata import noted_frameworks
from perfscope.trace.model import Frame
from perfscope.trace.operations import BY_NAME, OperationClass
from perfscope.units import NS, format_seconds

MOVING = (
    *SENDING,
    *(OperationClass.RECV, OperationClass.IRECV, OperationClass.PROBE),
    *(OperationClass.WAIT, OperationClass.TEST),
)
PICKLED = frozenset({"MPI_Mprobe", "MPI_Mrecv"})
"""What mpi4py's lower-case calls receive by: they do not know the size of an object before."""


_CALLS = "mpi4py.MPI."


@dataclass(frozen=True)
class Messages:
    """Those alike that cost most: sent by one operation, with sizes within a factor of two."""

    calls: int  # of all ranks over their lives
    size_bytes: float  # mean
    is_pickled: bool  # objects of Python that become bytes and the reverse
    is_answered: bool  # each waits for one that comes back
    places: Places  # where they were seen moving


def pickles(results: Results) -> bool:
    """Whether most samples where most data is moved are in calls that make bytes of objects.

    Inside of operations the stacks of samples name no call: those that end where these do tell.
    """
    place, trace = main_place(results.call_sites.transfer), results.trace
    calls: defaultdict[tuple[int, ...], list[Frame]] = defaultdict(list)
    for stack in trace.stacks:
        frames = [trace.frames[one] for one in stack]
        is_there = bool(place) and place[0].key in {one.key for one in frames}
        if is_there and (call := _call(frames[-1])) is not None:
            calls[stack[:-1]].append(call)
    seen = Counter[bool]()
    for rank in trace.ranks if calls else ():
        for number in results.focus.within(rank.main_stacks)["stack"].tolist():
            if told := calls.get(trace.stacks[number][:-1]):
                seen[all(map(is_converting, told))] += 1
    return seen[True] >= FEWEST_SAMPLES and seen[True] > MAIN * seen.total()


def _call(frame: Frame) -> Frame | None:
    """The call of mpi4py that a frame is, of a type that may be untold; None of any other."""
    if frame.file != BUILT_IN or frame.function.startswith(_CALLS):
        return frame if frame.file == BUILT_IN else None
    typed = replace(frame, function=f"{_CALLS}Comm{frame.function}")
    return typed if frame.function.startswith(".") and is_converting(typed) else None


def saved_without_converting(run: Facts, transfer: Edit) -> Gain | None:
    """What is saved at most without transfer and without making bytes of what is moved.

    That is where most data is moved; None where it is not seen to take time there.
    """
    results, place = run.results, main_place(run.results.call_sites.transfer)
    converting = [
        one
        for one in run.losses.entries
        if one.cause.activity is Activity.SERIALIZATION and one.causes == 1
        if one.frame is not None and one.frame in place
    ]
    edits = (transfer, *(edit for one in converting for edit in edits_of(one)))
    saving = run.savings.bound(edits) if converting else None
    if not isinstance(saving, Saving):
        return None
    ranks_s = results.communication.transfer_s_by_rank
    work_s = sum(one.own_ns for one in converting) * NS / len(ranks_s)
    return replace(
        as_bound(saved(results, saving.seconds, edits=edits, is_planned=True)),
        own_s=work_s + sum(ranks_s) / len(ranks_s),
        counts=f"counts {format_seconds(work_s)} per rank on average of serializing what is sent",
        counts_more=True,
    )


def main_messages(results: Results) -> Messages | None:
    """The messages that cost most; None where collectives, or nothing, make most of the transfer.

    Those of other sizes, or sent otherwise, are not among them: no message has their mean size.
    """
    rows = results.communication.operations
    of_class = {row.name: BY_NAME[row.name].cls for row in rows if row.name in BY_NAME}
    spent_s = sum(row.transfer_s or 0.0 for row in rows if of_class.get(row.name) in MOVING)
    found = results.communication.messages
    if found is None or spent_s <= MAIN * moved_s(results):
        return None
    calls = round(found.share * sum(row.calls for row in rows if row.name == found.name))
    is_pickled = not PICKLED.isdisjoint(of_class) and any(
        "mpi4py" in noted_frameworks(rank.metadata) for rank in results.trace.ranks
    )
    is_answered = of_class.get(found.name) is OperationClass.SENDRECV
    told = Messages(calls, found.size_bytes, is_pickled, is_answered, found.places)
    return told if calls else None
