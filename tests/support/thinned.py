"""What a recorder with little room would have kept of a run: the same run, thinned."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Rank, Table, Trace
from perfscope.trace.thinning import (
    BLOCK_DTYPE,
    CALL_TOTAL_DTYPE,
    UNUSUAL_WINDOWS,
    WINDOW_DTYPE,
    RankThinning,
    WindowSource,
    is_selected,
)

ALWAYS = 8
OPERATION_TABLES = ("operations", "steps", "phases")


def thinned(trace: Trace, levels: list[int]) -> Trace:
    """The trace with one in 2^level of the steps of each rank; totals are of all."""
    ranks = [_rank(rank, level) for rank, level in zip(trace.ranks, levels, strict=True)]
    return replace(trace, ranks=ranks)


def _rank(rank: Rank, level: int) -> Rank:
    steps = rank.steps[np.argsort(rank.steps["t0"], kind="stable")]
    windows = np.zeros(len(steps), WINDOW_DTYPE)
    windows["t0"] = [rank.start_ns, *steps["t1"][:-1].tolist()]
    windows["t1"], windows["number"] = steps["t1"], steps["number"]
    windows["source"] = WindowSource.STEP
    place = np.arange(len(steps))
    kept = is_selected(steps["number"].astype(np.int64), level)
    kept |= (place < ALWAYS) | (place >= len(steps) - ALWAYS)
    own = steps["t1"] - steps["t0"]
    for lengths in (own, windows["t1"] - windows["t0"] - own):
        kept |= lengths > np.sort(lengths[ALWAYS:])[-UNUSUAL_WINDOWS - 1]
    tables: dict[str, Any] = {
        name: _inside(getattr(rank, name), windows, kept) for name in OPERATION_TABLES
    }
    told = RankThinning(level, {WindowSource.STEP: len(steps)}, 0)
    return replace(
        rank,
        **tables,
        windows=windows[kept],
        thinning=told,
        step_blocks=_blocks(steps),
        call_totals=_totals(rank),
    )


def _inside(table: Table, windows: Table, kept: npt.NDArray[np.bool_]) -> Table:
    """Rows that begin in a window that is kept, or after the last one."""
    window = np.searchsorted(windows["t1"], table["t0"], side="right")
    found: Table = table[np.concatenate([kept, [True]])[window]]
    return found


def _blocks(steps: Table) -> Table:
    blocks = np.zeros(len(steps), BLOCK_DTYPE)
    for name, source in (("t0", "t0"), ("t1", "t1"), ("first", "number"), ("longest", "number")):
        blocks[name] = steps[source]
    blocks["count"], blocks["samples"] = 1, steps["samples"]
    blocks["ns"] = blocks["shortest_ns"] = blocks["longest_ns"] = steps["t1"] - steps["t0"]
    return blocks


def _totals(rank: Rank) -> Table:
    rows = np.zeros(len(rank.operations) + len(rank.phases), CALL_TOTAL_DTYPE)
    calls, phases = rows[: len(rank.operations)], rows[len(rank.operations) :]
    for part, table, name in ((calls, rank.operations, "op"), (phases, rank.phases, "kind")):
        part["op"], part["ns"] = table[name], table["t1"] - table["t0"]
        part["is_main"], part["count"] = table["tid"] == rank.main_tid, 1
    phases["is_phase"] = True
    assert not np.any(phases["op"] == PhaseKind.COMMUNICATION)
    return rows
