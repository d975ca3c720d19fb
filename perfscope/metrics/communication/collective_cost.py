"""How fast collectives moved their data, and what other ways to do them would take."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from perfscope.arrays import Floats, Ints, rows_by
from perfscope.attribution.preparation import Prepared
from perfscope.matching.pool import dense
from perfscope.metrics.communication.collective_algorithms import predictions
from perfscope.metrics.communication.collective_fit import LEAST_SPAN, Curve, Line, fit_curve
from perfscope.metrics.communication.collective_fusion import DEFAULT_BYTES, close_groups, fusion
from perfscope.schema.communication import AllreduceModel, CollectiveClass, Fusion
from perfscope.structures import dataclass
from perfscope.trace.framework_codes import ALLREDUCES
from perfscope.trace.operations import MAX_OPERATIONS, code_of, codes_of, name_of

PARTIAL = codes_of(
    *("MPI_Allgather", "MPI_Allgatherv", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block"),
    *("MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw"),
    *("MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv"),
    *("torch.distributed.all_gather", "torch.distributed.all_gather_single"),
    *("torch.distributed.all_gather_into_tensor", "torch.distributed.all_gather_coalesced"),
    *("torch.distributed.all_to_all", "torch.distributed.all_to_all_single"),
    *("torch.distributed.reduce_scatter", "torch.distributed.reduce_scatter_single"),
    "torch.distributed.reduce_scatter_tensor",
    *("torch.distributed.gather", "torch.distributed.scatter"),
)
WHOLE = codes_of(
    "MPI_Bcast", "MPI_Reduce", "torch.distributed.broadcast", "torch.distributed.reduce"
)
_TIMES = np.zeros(MAX_OPERATIONS)
_TIMES[PARTIAL], _TIMES[list(ALLREDUCES)] = 1.0, 2.0
_KNOWN = np.zeros(MAX_OPERATIONS, np.bool_)
_KNOWN[[*ALLREDUCES, *PARTIAL, *WHOLE]] = True
MOST_CLASSES = 100
MOST_FITS = 8
NO_COLLECTIVES = "no blocking collective of known size was recorded"
NOT_SPREAD = (
    f"no operation was called with sizes that differ by a factor of {LEAST_SPAN:g} often enough"
)


@dataclass(frozen=True)
class Fit:
    """Latency and bandwidth of one operation on communicators of one size."""

    name: str
    ranks: int
    calls: int
    least_bytes: int
    most_bytes: int
    curve: Curve
    line: Line  # the piece of the curve in which most bytes moved
    factor: float = 1.0  # bytes that the curve counts for each byte of size


@dataclass(frozen=True)
class CollectiveCost:
    """What collectives cost; `reason` says why there is no fit and no prediction."""

    classes: tuple[CollectiveClass, ...]
    classes_left_out: int
    fits: tuple[Fit, ...]
    predictions: tuple[AllreduceModel, ...]
    measured_s: float | None  # of the calls that predictions are of, at the ranks of the run
    reason: str | None
    fusion: Fusion | None = None
    """What fusing allreduces in quick succession would save; None without such, or a fit."""


@dataclass(frozen=True)
class _Calls:
    """One element per instance of known size."""

    place: Ints  # of the instance
    op: Ints
    ranks: Ints
    size: Ints
    seconds: Floats

    @cached_property
    def factor(self) -> Floats:
        """Which part of the data each link carries in the best case, as nccl-tests has it."""
        return bus_factor(self.op, self.ranks)


def bus_factor(op: Ints, ranks: Ints) -> Floats:
    """Which part of the data each link carries in the best case, by operation code and ranks."""
    share = (ranks - 1) / ranks
    times = _TIMES.take(op)
    result: Floats = np.where(times > 0, times * share, 1.0)
    return result


def collective_cost(prepared: Prepared) -> CollectiveCost:
    """Bandwidth by operation and size, and latency and bandwidth where sizes are spread."""
    calls = _calls(prepared)
    if not len(calls.op):
        return CollectiveCost((), 0, (), (), None, NO_COLLECTIVES)
    classes = _classes(calls)
    fits = _fits(calls)
    allreduce = next((fit for fit in fits if code_of(fit.name) in ALLREDUCES), None)
    found: tuple[AllreduceModel, ...] = ()
    measured, fused = None, None
    if allreduce is not None:
        size, measured = _usual(calls, allreduce)
        found = predictions(prepared.trace, allreduce.curve, ranks=allreduce.ranks, size=size)
        fused = _fusion(prepared, calls, allreduce)
    return CollectiveCost(
        classes=classes[:MOST_CLASSES],
        classes_left_out=max(0, len(classes) - MOST_CLASSES),
        fits=fits,
        predictions=found,
        measured_s=measured,
        reason=None if fits else NOT_SPREAD,
        fusion=fused,
    )


def _fusion(prepared: Prepared, calls: _Calls, fit: Fit) -> Fusion | None:
    """What fusing allreduces of the fitted communicator size would save."""
    instances = prepared.waits.instances
    chosen = (calls.op == code_of(fit.name)) & (calls.ranks == fit.ranks)
    sizes = np.zeros(len(instances), np.int64)
    sizes[calls.place[chosen]] = calls.size[chosen]
    groups = close_groups(prepared.waits.pool, instances, sizes, most_bytes=DEFAULT_BYTES)
    if not len(groups):
        return None
    moved = sizes * bus_factor(instances.op.astype(np.int64), np.full(len(sizes), fit.ranks))
    return fusion(groups, moved, fit.curve, DEFAULT_BYTES)


def _calls(prepared: Prepared) -> _Calls:
    pool, instances = prepared.waits.pool, prepared.waits.instances
    none = np.empty(0, np.int64)
    if not len(instances):
        return _Calls(none, none, none, none, none.astype(np.float64))
    size, ns = instances.carried(pool)
    ranks = np.diff(instances.starts)
    kept = _KNOWN[instances.op] & (size > 0) & (ns > 0) & (ranks > 1)
    places = np.flatnonzero(kept)
    seconds = ns[kept].astype(np.float64) * 1e-9
    return _Calls(places, instances.op[kept], ranks[kept], size[kept], seconds)


def _classes(calls: _Calls) -> tuple[CollectiveClass, ...]:
    """Bandwidth by operation, number of ranks and size, in this order."""
    size_class = np.floor(np.log2(calls.size)).astype(np.int64)
    bus = calls.size * calls.factor / calls.seconds
    found = [
        CollectiveClass(
            name=name_of(int(calls.op[places[0]])),
            ranks=int(calls.ranks[places[0]]),
            calls=len(places),
            size_bytes=int(np.median(calls.size[places])),
            seconds=float(np.median(calls.seconds[places])),
            algorithm_bytes_per_s=float(np.median(calls.size[places] / calls.seconds[places])),
            bus_bytes_per_s=float(np.median(bus[places])),
            of_best=1.0,
        )
        for places in rows_by(dense(calls.op, calls.ranks, size_class))
    ]
    best = max(item.bus_bytes_per_s for item in found)
    told = [replace(item, of_best=item.bus_bytes_per_s / best) for item in found]
    return tuple(sorted(told, key=lambda item: (item.name, item.ranks, item.size_bytes)))


def _fits(calls: _Calls) -> tuple[Fit, ...]:
    """The operations of which latency and bandwidth can be told, most calls first."""
    found = []
    groups = sorted(rows_by(dense(calls.op, calls.ranks)), key=len, reverse=True)
    for places in groups[:MOST_FITS]:
        moved = (calls.size * calls.factor)[places]
        curve = fit_curve(moved, calls.seconds[places])
        if curve is not None:
            pieces = np.searchsorted(curve.bounds, moved, side="right")
            found.append(
                Fit(
                    name=name_of(int(calls.op[places[0]])),
                    ranks=int(calls.ranks[places[0]]),
                    calls=len(places),
                    least_bytes=int(calls.size[places].min()),
                    most_bytes=int(calls.size[places].max()),
                    curve=curve,
                    line=curve.lines[int(np.argmax(np.bincount(pieces, moved)))],
                    factor=float(calls.factor[places[0]]),
                )
            )
    return tuple(sorted(found, key=lambda fit: (-fit.calls, fit.name, fit.ranks)))


def _usual(calls: _Calls, fit: Fit) -> tuple[int, float]:
    """The size of allreduces that most of their bytes are in, and the median time of such calls."""
    here = np.flatnonzero((calls.op == code_of(fit.name)) & (calls.ranks == fit.ranks))
    sizes = calls.size[here]
    index = dense(sizes)
    is_usual = index == np.argmax(np.bincount(index, sizes))
    return int(sizes[np.argmax(is_usual)]), float(np.median(calls.seconds[here[is_usual]]))
