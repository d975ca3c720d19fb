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
    enter = np.minimum.reduceat(pool.some("enter", instances.members), instances.starts[:-1])
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
    # damaged sizes add up to no number of 64 bits
    fits = float(sizes.sum(dtype=np.float64)) < float(1 << 62)
    before = np.append(0, np.cumsum(sizes, dtype=np.int64 if fits else object))
    more = [bounds]
    place, end = begins, bounds[1:]
    while len(place):  # one piece of each run at a time
        behind = np.searchsorted(before, before[place] + most_bytes, "right") - 1
        is_within = behind < end
        place, end = behind[is_within], end[is_within]
        more.append(place)
    found: Ints = np.sort(np.concatenate(more))
    return found


def _follows(pool: Pool, instances: Instances, order: Ints) -> Bools:
    """Of instances in order, whether no rank does much between each and the one before it."""
    comm, seq, op, members = instances.comm, instances.seq, instances.op, instances.members
    found = engine.follow_closely(
        (np.arange(len(members)), instances.starts),
        (comm, seq, op.astype(np.int64, copy=False)),
        (pool.some("enter", members), pool.some("exit", members), pool.rank[members]),
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
