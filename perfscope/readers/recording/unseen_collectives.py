"""Collectives that no call of the host shows: phase records that become reports.

PyTorch's flight recorder tells of those that are called out of Python's sight, as
DistributedDataParallel's are, those of compiled functions and those of devices; NCCL tells the
recorder, as its profiler plugin, of those that run on GPUs. They are named as those of
`framework_operations`, but for the package, with PyTorch's or NCCL's own number as their step. When
a rank handed one over, or how long it ran, is known; how long the host waited for it is not: so
they enter no efficiency.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.readers.common.tool_reports import report, table
from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.framework_operations import PACKAGE, Call, parsed
from perfscope.schema.enums import PhaseKind, Quantity
from perfscope.schema.other_tools import Cell, ToolReport
from perfscope.structures import dataclass
from perfscope.trace.model import Rank
from perfscope.trace.operations import ASYNCHRONOUS
from perfscope.units import counted, format_bytes, format_seconds, format_share

FLIGHT, NCCL = "torch.flight", "nccl"
PACKAGES = (FLIGHT, NCCL)
_COLUMNS = {
    "Group": Quantity.TEXT,
    "Operation": Quantity.CODE,
    "Calls of a rank": Quantity.NUMBER,
    "Sent by a rank": Quantity.BYTES,
    "On the device, a rank": Quantity.SECONDS,
    "Of this waiting for ranks": Quantity.SECONDS,
    "First to last rank, median": Quantity.SECONDS,
    "Last most often": Quantity.TEXT,
}
_LEFT_OUT = (
    ("lost", "were overwritten before they could be read"),
    ("messages", "are messages between two ranks, and left out"),
    ("unknown", "are of another kind or group, and left out"),
)
Kind = tuple[str, tuple[int, ...], str]
"""Group, its members where they are told, and operation."""


@dataclass(frozen=True)
class _Records:
    """Every record: rank, which kind of call it is, number on its group, when, bytes sent."""

    rank: Ints
    kind: Ints
    number: Ints
    at_ns: Ints
    spent_ns: Ints
    sent: Ints

    def of(self, rows: Bools | Ints) -> "_Records":
        """Some of them."""
        return _Records(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def take(ranks: Sequence[Rank], names: Sequence[str], path: Path) -> list[ToolReport]:
    """Takes these records out of the ranks' phases; one report for each tool that tells of some."""
    error_ns = max((abs(rank.clock_error_ns) for rank in ranks), default=0)
    reports = []
    for package in PACKAGES:
        calls = {
            place: call
            for place, name in enumerate(names)
            if (call := parsed(name, package)) is not None
        }
        if not calls:
            continue
        kinds = sorted({_kind(call) for call in calls.values()})
        found = _records(ranks, calls, {kind: place for place, kind in enumerate(kinds)})
        if not len(found.rank):
            continue
        by_kind = np.argsort(found.kind, kind="stable")
        ends = np.flatnonzero(np.diff(found.kind[by_kind])) + 1
        parts = (found.of(places) for places in np.split(by_kind, ends))
        rows = [_row(own, kinds[own.kind[0]], error_ns) for own in parts]
        rows.sort(key=lambda row: -float(row[2] or 0))
        tool, says = (
            ("PyTorch's flight recorder", _of_flight_recorder(ranks, found))
            if package == FLIGHT
            else ("NCCL's profiler plugin", _of_nccl(found))
        )
        reports.append(report(tool, path, says, [table("Collectives", _COLUMNS, rows)]))
    return reports


def _kind(call: Call) -> Kind:
    return call.group, call.members, call.operation.removesuffix(ASYNCHRONOUS)


