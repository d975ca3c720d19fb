"""Edits of communication: fewer bytes, fused allreduces, transfer behind the backward pass."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Floats, Ints
from perfscope.engine import engine
from perfscope.matching.pool import dense
from perfscope.metrics.communication.collective_fusion import close_groups
from perfscope.metrics.results import Results
from perfscope.replay.call_costs import CallCosts
from perfscope.replay.left_out import without_left_out
from perfscope.replay.model import Edit, RefusedEditError
from perfscope.replay.program import Joined, Program, Work
from perfscope.search import places
from perfscope.structures import dataclass
from perfscope.trace.framework_codes import ALLREDUCES
from perfscope.trace.operations import code_of, name_of

NETWORKS = (math.inf, 2.0, 1e9)
"""So many times as fast: what most runs are asked about, without anything else."""

BACKWARD = "backward"
SHORT_NS = 1e6
"""Work between two allreduces that belong to the same backward pass."""

MOST_CALL_NS = 50e3
"""So much at most does it cost a rank to call MPI once more."""


@dataclass(frozen=True)
class Fused:
    """A program whose allreduces cost as much as fused ones, and which cuts are none any more."""

    program: Program
    removed: Bools
    unfused: Program

    def joined(self) -> tuple[Program, Ints]:
        """The program without these cuts, and the segment with which each of its own begins."""
        program, kept = self.program, np.flatnonzero(~self.removed)
        first = kept[:-1]
        kind = dense(program.segment_kind[first], program.segment_kind[kept[1:] - 1])
        joined = replace(
            program,
            cut_rows=program.cut_rows[kept],
            segment_kind=kind,
            is_asked_once=True,
            joined_of=Joined(self.unfused, ~self.removed),
        )
        return joined, first


@dataclass(frozen=True)
class _Together:
    """Allreduces of all ranks that become one, group after group; group g begins at starts[g]."""

    rows: Ints  # (calls, ranks)
    starts: Ints

    @property
    def is_first(self) -> Bools:
        """Which calls begin a group."""
        result = np.zeros(len(self.rows), np.bool_)
        result[self.starts] = True
        return result

    @property
    def is_last(self) -> Bools:
        """Which calls end a group."""
        return np.roll(self.is_first, -1)

    def sums(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What stands at the calls, added up by group."""
        result: npt.NDArray[Any] = np.add.reduceat(values, self.starts, axis=0)
        return result


def network_after(
    results: Results,
    program: Program,
    edits: Sequence[Edit],
    work: Work,
    costs: CallCosts | None,
) -> Floats:
    """Transfer of each row on the network that the edits make, in nanoseconds, shape (rows,).

    Raises:
        RefusedEditError: the run does not hold what an edit needs.
    """
    transfer = program.transfer_ns
    for edit in edits:
        if edit.network != 1.0:
            transfer = _moved(program, transfer, edit)
        if edit.bytes != 1.0:
            assert costs is not None  # made for such edits
            transfer, _ = costs.scaled(transfer, edit.bytes, edit.operation)
        transfer = without_left_out(results, program, edit, transfer)
    # last and once: a backward pass hides no more for being named twice
    share = min(1.0, sum(edit.overlap for edit in edits))
    return _overlapped(program, work, transfer, share) if share else transfer


def _moved(program: Program, transfer: Floats, edit: Edit) -> Floats:
    """Transfer on a faster or slower network, of one operation where the edit names it."""
    moved = transfer / edit.network
    if edit.operation is None:
        return moved
    return np.where(program.row_op == code_of(edit.operation), moved, transfer)


def _overlapped(program: Program, work: Work, transfer: Floats, share: float) -> Floats:
    """Transfer that is left when each allreduce begins as its first gradients are ready.

    Hidden is the given share of it, and at most the shortest backward pass of the ranks before it;
    a pass that several allreduces follow hides them one after the other.
    """
    if BACKWARD not in program.phase_ids:
        raise RefusedEditError("no backward pass is known: mark it with perfscope.phase")
    cuts = program.cut_rows[1:-1]
    is_backward = np.zeros(len(work.row), np.bool_)
    is_backward[: len(program.phase)] = program.phase == program.phase_ids.index(BACKWARD)
    ns = np.where(is_backward, work.ns, 0.0)
    backward = program.before_rows(work, ns)
    own = _by_segment(program, backward)
    other = _by_segment(program, program.gaps_ns(work)) - own
    reduces = np.isin(program.row_op[cuts[:, 0]], ALLREDUCES)
    left, follows = 0.0, False
    hidden = np.zeros(len(cuts))
    # segment s ends with cut s
    shortest = own[: len(cuts)].min(axis=1).tolist()
    is_same = (other[: len(cuts)].max(axis=1) <= SHORT_NS).tolist()
    most = (share * transfer[cuts].min(axis=1)).tolist()
    is_reduced = reduces.tolist()
    for place in range(len(cuts)):
        left = shortest[place] + (left if is_same[place] else 0.0)
        if is_reduced[place]:
            follows = follows or left > 0.0
            hidden[place] = min(left, most[place])
            left -= min(left, most[place])
    if not follows:
        raise RefusedEditError("no allreduce of all ranks follows a backward pass of all of them")
    result = transfer.copy()
    result[cuts] -= hidden[:, np.newaxis]
    return result


