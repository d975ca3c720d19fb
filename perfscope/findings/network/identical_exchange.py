"""Collectives to which all ranks give the same: each could compute by itself what comes back."""

from collections import defaultdict
from collections.abc import Sequence

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, not_measured, passed
from perfscope.findings.core.gain import predicted_gain, transfer_bound_s
from perfscope.findings.facts.facts import Facts
from perfscope.judging import NEGLIGIBLE
from perfscope.metrics.host.looks import FEWEST_LOOKS
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import Confidence
from perfscope.structures import dataclass
from perfscope.trace.given import Given, given
from perfscope.trace.model import Frame
from perfscope.trace.operations import BY_NAME, OperationClass
from perfscope.units import counted, format_bytes, format_seconds, format_share


@dataclass(frozen=True)
class _Identical:
    """An operation that some lines call with the same on all ranks."""

    operation: str
    rows: Sequence[Given]  # of one rank, those of most bytes first
    share: float  # of all that the operation moves
    gain: Gain
    groups: tuple[tuple[int, ...], ...]  # the ranks that exchange it with each other

    @property
    def ranks(self) -> tuple[int, ...]:
        """All of these."""
        return tuple(sorted({number for group in self.groups for number in group}))

    @property
    def looks(self) -> int:
        """Calls that all ranks in them looked at."""
        return sum(len(one.is_same) for one in self.rows)

    @property
    def same(self) -> int:
        """Of these, such to which all gave the same."""
        return sum(sum(one.is_same) for one in self.rows)

    @property
    def where(self) -> tuple[Frame, ...]:
        """The lines that call it, as far as they are known."""
        return tuple(dict.fromkeys(one.where for one in self.rows if one.where))


def _applies(results: Results) -> bool:
    """Where ranks exchange anything that a recording of perfscope's own looks at."""
    return len(results.trace.ranks) > 1 and any(
        "given" in rank.metadata for rank in results.trace.ranks
    )


def judge(run: Facts) -> Outcome:
    """Whether exchanging what all ranks hold takes enough of the run to act on."""
    rows = [one for one in given(run.results.trace.ranks) if len(one.is_same) >= FEWEST_LOOKS]
    if not rows:
        return not_measured("No large collectives that are alike gave what can be compared.")
    by_operation: defaultdict[str, list[Given]] = defaultdict(list)
    for one in rows:
        if all(one.is_same[1:]) and _moved(run.results, one.operation):
            by_operation[one.operation].append(one)  # before the first call ranks may differ
    found = [_priced(run, name, same) for name, same in by_operation.items()]
    worst = max(found, key=lambda one: one.gain.seconds, default=None)
    if worst is None:
        return passed("In no line all gave the same to each large collective that was looked at.")
    status = thresholds.deserved(worst.gain)
    if not status.is_fault:
        return passed(
            "Exchanging what all ranks hold takes little: without that the run would take "
            f"{worst.gain.roughly}{format_seconds(worst.gain.seconds)} less."
        )
    return Finding(
        status=status,
        title=f"{_who(run, worst)} hold already{_at(worst, ', in')}",
        summary=_summary(run, worst),
        gain=worst.gain,
        confidence=Confidence.HIGH,
        ranks=worst.ranks,
        where=worst.where,
        evidence=_evidence(worst),
        actions=(_action(worst),),
        overlaps=("network_bound", "communication_per_step", "wrong_transport"),
    )


def _priced(run: Facts, operation: str, rows: Sequence[Given]) -> _Identical:
    """What a run saves without these calls, by their part of what the operation moves."""
    results = run.results
    moved = sum(one.bytes * one.calls for one in rows)
    share = min(moved / _moved(results, operation), 1.0)
    # As many bytes fewer take a network as many times as fast: one size does not tell latency.
    edit = Edit(factor=1.0, network=1.0 / max(1.0 - share, NEGLIGIBLE), operation=operation)
    most_s = share * transfer_bound_s(results)
    gain = predicted_gain(results, run.replay, [edit], bound_s=most_s, is_planned=True)
    own = [one for one in rows if one.rank == rows[0].rank]
    own.sort(key=lambda one: -one.bytes * one.calls)
    groups = tuple(sorted({group for one in rows for group in one.groups}))
    return _Identical(operation, own, share, gain, groups)