def _records(
    ranks: Sequence[Rank], calls: Mapping[int, Call], places: Mapping[Kind, int]
) -> _Records:
    name_kinds = {name: places[_kind(call)] for name, call in calls.items()}
    parts = []
    for rank in ranks:
        rows = np.isin(rank.phases["name"], list(calls)) & (
            rank.phases["kind"] == PhaseKind.COMMUNICATION
        )
        found, rank.phases = rank.phases[rows], rank.phases[~rows]
        own, place = np.unique(found["name"], return_inverse=True)
        kinds = np.array([name_kinds[name] for name in own.tolist()], np.int64)
        sent = np.array([calls[name].sent for name in own.tolist()], np.int64)
        begin, end = found["t0"].astype(np.int64), found["t1"].astype(np.int64)
        which = np.full(len(found), rank.number, np.int64)
        numbers = found["step"].astype(np.int64)
        parts.append((which, kinds[place], numbers, begin, end - begin, sent[place]))
    return _Records(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _row(own: _Records, kind: Kind, error_ns: int) -> tuple[Cell, ...]:
    """One operation of one group."""
    members = len(np.unique(own.rank))
    group, _, operation = kind
    common = _common(own, members)
    late_ns, last = _lateness(common)
    is_known = late_ns is not None and late_ns > error_ns
    spent_ns = int(own.spent_ns.sum())
    # the kernel of the last rank to come waits for nobody, and runs shortest
    least = common.spent_ns.min(axis=1, keepdims=True) if len(common.rank) else 0
    waited_ns = int((common.spent_ns - least).sum())
    return (
        group,
        operation,
        len(own.rank) / members,
        int(own.sent.sum()) // members,
        spent_ns / members / 1e9 if spent_ns else None,
        waited_ns / members / 1e9 if spent_ns and len(common.rank) else None,
        late_ns / 1e9 if late_ns is not None and is_known else None,
        last if is_known else None,
    )


def _common(own: _Records, members: int) -> _Records:
    """Those that each member called once: a row for each, its columns the members by their time."""
    own = own.of(np.lexsort((own.at_ns, own.number)))
    _, first, counts = np.unique(own.number, return_index=True, return_counts=True)
    first = first[counts == members] if members > 1 else first[:0]
    found = own.of(first[:, None] + np.arange(members))
    return found.of(np.all(np.diff(np.sort(found.rank, axis=1), axis=1) > 0, axis=1))


def _lateness(common: _Records) -> tuple[float | None, str | None]:
    """Median ns from the first rank to the last, and the rank that was last most often."""
    if not len(common.rank):
        return None, None
    late = common.at_ns[:, -1] - common.at_ns[:, 0]
    lasts, often = np.unique(common.rank[:, -1], return_counts=True)
    share = often.max() / len(late)
    return float(np.median(late)), f"rank {lasts[often.argmax()]} ({format_share(share)})"


def _of_flight_recorder(ranks: Sequence[Rank], found: _Records) -> list[str]:
    by_rank = np.bincount(found.rank)
    most = int(by_rank.argmax())
    sent = format_bytes(int(found.sent[found.rank == most].sum()))
    handed_over = counted(int(by_rank[most]), "collective")
    what = (
        f"Rank {most} handed {handed_over} with {sent} to the backend from C++, as DDP does in the "
        "backward pass. The recorder tells when, not how long the rank waited for them."
    )
    says = [what]
    told = [agent_metadata.mapping(rank.framework(PACKAGE), "flight_recorder") for rank in ranks]
    for key, text in _LEFT_OUT:
        count = sum(agent_metadata.integer(one, key) or 0 for one in told)
        if count:
            says.append(f"{counted(count, 'more entry', 'more entries')} of all ranks {text}.")
    return says


def _of_nccl(found: _Records) -> list[str]:
    spent = np.bincount(found.rank, found.spent_ns)
    most = int(spent.argmax())
    untimed = int(np.sum(found.spent_ns == 0))
    what = (
        f"NCCL's kernels ran {format_seconds(float(spent[most]) / 1e9)} on rank {most}, most of "
        "all ranks: at most so much of its communication is exposed."
    )
    says = [what]
    if untimed:
        says.append(f"Of {counted(untimed, 'collective')} only the launch is known.")
    return says
