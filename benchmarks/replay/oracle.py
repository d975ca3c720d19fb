"""The replay in plain Python, without segments or an order: iterated until nothing moves."""

from dataclasses import dataclass

import numpy as np

from perfscope.arrays import Floats
from perfscope.replay.program import Program, Work


@dataclass
class Replayed:
    """When each row arrives and what it needs, in nanoseconds from the start."""

    arrival: list[float]
    need: list[float]
    exit: list[float]
    length: float


def replay(
    program: Program, work: Work | None = None, transfer_ns: Floats | None = None
) -> Replayed:
    """The whole program as one system of equations; cuts are meetings like all others."""
    gap = program.gaps_ns(program.work if work is None else work)
    transfer = program.transfer_ns if transfer_ns is None else transfer_ns
    rows = program.row_count
    wanted: list[list[int]] = [[] for _ in range(rows)]
    for cut in program.cut_rows[1:-1]:
        for row in cut.tolist():
            wanted[row] = cut.tolist()
    for row in range(rows):
        needs = program.needs
        for need in needs.needs[needs.need_starts[row] : needs.need_starts[row + 1]].tolist():
            wanted[row] = wanted[row] + (members(program, ~need) if need < 0 else [need])
    starts = set(program.cut_rows[0].tolist())
    arrival = [0.0] * rows
    needed = [0.0] * rows
    leave = [0.0] * rows
    changed = True
    while changed:
        changed = False
        for row in range(rows):
            came = 0.0 if row in starts else leave[row - 1] + float(gap[row])
            need = max([came, *(arrival[other] for other in wanted[row])])
            out = need + float(transfer[row])
            if (came, need, out) != (arrival[row], needed[row], leave[row]):
                arrival[row], needed[row], leave[row] = came, need, out
                changed = True
    length = max(arrival[row] for row in program.cut_rows[-1].tolist())
    return Replayed(arrival, needed, leave, length)


def members(program: Program, hub: int) -> list[int]:
    """All rows whose arrival a hub waits for."""
    needs = program.needs
    own: list[int] = needs.hub_rows[needs.hub_starts[hub] : needs.hub_starts[hub + 1]].tolist()
    parent = int(needs.hub_parent[hub])
    return own if parent < 0 else own + members(program, parent)


def without_transfer(program: Program) -> Floats:
    """Transfer on an ideal network."""
    return np.zeros(program.row_count)
