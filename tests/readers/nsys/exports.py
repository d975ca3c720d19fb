"""Exports of Nsight Systems as tests need them: tables and columns as its releases name them."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

EPOCH_NS = 1_754_324_972_000_000_000
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
COLLECTIVES = "MPI_COLLECTIVES_EVENTS"
RANGES = "NVTX_EVENTS"
SYSTEM_CALLS = "OSRT_API"
COLUMNS = {
    "StringIds": "id value",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs",
    "TARGET_INFO_GPU": "id name totalMemory computeMajor computeMinor",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid",
    "TARGET_INFO_SYSTEM_ENV": "name value",
    KERNELS: "start end deviceId streamId correlationId globalPid demangledName shortName",
    COPIES: "start end deviceId streamId correlationId globalPid bytes copyKind",
    CALLS: "start end globalTid correlationId nameId",
    RANGES: "start end globalTid eventType text textId domainId binaryData",
    COLLECTIVES: "start end globalTid textId commHandle rootRank size recvSize",
    "MPI_P2P_EVENTS": "start end globalTid textId commHandle tag remoteRank size",
    "MPI_START_WAIT_EVENTS": "start end globalTid textId requestHandle",
    "MPI_RANK": "globalPid rank",
    "MPI_COMMUNICATORS": "rank commHandle size",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": "domainId schemaId idx type name offset",
    SYSTEM_CALLS: "start end globalTid nameId nestingLevel",
}
STRINGS = {
    1: "gemm_kernel",
    2: "void cutlass::gemm_kernel<float>(Params)",
    3: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)",
    4: "cudaLaunchKernel_v7000",
    5: "cudaStreamSynchronize_ptsz_v7000",
    6: "MPI_Allreduce",
    7: "MPI_Waitall",
    8: "MPI_Send",
    9: "read",
    10: "poll",
}
MS = 1_000_000


def serialized(pid: int, tid: int | None = None) -> int:
    """A process or thread as exports number them."""
    return (1 << 48) | (pid << 24) | (pid if tid is None else tid)


def write_export(path: Path, tables: Mapping[str, Sequence[Sequence[object]]]) -> Path:
    """Writes an export with some tables; texts and the start of the session always stand in it."""
    always: Mapping[str, Sequence[Sequence[object]]] = {
        "StringIds": list(STRINGS.items()),
        "TARGET_INFO_SESSION_START_TIME": [(EPOCH_NS,)],
    }
    with sqlite3.connect(path) as connection:
        for name, rows in {**always, **tables}.items():
            columns = COLUMNS[name].split()
            told = ", ".join(f'"{column}"' for column in columns)
            connection.execute(f'CREATE TABLE "{name}" ({told})')
            marks = ", ".join("?" * len(columns))
            whole = [(*row, *[None] * (len(columns) - len(row))) for row in rows]
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', whole)
    connection.close()
    return path


def steps_of(pid: int, *, late_ms: int = 0, steps: int = 4) -> dict[str, list[tuple[object, ...]]]:
    """A process of steps of 10 ms: a kernel of 4 ms, then an allreduce that ends at 8 ms.

    Args:
        pid: the process.
        late_ms: by how much later than at 4 ms it enters the allreduce.
        steps: how many.
    """
    tables: dict[str, list[tuple[object, ...]]] = {
        name: [] for name in (KERNELS, CALLS, RANGES, COLLECTIVES)
    }
    thread = serialized(pid)
    for step in range(steps):
        begin, number = step * 10 * MS, step + 1
        kernel = (begin + MS, begin + 5 * MS, 0, 7, number, serialized(pid, 0), 2, 1)
        tables[KERNELS].append(kernel)
        tables[CALLS].append((begin + MS // 2, begin + MS, thread, number, 4))
        tables[RANGES].append((begin, begin + 9 * MS, thread, 59, f"step {step}", None, 0))
        entered = begin + (4 + late_ms) * MS
        tables[COLLECTIVES].append((entered, begin + 8 * MS, thread, 6, 99, None, 64, 64))
    return tables
