"""Records of a .rec file, sound and damaged: `python -m tests.support.write_records FILE`."""

import sys
from pathlib import Path

import numpy as np

from perfscope.readers.recording.layout import NO_ID, RECORD_DTYPE, RecordKind
from perfscope.trace.model import Table
from perfscope.trace.operations import code_of
from tests.support.write_recording import MONO_START_NS

_CALLS = ("MPI_Allreduce", "MPI_Isend", "MPI_Recv", "MPI_Sendrecv", "MPI_Test", "MPI_Waitall")


def random_records(seed: int, count: int, *, damaged: float = 0.1) -> Table:
    """Records of a process of a world of four, some of whose fields hold nonsense.

    Args:
        seed: the same one gives the same records.
        count: how many.
        damaged: the share of records with one field of nonsense.
    """
    random = np.random.default_rng(seed)
    rows = np.zeros(count, RECORD_DTYPE)
    begin = MONO_START_NS + 1_000 * np.arange(count) + random.integers(0, 500, count)
    rows["t0_ns"], rows["t1_ns"] = begin, begin + random.integers(0, 900, count)
    rows["kind"] = random.choice([1, 1, 1, 1, 2, 2, *RecordKind], count)
    rows["op"] = random.choice([code_of(name) for name in _CALLS], count)
    rows["tid"] = random.choice([100, 100, 100, 101, 102], count)
    rows["comm"] = random.choice([0, 0, 1, 7, NO_ID], count)
    rows["seq"] = random.choice([0, 1, 2, 9, NO_ID, NO_ID - 2], count)
    rows["peer"] = random.integers(-4, 6, count)
    rows["tag"] = random.integers(-1, 9, count)
    for name in ("sent", "received"):
        rows[name] = random.choice([0, 8, 4096], count)
    rows["request"] = random.integers(0, 5, count)
    rows["t1_ns"][random.random(count) < 0.02] = 0
    swapped = random.permutation(count)[: count // 20]
    rows[np.sort(swapped)] = rows[swapped]
    names = RECORD_DTYPE.names or ()
    for place in np.flatnonzero(random.random(count) < damaged).tolist():
        name = names[int(random.integers(len(names)))]
        bits = np.dtype(RECORD_DTYPE[name]).itemsize * 8
        value = int(random.integers(0, 1 << 63)) >> int(random.integers(0, 63))
        signed = RECORD_DTYPE[name].kind == "i"
        rows[name][place] = value % (1 << (bits - signed))
    return rows


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(random_records(1, 300).tobytes())
