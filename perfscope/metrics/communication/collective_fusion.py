"""Allreduces in quick succession: which belong together, and what one for all would save."""

import numpy as np

from perfscope.arrays import Bools, Floats, Ints
from perfscope.engine import engine
from perfscope.judging import MAIN
from perfscope.matching.collectives import Instances
from perfscope.matching.pool import Pool
from perfscope.metrics.communication.collective_fit import Curve
from perfscope.schema.communication import Fusion
from perfscope.structures import dataclass
from perfscope.trace.framework_codes import ALLREDUCES

CLOSE_NS = 1_000_000
"""No rank works longer than this between two allreduces that belong together."""

DEFAULT_BYTES = 64 << 20
"""What Horovod fuses at most, unless HOROVOD_FUSION_THRESHOLD says otherwise."""


@dataclass(frozen=True)
class Groups:
    """Instances of allreduces in quick succession: group g is [starts[g], starts[g + 1])."""

    instances: Ints
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1


def close_groups(pool: Pool, instances: Instances, sizes: Ints, *, most_bytes: int) -> Groups:
    """Blocking allreduces that follow each other closely on one communicator, two or more.

    `sizes` are bytes by instance; a group carries `most_bytes` together at most.
    """
    none = Groups(np.empty(0, np.int64), np.zeros(1, np.int64))
    if not len(instances):
        return none
    enter = np.minimum.reduceat(pool.enter[instances.members], instances.starts[:-1])
    order = np.lexsort((enter, instances.comm))
    small = np.isin(instances.op, ALLREDUCES) & (sizes > 0)
    small &= sizes <= most_bytes
    order = order[small[order]]
    bounds = _bounds(_follows(pool, instances, order), sizes[order], most_bytes)
    lengths = bounds[1:] - bounds[:-1]
    chosen = lengths > 1
    if not np.any(chosen):
        return none
    starts = np.concatenate([[0], np.cumsum(lengths[chosen])])
    return Groups(order[np.repeat(chosen, lengths)], starts.astype(np.int64))


def _bounds(follows: Bools, sizes: Ints, most_bytes: int) -> Ints:
    """Where calls of no more than so many bytes together begin, and the end of all."""
    begins = np.flatnonzero(~follows)
    bounds = np.append(begins, len(sizes))
    # about: damaged sizes add up to no number of 64 bits
    carried = np.add.reduceat(sizes.astype(np.float64), begins) if len(begins) else begins
    more: list[int] = []
    for place in np.flatnonzero(carried >= 0.99 * most_bytes).tolist():
        first, end = int(bounds[place]), int(bounds[place + 1])
        fit = (end - first) * most_bytes < 1 << 63
        behind, before = np.cumsum(sizes[first:end], dtype=np.int64 if fit else object), 0
        while (call := int(np.searchsorted(behind, before + most_bytes, "right"))) < len(behind):
            more.append(first + call)
            before = int(behind[call - 1])
    return np.union1d(bounds, np.array(more, np.int64)) if more else bounds


def _follows(pool: Pool, instances: Instances, order: Ints) -> Bools:
    """Of instances in order, whether no rank does much between each and the one before it."""
    comm, seq, op = instances.comm, instances.seq, instances.op
    found = engine.follow_closely(
        (instances.members, instances.starts),
        (comm, seq, op.astype(np.int64, copy=False)),
        (pool.enter, pool.exit, pool.rank),
        order,
        CLOSE_NS,
    )
    return found.view(np.bool_)


def fusion(groups: Groups, moved: Floats, curve: Curve, most_bytes: int) -> Fusion:
    """What fusing them would save.

    `moved` are bytes by instance times the bus factor, as the curve counts them.
    """
    x = moved[groups.instances]
    apart = curve.seconds(x)
    together = curve.seconds(np.add.reduceat(x, groups.starts[:-1]))
    saved = np.add.reduceat(apart, groups.starts[:-1]) - together
    seconds, latency_s = float(apart.sum()), float(curve.latency_s(x).sum())
    return Fusion(
        calls=len(x),
        groups=len(groups),
        most_bytes=most_bytes,
        seconds=seconds,
        latency_s=latency_s,
        is_dominant=latency_s >= MAIN * seconds,
        saved_s=float(np.maximum(saved, 0.0).sum()),
    )
