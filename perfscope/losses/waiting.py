"""What ranks waited for, by the root of each wait and step by step."""

from dataclasses import replace

import numpy as np

from perfscope.arrays import Bools, Floats, SmallCodes
from perfscope.attribution.ledger import INDEX
from perfscope.attribution.stack_rules import kind_of_id
from perfscope.attribution.timeline import SPECIAL_ACCOUNTS
from perfscope.losses.cause import LossCause, cause_of_work
from perfscope.metrics.communication.late_arrivals import LateArrival
from perfscope.metrics.results import Results
from perfscope.replay.charges import Charges
from perfscope.replay.program import Program
from perfscope.replay.steps import Steps
from perfscope.schema.enums import Account, PhaseKind
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Cells:
    """Nanoseconds by step, rank that causes them, and cause; arrays have one element each."""

    step: SmallCodes
    rank: SmallCodes
    cause: SmallCodes
    ns: Floats

    def table(self, chosen: Bools, shape: tuple[int, int]) -> Floats:
        """Those of some elements, shape (steps, ranks)."""
        cell = self.step[chosen].astype(np.int64) * shape[1] + self.rank[chosen]
        found = np.bincount(cell, self.ns[chosen], minlength=shape[0] * shape[1])
        return found.astype(np.float64).reshape(shape)


@dataclass(frozen=True)
class Waited:
    """All waiting in the focus by what it was for.

    `whole_ns` is all that was waited; `causes` are what `cells` holds indices of. What the cells do
    not hold, nobody is known to have caused. `steps` is None where waits are not known step by
    step: then all cells are of one step.
    """

    whole_ns: int
    causes: tuple[LossCause, ...]
    cells: Cells
    steps: Steps | None

    @property
    def unexplained_ns(self) -> float:
        """Waiting of which it is not known for whom."""
        return max(0.0, self.whole_ns - float(self.cells.ns.sum()))


def waited(results: Results, program: Program | None, charges: Charges | None) -> Waited:
    """What ranks waited for: replayed where that can be had, else for who came last."""
    whole_ns = int(results.ledger.ns[INDEX[Account.COMMUNICATION_WAIT]].sum())
    if program is None or charges is None:
        return _by_arrival(results, whole_ns)
    names = program.functions.names
    causes = tuple(
        cause_of_work(
            one.account, one.phase, names[one.function] if one.function >= 0 else None, one.activity
        )
        for one in charges.causes
    )
    cells = Cells(charges.unit, charges.rank, charges.cause, charges.ns)
    return _no_more(Waited(whole_ns, causes, cells, charges.steps))


def _by_arrival(results: Results, whole_ns: int) -> Waited:
    """By who came last to collectives, and what it did before."""
    place = {rank.number: position for position, rank in enumerate(results.trace.ranks)}
    arrivals = results.communication.late_arrivals
    cells = Cells(
        np.zeros(len(arrivals), np.int64),
        np.array([place[one.rank] for one in arrivals], np.int64),
        np.arange(len(arrivals)),
        np.array([one.waiting_s * 1e9 for one in arrivals]),
    )
    return _no_more(Waited(whole_ns, tuple(map(_cause, arrivals)), cells, None))


def _cause(arrival: LateArrival) -> LossCause:
    kind = kind_of_id(arrival.phase) if arrival.phase else PhaseKind.USER
    frame = arrival.frame
    return cause_of_work(
        SPECIAL_ACCOUNTS.get(kind, Account.IO if kind is PhaseKind.IO else Account.COMPUTATION),
        arrival.phase,
        frame.key if frame else None,
    )


def _no_more(found: Waited) -> Waited:
    """With no more charged than was waited."""
    cells, charged = found.cells, float(found.cells.ns.sum())
    if charged <= found.whole_ns:
        return found
    return replace(found, cells=replace(cells, ns=cells.ns * (found.whole_ns / charged)))
