"""The work before rows by phase, as delay costs count it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Floats, Int32s, Ints
from perfscope.metrics.results import Results
from perfscope.replay.program import Program
from perfscope.schema.common import DelayCause
from perfscope.units import NS

LEAST_S = 1e-9


def resolved(seconds: float) -> float:
    """What is left of a sum: less than clocks count is what floating-point numbers leave."""
    return 0.0 if abs(seconds) < LEAST_S else seconds


class WorkTags:
    """The work before each row by its kind, row after row; communication alone is the last kind.

    Each piece has a `kind` below `kinds`, shape (pieces,).
    """

    def __init__(self, program: Program, kind: npt.NDArray[np.integer], kinds: int) -> None:
        row, alone = program.work.row, program.fixed.row
        tag, ns = kind.astype(np.int32, copy=False), program.work.ns
        if np.any(row[1:] < row[:-1]):  # what edits added stands behind the rest
            order = np.argsort(row, kind="stable")
            row, tag, ns = row[order], tag[order], ns[order]
        if len(alone):
            place = np.searchsorted(row, alone, side="right")
            tag, ns = np.insert(tag, place, kinds), np.insert(ns, place, program.fixed.ns)
        counts = np.bincount(row, minlength=program.row_count)
        counts[alone] += 1
        self.tag: Int32s = tag
        self.ns: Floats = ns
        self.starts: Ints = np.zeros(program.row_count + 1, np.int64)
        np.cumsum(counts, out=self.starts[1:])
        self._kinds = kinds
        self._waits_at_end = program.waits_at_end.astype(np.uint8)

    @property
    def pieces(self) -> dict[str, Any]:
        """The work as arguments of the engine's delay costs."""
        return {
            "piece_starts": self.starts,
            "tag": self.tag,
            "ns": self.ns,
            "tags": self._kinds + 1,
            "waits_at_end": self._waits_at_end,
        }


class PhaseTags(WorkTags):
    """The work by phase."""

    def __init__(self, results: Results, program: Program) -> None:
        ids = results.phase_ids
        phase = np.where(program.phase >= 0, program.phase, np.int32(len(ids)))
        super().__init__(program, phase, len(ids) + 1)
        self.names: tuple[str | None, ...] = (*ids, "", None)
        self._ranks = program.ranks

    def delays(
        self, found: dict[str, Any], waiting_s: float, *, most: int | None = None
    ) -> tuple[DelayCause, ...]:
        """What the engine's delay costs say of each rank and phase, most first, at most so many.

        `found` is in nanoseconds; shares are of `waiting_s`, which is all waiting.
        """
        width = len(self.names)
        direct, indirect = found["direct"], found["indirect"]
        cells = np.flatnonzero(direct + indirect > 0)
        cells = cells[np.argsort(-(direct + indirect)[cells], kind="stable")][:most]
        return tuple(
            DelayCause(
                rank=self._ranks[cell // width],
                phase=self.names[cell % width],
                direct_s=NS * float(direct[cell]),
                indirect_s=NS * float(indirect[cell]),
                share=NS * float((direct + indirect)[cell]) / waiting_s if waiting_s else 0.0,
            )
            for cell in cells.tolist()
        )
