"""What the collectives of a program carried, and what they would take with other sizes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perfscope.arrays import Bools, Floats, Ints, SmallCodes, blocks, narrowed, narrowest
from perfscope.engine import engine
from perfscope.judging import FAIR_BYTES_PER_S, SMALL_BYTES
from perfscope.metrics.communication.collective_cost import CollectiveCost, bus_factor
from perfscope.metrics.communication.collective_fit import FEWEST_CALLS, Curve, Line
from perfscope.metrics.results import Results
from perfscope.replay.model import RefusedEditError
from perfscope.replay.program import Program
from perfscope.structures import dataclass
from perfscope.trace.framework_codes import ALLREDUCES
from perfscope.trace.operations import OperationClass, code_of, codes_mask, name_of
from perfscope.units import format_share

NONBLOCKING = codes_mask([OperationClass.I_COLLECTIVE, OperationClass.I_NEIGHBORHOOD])
UNIMPORTANT_SHARE = 0.01
"""Of the transfer of the chosen collectives: so much may keep its time for want of a curve."""


@dataclass(frozen=True)
class CallCosts:
    """Of each row of a program: what the collective carried; arrays have shape (rows,)."""

    op: SmallCodes  # operation code, -1 none
    size: SmallCodes  # bytes, 0 unknown or no collective
    ranks: SmallCodes  # of its communicator
    curves: Mapping[tuple[str, int], Curve]  # by operation and number of ranks
    alike: Mapping[tuple[str, int], Curve]
    """Of operations without a curve, whose calls on one host are small and of one size.

    They are made of latency: what more bytes in such a call take is estimated, not measured.
    """

    @classmethod
    def of(cls, results: Results, program: Program, most_bytes: int = 0) -> CallCosts:
        """Those of a program, of which some may become so many bytes.

        Raises:
            RefusedEditError: it is not known which calls its rows are.
        """
        if program.pool_row is None:
            raise RefusedEditError("it is not known which calls the program is made of")
        pool, instances = results.waits.pool, results.waits.instances
        carried = instances.size(pool).astype(np.int64)
        size, ranks = engine.collectives_of_rows(
            instances.members, instances.starts, carried, program.pool_row.all(), len(pool)
        )
        held = narrowest([carried, np.array([most_bytes])])
        size = size.astype(held, copy=False)
        curves = _curves(results.collective_cost)
        return cls(program.row_op, size, narrowed(ranks), curves, _alike(results))

    def scaled(
        self, transfer: Floats, factor: float, operation: str | None
    ) -> tuple[Floats, Bools]:
        """Transfer when chosen collectives carry `factor` times the bytes, and which they are.

        Raises:
            RefusedEditError: there are none, some are nonblocking, or latency and bandwidth are not
                known apart.
        """
        code = None if operation is None else _code(operation)
        chosen, unknown = np.zeros((2, len(transfer)), np.bool_)
        result = transfer.copy()
        for here in blocks(len(transfer)):
            own = (self.size[here] > 0) & (self.ranks[here] > 1)
            if code is not None:
                own &= self.op[here] == code
            chosen[here] = own
            self._scale(np.flatnonzero(own) + here.start, factor, result, unknown)
        if not np.any(chosen):
            what = "collective of known size" if operation is None else f"{operation} of known size"
            raise RefusedEditError(f"the run has no {what}")
        if transfer[unknown].sum() > UNIMPORTANT_SHARE * transfer[chosen].sum():
            raise RefusedEditError(self._not_apart(transfer, unknown, factor))
        return result, chosen

    def _scale(self, every: Ints, factor: float, result: Floats, unknown: Bools) -> None:
        """The same of some rows, which have collectives; `unknown` are those without a curve."""
        op, members = self.op[every], self.ranks[every]
        later = np.flatnonzero(NONBLOCKING.take(np.maximum(op, 0)))
        if len(later):
            raise RefusedEditError(
                f"{name_of(int(op[later[0]]))} is nonblocking: its transfer lies in the calls "
                "that wait for it"
            )
        kinds = np.unique((op.astype(np.int64) << 32) | members)
        for code, ranks in zip((kinds >> 32).tolist(), (kinds & 0xFFFFFFFF).tolist(), strict=True):
            rows = every[(op == code) & (members == ranks)]
            curve = self.curves.get((name_of(code), ranks))
            if curve is None:
                unknown[rows] = True
                continue
            factor_of = float(bus_factor(np.array([code]), np.array([ranks]))[0])
            x = self.size[rows].astype(np.int64) * factor_of
            result[rows] *= curve.seconds(x * factor) / curve.seconds(x)

    def _not_apart(self, transfer: Floats, unknown: Bools, factor: float) -> str:
        worst = int(np.argmax(np.where(unknown, transfer, -1.0)))
        sizes = np.unique(self.size[unknown & (self.op == self.op[worst])])
        several = f"{len(sizes):,} sizes" if len(sizes) > 1 else "one size"
        return (
            f"{name_of(int(self.op[worst]))} was called with {several} only, which does not tell "
            "latency from bandwidth (sizes must differ by a factor of 8 in 16 calls): between no "
            f"gain and {format_share(abs(1.0 - factor))} of its transfer time, anything is possible"
        )


def _curves(cost: CollectiveCost | None) -> dict[tuple[str, int], Curve]:
    if cost is None:
        return {}
    return {(fit.name, fit.ranks): fit.curve for fit in cost.fits}


def is_estimated(results: Results) -> bool:
    """Whether what an allreduce of all ranks takes with more bytes is estimated and not fitted."""
    ranks = len(results.trace.ranks)
    return any(code_of(name) in ALLREDUCES and of == ranks for name, of in _alike(results))


def _alike(results: Results) -> dict[tuple[str, int], Curve]:
    """Curves of operations of which all calls are small and within one class of sizes.

    Inside a host memory is assumed to carry the bytes, through sockets as well, at no less than the
    rate of an ordinary network. Sizes of several classes that give no fit, or too few calls, tell
    nothing.
    """
    cost = results.collective_cost
    is_one_host = len({rank.host for rank in results.trace.ranks}) == 1
    if cost is None or cost.classes_left_out or not is_one_host:
        return {}
    found, known = {}, _curves(cost)
    for name, ranks in {(one.name, one.ranks) for one in cost.classes}.difference(known):
        usual, *others = (one for one in cost.classes if (one.name, one.ranks) == (name, ranks))
        is_known = not others and usual.calls >= FEWEST_CALLS
        if is_known and usual.size_bytes < SMALL_BYTES:
            moved = usual.size_bytes * float(
                bus_factor(np.array([code_of(name)]), np.array([ranks]))[0]
            )
            found[name, ranks] = _of_latency(usual.seconds, moved)
    return found


def _of_latency(seconds: float, moved: float) -> Curve:
    """The curve of a call that takes so long for so many bytes, all but that rate as latency."""
    latency_s = max(0.0, seconds - moved / FAIR_BYTES_PER_S)
    unknown = float("nan")
    line = Line(
        latency_s=latency_s,
        latency_interval_s=(0.0, seconds),
        bytes_per_s=FAIR_BYTES_PER_S,
        bytes_per_s_interval=(unknown, unknown),
        typical_error=unknown,
    )
    return Curve((line,), ())


def _code(operation: str) -> int:
    """The code of `allreduce` or `MPI_Allreduce`.

    Raises:
        RefusedEditError: there is no such operation.
    """
    try:
        return int(code_of(f"MPI_{operation.lower().removeprefix('mpi_').capitalize()}"))
    except (KeyError, ValueError):
        raise RefusedEditError(f"there is no operation {operation!r}") from None
