"""Collectives whose buffers are mostly zeros: what is left where only other values are sent."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfscope.findings.core import wording
from perfscope.findings.core.finding import Evidence, Gain
from perfscope.findings.core.gain import most_moving, predicted_gain, saved
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import shape_of
from perfscope.findings.facts.large_collectives import classes
from perfscope.findings.facts.needless import Needless
from perfscope.findings.facts.sampled_places import main_place
from perfscope.judging import MAIN, NEGLIGIBLE
from perfscope.metrics.host.hot_lines import NOT_COMPUTING
from perfscope.metrics.host.looks import FEWEST_LOOKS
from perfscope.replay.model import Edit
from perfscope.structures import dataclass
from perfscope.trace.model import Frame
from perfscope.trace.operands import Operand, WorkedOn
from perfscope.trace.operations import BY_NAME, OperationClass
from perfscope.units import NS, format_seconds, format_share

CONTRIBUTING = (OperationClass.N_TO_N, OperationClass.N_TO_ONE)
"""Collectives to which each rank gives what its buffer holds; in others it may be old."""

INDEX_BYTES = np.dtype(np.int64).itemsize
"""Of the number that has to tell where a value belongs."""


@dataclass(frozen=True)
class SparseMessage:
    """The buffer that most data is moved in, where it is mostly zeros on all ranks."""

    frame: Frame  # where it is sent
    operand: Operand  # of the rank whose buffer holds least zeros
    left: float  # of the bytes, where each rank sends all others what is not zero
    work_s: float  # of one rank at most, which may be on arrays as large, where it is sent

    @property
    def is_in_rows(self) -> bool:
        """Whether whole stretches are zero, as rows that nothing was added to."""
        return _of_rows(self.operand) < _of_values(self.operand)


def sparse_message(run: Facts) -> SparseMessage | None:
    """What is sent is mostly zeros; None where it is not, or nobody has looked."""
    results, operation = run.results, most_moving(run.results)
    place, sizes = main_place(results.call_sites.transfer), classes(results)
    is_known = operation in BY_NAME and BY_NAME[operation].cls in CONTRIBUTING
    if not is_known or not place or not sizes:
        return None
    usual = max(sizes, key=lambda one: one.seconds * one.calls)
    sent = [_sent(sites, place[0]) for sites in run.worked_on]
    known = [one for one in sent if one is not None]
    fullest = max(known, key=_kept, default=None)
    if fullest is None or _bytes(fullest) < MAIN * usual.size_bytes:
        return None
    left = len(sent) * _kept(fullest)
    if left > MAIN:
        return None
    return SparseMessage(place[0], fullest, left, _work_s(run, place[0], fullest))


def needless_zeros(run: Facts, whole_s: float) -> Needless | None:
    """Most of what is moved are zeros, of which others need not be told.

    `whole_s` is what all transfer costs.
    """
    sparse = sparse_message(run)
    if sparse is None:
        return None
    name, zeros = f"`{sparse.operand.name}`", format_share(sparse.operand.share("zero"))
    gain = saved_without_zeros(run, sparse, whole_s)
    what = "non-zero rows" if sparse.is_in_rows else "non-zero values"
    work = (
        f", and work on {name} and arrays of its size in {wording.called(sparse.frame)} takes up "
        f"to {format_seconds(sparse.work_s)}"
        if sparse.work_s
        else ""
    )
    return Needless(
        told=f": {zeros} of {name} is zeros",
        summary=(
            f"Sent as {what} and their indices, at most {format_share(sparse.left)} of the bytes "
            f"would be left{work}. Without either the run would take about "
            f"{wording.saving(run.results, gain.seconds, is_bound=False)} less."
        ),
        gain=gain,
        where=(sparse.frame,),
        rows=(
            Evidence(f"Zeros in {name} ({shape_of(sparse.operand)}), by samples", zeros),
            Evidence(f"Looks at {name}", sparse.operand.looks),
        ),
        action=(
            f"Send only the {what} of {name} and their indices (Allgatherv of both), and add up "
            f"what arrives, instead of sending all of {name}."
        ),
    )


def _sent(sites: Sequence[WorkedOn], frame: Frame) -> Operand | None:
    """What a line takes first, as mpi4py has it; the buffer that it receives into comes behind."""
    here = [one for one in sites if one.frame == frame and one.looks >= FEWEST_LOOKS]
    told = [one.operands[0] for one in here if one.operands and one.operands[0].shares]
    return max(told, key=_bytes, default=None)


def _bytes(operand: Operand) -> int:
    return operand.elements * operand.value_bytes


def _kept(operand: Operand) -> float:
    """The part of its bytes that holds what is not zero, with where that belongs."""
    return min(_of_rows(operand), _of_values(operand))


def _of_values(operand: Operand) -> float:
    return (1.0 - operand.share("zero")) * (1.0 + INDEX_BYTES / operand.value_bytes)


def _of_rows(operand: Operand) -> float:
    """The same by pieces that are zero throughout; each of the others is sent whole."""
    return 1.0 - operand.share("zero_pieces")


def _work_s(run: Facts, frame: Frame, operand: Operand) -> float:
    """Seconds of the rank that spends most in a function, but in lines seen to take less."""
    spent = []
    for rank, sites in zip(run.results.trace.ranks, run.worked_on, strict=True):
        own = [site for site in sites if site.frame.key == frame.key and site.operands]
        large = {
            site.frame
            for site in own
            if any(one.elements >= operand.elements for one in site.operands)
        }
        small = {site.frame for site in own} - large
        spent.append(
            sum(
                row.ns
                for row in run.results.activities.rows
                if row.rank == rank.number and row.where is not None
                if row.where.key == frame.key and row.where not in small
                if row.activity not in NOT_COMPUTING
            )
        )
    return max(spent, default=0) * NS


def saved_without_zeros(run: Facts, found: SparseMessage, whole_s: float) -> Gain:
    """What is saved at most: bytes that are not sent, and work on values that stay zero."""
    # As many bytes fewer take a network as many times as fast: one size does not tell latency.
    edit = Edit(factor=1.0, network=1.0 / max(found.left, NEGLIGIBLE))
    bound_s = (1.0 - found.left) * whole_s
    moved = predicted_gain(run.results, run.replay, [edit], bound_s=bound_s)
    work_s = (1.0 - found.left) * found.work_s
    gain = saved(run.results, moved.seconds + work_s, edits=(edit,), is_planned=True)
    if not work_s:
        return gain
    name, ranks = f"`{found.operand.name}`", run.results.communication.transfer_s_by_rank
    own_s = work_s + sum(ranks) / max(len(ranks), 1)
    return replace(
        gain,
        own_s=own_s,
        counts=f"counts up to {format_seconds(work_s)} of work on {name}",
        counts_more=True,
    )