def _moved(results: Results, operation: str) -> int:
    """Bytes that all ranks give to an operation or, where one gives, get from it."""
    row = next((one for one in results.communication.operations if one.name == operation), None)
    if row is None:
        return 0
    received = row.bytes_received or 0
    is_of_one = BY_NAME[operation].cls is OperationClass.ONE_TO_N
    return (row.bytes_sent or 0) + (received if is_of_one else 0)


def _at(found: _Identical, text: str) -> str:
    """Some text and the line that calls it: " in sync() (train.py:9)"; "" where none is known."""
    return f"{text} {wording.place(found.where[0])}" if found.where else ""


def _who(run: Facts, found: _Identical) -> str:
    """Who exchanges what with whom: `Ranks 0 and 2 exchange what all of them`, ..."""
    if len(found.groups) > 1:
        return f"Groups of ranks, as {wording.ranks(found.groups[0])}, exchange what all in one"
    is_whole = len(found.ranks) == len(run.results.trace.ranks)
    who = "Ranks" if is_whole else wording.ranks(found.ranks).capitalize()
    return f"{who} exchange what all of them"


def _on(run: Facts, found: _Identical) -> str:
    """Where calls were looked at: `all ranks`, `ranks 0 and 2`, ..."""
    if len(found.groups) > 1:
        return "all ranks in them"
    is_whole = len(found.ranks) == len(run.results.trace.ranks)
    return "all ranks" if is_whole else wording.ranks(found.ranks)


def _summary(run: Facts, found: _Identical) -> str:
    return (
        f"In {found.same} of {counted(found.looks, 'call')} of {found.operation} that were looked "
        f"at on {_on(run, found)}, each of them gave the same (of a large array, in a sample): "
        "what comes back each could compute by itself. That is "
        f"{format_share(found.share)} of what this operation moves. Without these calls the run "
        "would take "
        f"{wording.saving(run.results, found.gain.seconds, is_bound=found.gain.is_bound)} less."
    )


def _evidence(found: _Identical) -> tuple[Evidence, ...]:
    rows = [
        Evidence("Calls that all ranks in them looked at", found.looks),
        Evidence("Of these, all gave the same", found.same),
    ]
    for one in found.rows[:3]:
        place = f" in {wording.place(one.where)}" if one.where else ""
        label = f"{found.operation} of {format_bytes(one.bytes)}{place}"
        rows.append(Evidence(label, counted(one.calls, "call")))
    return tuple(rows)


def _action(found: _Identical) -> str:
    is_of_one = BY_NAME[found.operation].cls is OperationClass.ONE_TO_N
    why = (
        "what it sends, its receivers hold already"
        if is_of_one
        else "a mean or maximum of equal values is that value, and a sum that many times as much"
    )
    leave_out = (
        f"leave out {found.operation}, if what it exchanges cannot differ between ranks, as where "
        f"all begin with the same and do the same to it: {why}. If it can, exchange it only after "
        "what makes it differ"
    )
    return f"{wording.there(_at(found, 'In'), leave_out)}."


DIAGNOSIS = Diagnosis(
    id="identical_exchange",
    title="Ranks exchange what all of them hold already",
    description=(
        "Of large collectives to which each rank gives as much (allreduces, allgathers, and of "
        "torch.distributed broadcasts and reductions on CPUs as well), some calls are looked at "
        "before they begin, the same ones on all ranks: the first few of each line and size, and "
        "then one of sixteen. Of each a digest of some pieces is kept, with a key that only this "
        "job knows; where all hold one value throughout, the call does not count. Nonblocking "
        "calls are not looked at, nor MPI's broadcasts and reductions to one rank. Where ranks "
        "gave the same to all calls that were looked at, except perhaps the first, nobody learns "
        "anything from them."
    ),
    judge=judge,
    applies=_applies,
    passed="Ranks exchange nothing large that all of them hold already",
    evidence="how many calls were looked at, in how many ranks gave the same, and of which sizes",
    gain_from="replay without the part of the operation's transfer that such calls move",
    rank=125,
)