def _by_segment(program: Program, ns: npt.NDArray[np.number]) -> Floats:
    """What stands at rows, added up by segment and rank, shape (segments, ranks)."""
    shape = (program.segment_count, len(program.ranks))
    cell = program.row_segment.astype(np.int64) * shape[1] + program.row_rank
    return np.bincount(cell, ns, minlength=shape[0] * shape[1]).astype(np.float64).reshape(shape)


def fused(results: Results, program: Program, costs: CallCosts, most_bytes: int) -> Fused:
    """The program in which allreduces in quick succession are one, at the place of the last.

    The others stay as rows that take no time: work stays in front of them, and who waited until a
    rank came to one of them still does.

    What `costs` say of sizes is changed in place: a long run has room for one such column.

    Raises:
        RefusedEditError: there are none, or latency and bandwidth are not known apart.
    """
    together = _groups(results, program, costs, most_bytes)
    work = _with_fewer_calls(program, together)  # first: it takes most room on the way
    transfer = _fused_transfer(program, costs, together)
    removed = np.zeros(len(program.cut_rows), np.bool_)
    own = np.ascontiguousarray(program.cut_rows[:, 0])
    removed[places(own, together.rows[~together.is_last, 0])] = True
    return Fused(replace(program, work=work, transfer_ns=transfer), removed, program)


def _fused_transfer(program: Program, costs: CallCosts, together: _Together) -> Floats:
    """Transfer of each row where the last call of each group moves all; `costs` then say so, too.

    Raises:
        RefusedEditError: latency and bandwidth are not known apart.
    """
    rows, is_last = together.rows, together.is_last
    op, ranks = program.row_op[rows[:, 0]], len(program.ranks)
    keys = {code: (name_of(code), ranks) for code in np.unique(op).tolist()}
    curves = {**costs.alike, **costs.curves}
    if any(key not in curves for key in keys.values()):
        raise RefusedEditError(
            "the run does not tell latency from bandwidth of its allreduces (sizes must differ by "
            "a factor of 8 in 16 calls)"
        )
    transfer = program.transfer_ns.copy()
    size = costs.size[rows[:, 0]].astype(np.int64) * 2 * (ranks - 1) / ranks
    ratio = np.ones(len(together.starts))
    for code, key in keys.items():
        curve = curves[key]
        priced = curve.seconds(together.sums(size)) / together.sums(curve.seconds(size))
        ratio = np.where(op[together.starts] == code, priced, ratio)
    last, others = rows[is_last], rows[~is_last]
    transfer[last] = together.sums(transfer[rows]) * np.fmin(1.0, ratio)[:, None]
    costs.size[last] = together.sums(costs.size[rows])
    for column in (transfer, costs.size):
        column[others] = 0
    return transfer


def _with_fewer_calls(program: Program, together: _Together) -> Work:
    """The work of the ranks, less what calling MPI took for all calls of a group but the first."""
    later, work, rows = together.rows[~together.is_first], program.work, program.row_count
    gap = engine.work_before(work.row, work.ns, later.ravel(), rows).reshape(later.shape)
    spent = np.minimum(_call_ns(gap), gap)
    left = 1.0 - np.divide(spent, gap, out=np.zeros_like(gap), where=gap > 0)
    ns = engine.times_before(work.row, work.ns, later.ravel(), left.ravel(), rows)
    return replace(work, ns=ns)


def _groups(results: Results, program: Program, costs: CallCosts, most_bytes: int) -> _Together:
    """Rows of the allreduces of all ranks that belong together, two or more each."""
    assert program.pool_row is not None  # its costs are known
    pool, instances = results.waits.pool, results.waits.instances
    sizes = np.zeros(len(instances), np.int64)
    cut = np.full(len(instances), -1, np.int64)
    own = program.cut_rows[1:-1, 0]
    if len(instances) and len(own):
        # the first member of a meeting of all ranks is a call of the first rank
        first = instances.members[instances.starts[:-1]].astype(np.int64, copy=False)
        called = program.pool_row.at(own).astype(np.int64)
        place = np.minimum(places(called, first), len(own) - 1)
        cut = np.where(called[place] == first, place, -1)
        sizes = np.where(cut >= 0, costs.size[own[cut]], 0)
    groups = close_groups(pool, instances, sizes, most_bytes=most_bytes)
    rows = program.cut_rows[1:-1][cut[groups.instances]]
    # what stands between two calls would have to move
    follows = np.zeros(len(rows), np.bool_)
    follows[1:] = np.all(np.diff(rows, axis=0) == 1, axis=1)
    follows[groups.starts[:-1]] = False
    is_joined = follows.copy()
    is_joined[:-1] |= follows[1:]
    if not np.any(is_joined):
        raise RefusedEditError(
            f"no allreduces of all ranks of at most {most_bytes:,} bytes together follow each "
            "other within a millisecond"
        )
    return _Together(rows[is_joined], np.flatnonzero(~follows[is_joined]))


def _call_ns(between: Floats) -> Floats:
    """What it costs each rank to call MPI once more: the usual least time between two calls.

    `between` is nanoseconds of work before calls, shape (calls, ranks).
    """
    result: Floats = np.minimum(np.quantile(between, 0.25, axis=0), MOST_CALL_NS)
    return result
