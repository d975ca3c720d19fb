"""From the trace of a run to the input queues of its ranks, as far as they are known."""

from collections.abc import Mapping

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.ledger import INDEX
from perfscope.metrics.results import Results
from perfscope.replay.producers import (
    Gets,
    PrefetchQueue,
    is_queue,
    learned_depth,
    learned_queue,
    mean_service_ns,
    recorded_queue,
)
from perfscope.replay.program import Program
from perfscope.schema.enums import Account, PhaseKind
from perfscope.trace.model import Rank, RowFlag, Table

FEWEST_GETS = 8
MOST_WORKERS = 9999
"""Of a loader, and of batches that each makes ahead; what says more is damaged."""

INPUT = INDEX[Account.INPUT_WAIT]


def prefetch_queues(results: Results, program: Program) -> tuple[PrefetchQueue, ...]:
    """The queue of each rank of which something is known."""
    if program.begin_ns is None:
        return ()
    focus = results.focus
    found = []
    # pieces come rank after rank, as rows do
    first = np.append(program.cut_rows[0], program.row_count).astype(np.int32)
    bounds = np.searchsorted(program.work.row, first)
    for position, rank in enumerate(results.trace.ranks):
        pieces = np.arange(bounds[position], bounds[position + 1])
        pieces = pieces[program.work.account[pieces] == INPUT]
        queue = _recorded(rank, position, program, pieces, focus.start_ns)
        queue = queue or _learned(rank, position, program, pieces, focus.start_ns)
        if queue is not None:
            found.append(queue)
    return tuple(found)


def _recorded(
    rank: Rank, position: int, program: Program, pieces: Ints, origin_ns: int
) -> PrefetchQueue | None:
    """From recorded puts and gets of the queue that the rank takes most from."""
    if not len(rank.queues) or not len(pieces):
        return None
    numbers = rank.queues["queue"][rank.queues["is_get"]]
    if not len(numbers):
        return None
    queue = rank.queues[rank.queues["queue"] == np.bincount(numbers).argmax()]
    gets, puts = _by_end(queue[queue["is_get"]]), _by_end(queue[~queue["is_get"]])
    inside = gets[(gets["t0"] >= origin_ns) & (gets["t1"] <= _last_end(program, pieces))]
    matched = _pieces_of(program, pieces, inside["t0"], inside["t1"], origin_ns)
    if matched is None or not len(puts) or len(inside) < FEWEST_GETS:
        return None
    earlier = gets[gets["t0"] < origin_ns]["t1"] - origin_ns
    known = min(len(puts) - len(earlier), len(inside))
    if known < 1 or np.any(puts["t0"][len(earlier) : len(earlier) + known] > inside["t1"][:known]):
        return None  # some records were lost: a batch is taken before it is there
    columns = (puts["t0"] - origin_ns, puts["t1"] - origin_ns, puts["tid"].astype(np.int64))
    return recorded_queue(
        position,
        columns,
        depth=int(queue["depth"][0]),
        gets=matched,
        taken_at=earlier.astype(np.float64),
    )


def _last_end(program: Program, pieces: Ints) -> int:
    """When the rank's last piece of input wait ends; 0 without any."""
    if program.begin_ns is None or not len(pieces):
        return 0
    return int(program.begin_ns.at(pieces[-1:])[0] + program.work.ns[pieces[-1]])


def _by_end(rows: Table) -> Table:
    return rows[np.argsort(rows["t1"], kind="stable")]


def _pieces_of(
    program: Program, pieces: Ints, begin: Ints, end: Ints, origin_ns: int
) -> Gets | None:
    """The pieces of input wait that each get is; None where some get has none."""
    assert program.begin_ns is not None
    starts = program.begin_ns.at(pieces)
    ends = starts + program.work.ns[pieces].astype(np.int64)
    first = np.searchsorted(ends, begin, side="right")
    behind = np.searchsorted(starts, end, side="left")
    behind = np.maximum(behind, first + 1)
    if not len(begin) or first[-1] >= len(pieces) or behind[-1] > len(pieces):
        return None
    if np.any(first[1:] < behind[:-1]) or np.any(starts[first] >= end):
        return None
    first_piece, last_piece = pieces[first], pieces[behind - 1]
    row = program.work.row
    if np.any(row[first_piece] != row[last_piece]) or np.any(np.diff(first_piece) <= 0):
        return None
    return Gets(
        (starts[first] - origin_ns).astype(np.float64),
        (ends[behind - 1] - origin_ns).astype(np.float64),
        first_piece,
        last_piece,
    )


def _learned(
    rank: Rank, position: int, program: Program, pieces: Ints, origin_ns: int
) -> PrefetchQueue | None:
    """From the batches that the rank waited for, unless it makes them itself."""
    loader = _loader(rank)
    if loader is not None and loader[0] == 0:
        return None  # the rank makes its batches itself: nothing refills while it works
    phases = rank.phases
    own = phases[
        (phases["kind"] == PhaseKind.INPUT)
        & (phases["tid"] == rank.main_tid)
        & ((phases["flags"] & (RowFlag.SAMPLED | RowFlag.OPEN)) == 0)
        & (phases["t0"] >= origin_ns)
    ]
    own = _for_steps(rank, own[own["t1"] <= _last_end(program, pieces)])
    if len(own) < FEWEST_GETS:
        return None
    gets = _pieces_of(program, pieces, own["t0"], own["t1"], origin_ns)
    service_ns = None if gets is None else mean_service_ns(gets)
    if gets is None or service_ns is None or not is_queue(gets, service_ns):
        return None
    workers, depth = loader or (0, learned_depth(gets, service_ns))
    return learned_queue(position, depth=depth, producers=workers, gets=gets, service_ns=service_ns)


def _for_steps(rank: Rank, waits: Table) -> Table:
    """The waits inside steps, where steps have some: those between them bring no batch.

    There a loader starts its workers, and ends them.
    """
    step = np.searchsorted(rank.steps["t0"], waits["t0"], side="right")
    inside = waits["t0"] < np.append(0, rank.steps["t1"])[step]
    return waits[inside] if np.any(inside) else waits


def _loader(rank: Rank) -> tuple[int, int] | None:
    """Workers of the first DataLoader and batches that they work ahead; None without one."""
    loaders = rank.framework("torch").get("loaders")
    first = loaders[0] if isinstance(loaders, list) and loaders else None
    if not isinstance(first, Mapping):
        return None
    workers, ahead = first.get("workers"), first.get("prefetch_factor")
    if not isinstance(ahead, int) or ahead == 0:
        ahead = 2
    if not isinstance(workers, int) or not 0 <= workers <= MOST_WORKERS:
        return None
    return (workers, max(1, workers * ahead - 1)) if 0 < ahead <= MOST_WORKERS else None
