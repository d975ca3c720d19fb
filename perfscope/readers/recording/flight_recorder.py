"""Collectives that only PyTorch's flight recorder has seen: phase records that become a report.

DistributedDataParallel's own, those of compiled functions and those of a device are called out of
Python's sight. The agent names them as those of `framework_operations`, but for the package, with
PyTorch's own number on the group as their step. When a rank handed one over is known, how long it
waited for it is not: so they enter no efficiency.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perfscope.readers.common.tool_reports import report, table
from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.framework_operations import PACKAGE, Call, parsed
from perfscope.schema.enums import PhaseKind, Quantity
from perfscope.schema.other_tools import Cell, ToolReport
from perfscope.structures import dataclass
from perfscope.trace.model import Rank
from perfscope.trace.operations import ASYNCHRONOUS
from perfscope.units import counted, format_bytes

PACKAGE_UNSEEN = "torch.flight"
_COLUMNS = {
    "Group": Quantity.TEXT,
    "Operation": Quantity.CODE,
    "Calls of a rank": Quantity.NUMBER,
    "Sent by a rank": Quantity.BYTES,
    "First to last rank, median": Quantity.SECONDS,
    "Last most often": Quantity.TEXT,
}
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Handed:
    """Every record: rank, which kind of call it is, number on its group, when, bytes sent."""

    rank: Ints
    kind: Ints
    number: Ints
    at_ns: Ints
    sent: Ints


def take(ranks: Sequence[Rank], names: Sequence[str], path: Path) -> list[ToolReport]:
    """Takes these records out of the ranks' phases; at most one report tells of them.

    Args:
        ranks: the ranks, on one clock; their phases change.
        names: what phases are called, by index.
        path: the recording.
    """
    calls = {
        place: call
        for place, name in enumerate(names)
        if (call := parsed(name, PACKAGE_UNSEEN)) is not None
    }
    if not calls:
        return []
    kinds = sorted({_kind(call) for call in calls.values()})
    handed = _handed(ranks, calls, {kind: place for place, kind in enumerate(kinds)})
    if not len(handed.rank):
        return []
    error_ns = max(abs(rank.clock_error_ns) for rank in ranks)
    rows = [row for place, kind in enumerate(kinds) if (row := _row(handed, place, kind, error_ns))]
    rows.sort(key=lambda row: -float(row[2] or 0))
    return [
        report(
            "PyTorch's flight recorder",
            path,
            _sentences(ranks, handed),
            [table("Collectives that no call in Python shows", _COLUMNS, rows)],
        )
    ]


def _kind(call: Call) -> tuple[str, tuple[int, ...], str]:
    return call.group, call.members, call.operation.removesuffix(ASYNCHRONOUS)


def _handed(
    ranks: Sequence[Rank],
    calls: dict[int, Call],
    places: dict[tuple[str, tuple[int, ...], str], int],
) -> _Handed:
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
        numbers, begins = found["step"].astype(np.int64), found["t0"].astype(np.int64)
        which = np.full(len(found), rank.number, np.int64)
        parts.append((which, kinds[place], numbers, begins, sent[place]))
    return _Handed(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _row(
    handed: _Handed, place: int, kind: tuple[str, tuple[int, ...], str], error_ns: int
) -> tuple[Cell, ...] | None:
    """One operation of one group, None where no record is of it."""
    rows = np.flatnonzero(handed.kind == place)
    members = len(np.unique(handed.rank[rows]))
    if not members:
        return None
    group, _, operation = kind
    late_ns, last = _lateness(handed, rows, members)
    is_known = late_ns is not None and late_ns > error_ns
    return (
        group,
        operation,
        len(rows) / members,
        int(handed.sent[rows].sum()) // members,
        late_ns / 1e9 if late_ns is not None and is_known else None,
        last if is_known else None,
    )


def _lateness(handed: _Handed, rows: Ints, members: int) -> tuple[float | None, str | None]:
    """Median ns from the first rank to the last, and the rank that was last most often."""
    if members < 2:
        return None, None
    rows = rows[np.lexsort((handed.at_ns[rows], handed.number[rows]))]
    _, first, counts = np.unique(handed.number[rows], return_index=True, return_counts=True)
    first = first[counts == members]
    if not len(first):
        return None, None
    final = first + members - 1
    late = handed.at_ns[rows[final]] - handed.at_ns[rows[first]]
    lasts, often = np.unique(handed.rank[rows[final]], return_counts=True)
    share = often.max() / len(final)
    return float(np.median(late)), f"rank {lasts[often.argmax()]} ({share:.0%})"


def _sentences(ranks: Sequence[Rank], handed: _Handed) -> list[str]:
    by_rank = np.bincount(handed.rank)
    most = int(by_rank.argmax())
    sent = int(handed.sent[handed.rank == most].sum())
    handed_over = counted(int(by_rank[most]), "collective")
    says = [
        (
            f"Out of Python's sight rank {most} handed {handed_over} with {format_bytes(sent)} to "
            "the backend: when is known, how long it waited for them is not."
        )
    ]
    told = [agent_metadata.mapping(rank.framework(PACKAGE), "flight_recorder") for rank in ranks]
    for key, text in (
        ("lost", "were overwritten before they could be read"),
        ("messages", "are messages between two ranks, and left out"),
        ("unknown", "are of another kind or group, and left out"),
    ):
        count = sum(agent_metadata.integer(one, key) or 0 for one in told)
        if count:
            says.append(f"{counted(count, 'more entry', 'more entries')} of all ranks {text}.")
    return says
