"""What a process kept of its run in detail, and the totals that it kept of all of it."""

import numpy as np

from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.readers.recording.interning import Numbering, translated
from perfscope.readers.recording.layout import CellFlag, RecordKind
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.trace.model import Table
from perfscope.trace.operations import KNOWN
from perfscope.trace.thinning import (
    BLOCK_DTYPE,
    CALL_TOTAL_DTYPE,
    WINDOW_DTYPE,
    RankThinning,
    WindowSource,
)

HIGHEST_LEVEL = 30


def thinning_of(process: ProcessFile) -> RankThinning | None:
    """What the header tells; None in damaged ones and those from before windows."""
    told = process.header["thinning"]
    level = int(told["level"])
    windows = {source: int(told["windows"][source]) for source in WindowSource}
    if level > HIGHEST_LEVEL or max(windows.values()) >= 1 << 32 or not any(windows.values()):
        return None
    return RankThinning(
        level=level,
        windows=windows,
        records=min(int(told["records"]), MAX_AMOUNT),
        calls_not_sorted=min(int(told["lost_calls"]), MAX_AMOUNT),
    )


def windows_of(process: ProcessFile, raw: Table) -> Table:
    """The windows that ended with these records, by time; without those that lack records."""
    is_step = (raw["kind"] == RecordKind.STEP) & (raw["request"] > 0)
    is_other = (raw["kind"] == RecordKind.WINDOW) & (raw["request"] > 0)
    is_other &= (raw["op"] > WindowSource.NONE) & (raw["op"] < WindowSource.STEP)
    raw = raw[is_step | is_other]
    if not len(raw):
        return np.zeros(0, WINDOW_DTYPE)
    rows = np.zeros(len(raw), WINDOW_DTYPE)
    begins = np.maximum(raw["request"], np.uint64(process.start_ns))
    rows["t0"], rows["t1"], rows["number"] = begins, raw["t1_ns"], raw["seq"]
    other = np.where(raw["kind"] == RecordKind.STEP, WindowSource.STEP, raw["op"])
    rows["source"] = other
    rows = rows[(rows["t1"] > rows["t0"]) & (rows["t1"] <= process.bound_ns)]
    rows = rows[np.argsort(rows["t0"], kind="stable")]
    if not len(rows):
        return rows
    is_behind = rows["t0"] >= np.concatenate([[0], np.maximum.accumulate(rows["t1"])[:-1]])
    found: Table = rows[is_behind]
    return found


def blocks_of(process: ProcessFile) -> Table:
    """The steps of the whole run in sums; empty where these were being joined just then."""
    told = process.header["thinning"]
    raw = process.header["blocks"][: int(told["blocks"])]
    rows = np.zeros(len(raw), BLOCK_DTYPE)
    if int(told["merging"]) or not len(raw):
        return rows[:0]
    for name, source in (("t0", "t0_ns"), ("t1", "t1_ns")):
        rows[name] = np.minimum(raw[source], np.uint64(MAX_AMOUNT))
    for name in ("count", "ns", "samples", "shortest_ns", "longest_ns", "first", "longest"):
        rows[name] = np.minimum(raw[name], np.uint64(MAX_AMOUNT))
    possible = (rows["count"] > 0) & (rows["t0"] >= process.start_ns) & (rows["t1"] > rows["t0"])
    possible &= rows["t1"] <= process.bound_ns
    return rows[possible] if possible.all() else rows[:0]


def call_totals_of(process: ProcessFile, numbering: Numbering) -> Table:
    """Totals of calls by operation, communicator and phase, and of phases by name."""
    cells = process.header["cells"]
    cells = cells[(cells["key"] & np.uint64(CellFlag.USED)) > 0]
    keys = cells["key"]
    rows = np.zeros(len(cells), CALL_TOTAL_DTYPE)
    if not len(cells):
        return rows
    rows["op"] = (keys >> np.uint64(16)) & np.uint64(0xFFFF)
    rows["phase"] = (keys >> np.uint64(8)) & np.uint64(0xFF)
    rows["is_main"] = (keys & np.uint64(CellFlag.MAIN)) > 0
    rows["is_phase"] = (keys & np.uint64(CellFlag.PHASE)) > 0
    ids = ((keys >> np.uint64(32)) - np.uint64(1)).astype(np.uint32)  # 0 there says none
    names, _ = translated(ids, numbering.names)
    communicators, _ = translated(ids, numbering.communicators)
    rows["comm"] = np.where(rows["is_phase"], names, communicators)
    for name in ("count", "ns", "sent", "received"):
        rows[name] = np.minimum(cells["total"][name], np.uint64(MAX_AMOUNT))
    is_call = ~rows["is_phase"] & (rows["op"] < len(KNOWN))
    known = rows["is_phase"] | (is_call & KNOWN[np.where(is_call, rows["op"], 0)])
    return rows[known]
