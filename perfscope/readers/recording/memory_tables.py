"""Samples of memory: of the process tree, in calls of a framework, of Python and its collector."""

import numpy as np

from perfscope.arrays import Bools
from perfscope.readers.recording.layout import KEPT_NOTHING
from perfscope.trace import memory_samples
from perfscope.trace.model import Table

LAST_GENERATION = 2


def tree_samples(raw: Table) -> Table:
    """Proportional memory of a process and its descendants, sorted by time."""
    rows = np.zeros(len(raw), memory_samples.TREE_SAMPLE_DTYPE)
    rows["t"], rows["own_bytes"], rows["descendants_bytes"] = (
        raw["t0_ns"],
        raw["sent"],
        raw["received"],
    )
    rows["descendants"] = np.minimum(raw["request"], np.iinfo(np.int32).max)
    return rows[np.argsort(rows["t"], kind="stable")]


def heap_samples(raw: Table) -> Table:
    """What the memory of a process consists of, sorted by time."""
    rows = np.zeros(len(raw), memory_samples.HEAP_SAMPLE_DTYPE)
    rows["t"], rows["allocated_bytes"], rows["held_bytes"] = (
        raw["t0_ns"],
        raw["sent"],
        raw["received"],
    )
    rows["anonymous_bytes"] = raw["request"]
    rows["file_bytes"] = raw["comm"].astype(np.int64) * 1024
    rows["shared_bytes"] = raw["seq"].astype(np.int64) * 1024
    return rows[np.argsort(rows["t"], kind="stable")]


def python_samples(raw: Table) -> Table:
    """Blocks of Python's allocator, sorted by time."""
    rows = np.zeros(len(raw), memory_samples.PYTHON_SAMPLE_DTYPE)
    rows["t"], rows["blocks"] = raw["t0_ns"], raw["sent"]
    return rows[np.argsort(rows["t"], kind="stable")]


def garbage_collections(raw: Table) -> Table:
    """Collections of Python's garbage, sorted by their begin."""
    rows = np.zeros(len(raw), memory_samples.GARBAGE_COLLECTION_DTYPE)
    rows["t0"], rows["tid"] = raw["t0_ns"], raw["tid"]
    rows["t1"] = np.maximum(raw["t0_ns"], raw["t1_ns"])
    generation = raw["seq"].astype(np.int64)  # no number below zero fits its own type
    rows["generation"] = np.where(generation <= LAST_GENERATION, generation, -1)
    rows["shorter_ns"], rows["shorter_count"] = raw["sent"], raw["received"]
    return rows[np.argsort(rows["t0"], kind="stable")]


def call_samples(raw: Table) -> Table:
    """What calls of a framework kept, in the order of the records; names are to be filled in."""
    rows = np.zeros(len(raw), memory_samples.CALL_SAMPLE_DTYPE)
    rows["t"], rows["calls"], rows["measured"] = raw["t0_ns"], raw["seq"], raw["tag"]
    rows["compiled"] = np.maximum(raw["peer"], 0)
    rows["kept_bytes"] = raw["sent"].astype(np.int64) - KEPT_NOTHING
    rows["private_bytes"] = raw["received"]
    rows["set_up_ns"] = raw["request"]
    return rows


def plausible_calls(rows: Table) -> Bools:
    """Which rows can be true: a known name, and counts that never fall.

    Damage to one row would otherwise become growth that never was.
    """
    keep = (rows["name"] >= 0) & (rows["measured"] >= 0) & (rows["measured"] <= rows["calls"])
    keep &= np.abs(rows["kept_bytes"]) < KEPT_NOTHING
    for name in np.unique(rows["name"][keep]).tolist():
        own = np.flatnonzero(keep & (rows["name"] == name))
        sound = np.ones(len(own), np.bool_)
        for column in ("t", "calls", "measured", "compiled", "set_up_ns"):
            values = rows[column][own]
            sound &= np.minimum.accumulate(values[::-1])[::-1] == values
        keep[own] = sound
    return np.asarray(keep)
