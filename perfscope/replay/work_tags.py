"""The work before rows by phase, as delay costs count it."""

from typing import Any

import numpy as np

from perfscope.arrays import Floats, Int32s, Ints, SmallCodes
from perfscope.metrics.results import Results
from perfscope.replay.program import Program
from perfscope.schema.common import DelayCause
from perfscope.units import NS

LEAST_S = 1e-9
MOST_PIECES = int(np.iinfo(np.int32).max)


def resolved(seconds: float) -> float:
    """What is left of a sum: less than clocks count is what floating-point numbers leave."""
    return 0.0 if abs(seconds) < LEAST_S else seconds


class WorkOfRows:
    """The work before each row, row after row, and communication alone as its last piece there.

    Attributes:
        gap_ns: what stands before each row.
        columns: the work as arguments of the engine's delay costs.
    """

    def __init__(self, program: Program) -> None:
        row, ns, fixed = program.work.row, program.work.ns, program.fixed
        self._order: Ints | None = None
        if np.any(row[1:] < row[:-1]):  # what edits added stands behind the rest
            self._order = np.argsort(row, kind="stable")
            row, ns = row[self._order], ns[self._order]
        self._alone = np.searchsorted(row, fixed.row, side="right")
        counts = np.bincount(row, minlength=program.row_count)
        counts[fixed.row] += 1
        kind = np.int32 if len(row) + len(fixed.row) <= MOST_PIECES else np.int64
        starts = np.zeros(program.row_count + 1, kind)
        np.cumsum(counts, dtype=kind, out=starts[1:])
        del counts
        self.gap_ns: Floats = program.gaps_ns(program.work)
        self.columns: dict[str, Any] = {
            "piece_starts": starts,
            "ns": np.insert(ns, self._alone, fixed.ns) if len(fixed.row) else ns,
            "waits_at_end": program.waits_at_end.astype(np.uint8),
        }

    def by(
        self, kind: SmallCodes, kinds: int, units: Int32s | None = None
    ) -> tuple[SmallCodes, int, Int32s | None]:
        """One way to tell the work, for the engine's delay costs; communication alone is last.

        Each piece has a `kind` below `kinds`, shape (pieces,). Without `units`, which rows belong
        to, it is told what was charged to each rank and who waited for whom, and with them what was
        charged when.
        """
        tag = kind if self._order is None else kind[self._order]
        if len(self._alone):
            tag = np.insert(
                tag.astype(np.min_scalar_type(-1 - kinds), copy=False), self._alone, kinds
            )
        return tag, kinds + 1, units


class PhaseTags:
    """The work by phase."""

    def __init__(self, results: Results, program: Program, work: WorkOfRows) -> None:
        ids = results.phase_ids
        phase = program.phase.astype(np.min_scalar_type(-1 - len(ids)))
        phase[phase < 0] = len(ids)
        self.of_work = work.by(phase, len(ids) + 1)
        self.names: tuple[str | None, ...] = (*ids, "", None)
        self._ranks = program.ranks

    def delays(self, found: dict[str, Any], waiting_s: float) -> tuple[DelayCause, ...]:
        """What the engine's delay costs say of each rank and phase, most first.

        `found` is in nanoseconds; shares are of `waiting_s`, which is all waiting.
        """
        direct, indirect = found["direct"], found["indirect"]
        cells = np.flatnonzero(direct + indirect > 0)
        cells = cells[np.argsort(-(direct + indirect)[cells], kind="stable")]
        return tuple(
            self.delay(cell, float(direct[cell]), float(indirect[cell]), waiting_s)
            for cell in cells.tolist()
        )

    def delay(
        self, cell: int, direct_ns: float, indirect_ns: float, waiting_s: float
    ) -> DelayCause:
        """What one of the cells of the engine, of a rank and a phase, cost of all waiting."""
        rank, phase = divmod(cell, len(self.names))
        return DelayCause(
            rank=self._ranks[rank],
            phase=self.names[phase],
            direct_s=NS * direct_ns,
            indirect_s=NS * indirect_ns,
            share=NS * (direct_ns + indirect_ns) / waiting_s if waiting_s else 0.0,
        )
