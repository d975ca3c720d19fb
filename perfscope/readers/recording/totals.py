"""Totals per operation in a header, taken where they agree with the records of the same process."""

from collections.abc import Sequence

import numpy as np

from perfscope.engine import engine
from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.readers.recording.layout import MAX_OPERATIONS, CellFlag, HeaderFlag
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.structures import dataclass
from perfscope.trace.columns import Columns
from perfscope.trace.model import Rank, Table
from perfscope.trace.operations import KNOWN, OperationClass, codes_mask, name_of

Total = tuple[int, int, int, int]
"""Calls, nanoseconds, bytes sent and received."""

MAX_THREADS_PER_RANK = 4096
"""So many threads at most can have spent time in one operation at once; more time is damage."""
SHOWN_OPERATIONS = 5

_ENDED = (HeaderFlag.FINALIZED | HeaderFlag.EXITED).value
_POLLING = codes_mask([OperationClass.TEST, OperationClass.PROBE, OperationClass.CONTROL])


@dataclass(frozen=True)
class _Recorded:
    """What the records say of one operation; several calls that only looked may be one record."""

    rows: Total
    closed: int
    closed_ns: int


def totals_of(process: ProcessFile, rank: Rank) -> dict[int, Total]:
    """Totals from the header where they can be true, else from the records, with a note."""
    known = _recorded((rank.operations, rank.background))
    totals: dict[int, Total] = {}
    replaced = []
    told = _told(process.header)
    for code in sorted({*told, *known}):
        count, ns, sent, received = total = told.get(code, (0, 0, 0, 0))
        seen = known.get(code)
        life_ns = max(1, rank.end_ns - rank.start_ns)
        possible = KNOWN[code] and ns <= life_ns * min(MAX_THREADS_PER_RANK, max(count, 1))
        possible = possible and max(count, sent, received) < MAX_AMOUNT
        possible = possible and (count > 0 or (ns == 0 and sent == 0))
        if possible and (seen is None or _agrees(process, code, total, seen)):
            totals[code] = _with_open(total, seen)
            continue
        replaced.append(code)
        if seen is not None:
            totals[code] = seen.rows
    if replaced:
        names = ", ".join(name_of(code) for code in replaced[:SHOWN_OPERATIONS] if KNOWN[code])
        shown = f" ({names})" if names else ""
        process.notes.append(
            f"Rank {rank.number}: the totals of {len(replaced)} operations{shown} in the header of "
            f"{process.path.name} cannot be true; they were taken from its records."
        )
    return totals


def _with_open(total: Total, seen: _Recorded | None) -> Total:
    """With the calls in which the process ended: the header has those that came back alone."""
    if seen is None:
        return total
    calls, ns, sent, received = total
    return calls + seen.rows[0] - seen.closed, ns + seen.rows[1] - seen.closed_ns, sent, received


def _told(header: np.void) -> dict[int, Total]:
    """Totals as they stand; calls that are counted in a cell may be in no other total."""
    plain, cells = header["totals"], header["cells"]
    codes = np.flatnonzero(plain.view(np.int64).reshape(len(plain), -1).any(axis=1))
    told: dict[int, Total] = dict(zip(codes.tolist(), plain[codes].tolist(), strict=True))
    if not header["thinning"]["is_total_in_cells"]:
        return told
    keys = cells["key"]
    codes = ((keys >> np.uint64(16)) & np.uint64(0xFFFF)).astype(np.int64)
    is_call = (keys & np.uint64(CellFlag.USED | CellFlag.PHASE)) == np.uint64(CellFlag.USED)
    is_call &= codes < MAX_OPERATIONS
    for code, (count, ns, sent, received) in zip(
        codes[is_call].tolist(), cells["total"][is_call].tolist(), strict=True
    ):
        before = told.get(code, (0, 0, 0, 0))
        told[code] = (before[0] + count, before[1] + ns, before[2] + sent, before[3] + received)
    return told


def _agrees(process: ProcessFile, code: int, total: Total, seen: _Recorded) -> bool:
    """Whether a total is at least what the records show, and no more where they show all calls."""
    count, ns, sent, received = total
    if _POLLING[code]:
        # the record of several calls that only looked also spans what lay between them
        return count >= seen.closed and (count > seen.rows[0] or ns <= seen.rows[1])
    if count < seen.closed:
        return False
    ended = process.flags.value & _ENDED
    if count > seen.closed or not ended or seen.rows[0] != seen.closed:
        return ns >= seen.closed_ns
    return (ns, sent, received) == (seen.closed_ns, *seen.rows[2:])


def _recorded(tables: Sequence[Table | Columns]) -> dict[int, _Recorded]:
    sums = np.zeros((MAX_OPERATIONS, 6), np.int64)
    for rows in tables:
        if not len(rows):
            continue
        if isinstance(rows, Columns):
            names = ("t0", "t1", "sent", "received", "op", "flags")
            columns = {name: rows[name] for name in names}
            found = engine.operation_totals_of_columns(**columns, codes=MAX_OPERATIONS)
        else:
            packed = np.ascontiguousarray(rows).view(np.uint8)
            found = engine.operation_totals(packed, MAX_OPERATIONS)
        sums += found.view(np.int64).reshape(MAX_OPERATIONS, 6)
    told = {}
    for code in np.flatnonzero(sums[:, 0]).tolist():
        count, ns, sent, received, closed, closed_ns = sums[code].tolist()
        told[code] = _Recorded((count, ns, sent, received), closed, closed_ns)
    return told
