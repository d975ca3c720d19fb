"""Kineto traces of any size, laid out as PyTorch's profiler writes them."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

KERNELS_PER_STEP = 200
EVENTS_PER_KERNEL = 5
US_PER_KERNEL = 20
RANKS = 2
COMPUTE_STREAM, TALK_STREAM = 7, 20
HEAD_BYTES = 4096
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
NCCL_ARGUMENTS = (
    ', "Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, '
    '"Group size": 2, "dtype": "Float", "Process Group Name": "0"'
)
SHAPE = (
    '      "registers per thread": 32, "shared memory": 0, "blocks per SM": 1.185185, '
    '"warps per SM": 4.740741, "grid": [128, 1, 1], "block": [128, 1, 1], '
    '"est. achieved occupancy %": 7'
)


def write_rank(
    path: Path,
    rank: int,
    events: int,
    kernels_per_step: int = KERNELS_PER_STEP,
    ranks: int = RANKS,
) -> None:
    """A rank that trains: per kernel an operator, its launch, two ends of a flow and the kernel.

    Args:
        path: the file to write.
        rank: its number.
        events: about how many events it gets.
        kernels_per_step: how many of them run in a step.
        ranks: how many ranks there are.
    """
    steps = max(events // (kernels_per_step * EVENTS_PER_KERNEL), 2)
    with path.open("w", encoding="ascii") as file:
        file.write(_head(rank, rank, ranks))
        for step in range(steps):
            file.writelines(_step(rank, step, kernels_per_step))
        file.write('  {"ph": "M", "name": "process_name", "pid": 100, "args": {"name": "end"}}\n')
        file.write('  ],\n  "traceName": "benchmark.json"\n}\n')


def write_like(path: Path, first: Path, rank: int, ranks: int) -> None:
    """A rank that does what rank 0 did, on a device that has the same number for it.

    What both files have in common takes no space again where a file system shares blocks.
    """
    with path.open("wb") as file, first.open("rb") as source:
        file.write(_head(rank, 0, ranks).encode("ascii"))
        file.flush()
        left = first.stat().st_size - HEAD_BYTES
        source.seek(HEAD_BYTES)
        while left:
            left -= os.copy_file_range(source.fileno(), file.fileno(), left)


def _head(rank: int, device: int, ranks: int) -> str:
    """What stands before the events, filled up with blanks."""
    group = [{"pg_name": "0", "pg_desc": "default_pg", "ranks": list(range(ranks))}]
    info = {"backend": "nccl", "rank": rank, "world_size": ranks, "pg_config": group}
    text = (
        '{\n  "schemaVersion": 1,\n  "baseTimeNanoseconds": 1790000000000000000,\n'
        f'  "deviceProperties": [{{"id": {device}, "name": "benchmark"}}],\n'
        f'  "distributedInfo": {json.dumps(info)},\n  "traceEvents": [\n'
    )
    return text.ljust(HEAD_BYTES)


def _step(rank: int, step: int, kernels: int) -> Iterator[str]:
    start = step * US_PER_KERNEL * kernels
    yield (
        f'  {{\n    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{step}", '
        f'"pid": 100, "tid": 100,\n    "ts": {start}.001, '
        f'"dur": {US_PER_KERNEL * kernels - 1}.998\n  }},\n'
    )
    for place in range(kernels):
        number = step * kernels + place + 1
        ts = start + US_PER_KERNEL * place
        yield _operator(place, ts, number)
        yield _launch(ts + 1, number)
        yield _kernel(rank, place, ts + 5, number)


def _operator(place: int, ts: int, number: int) -> str:
    return (
        f'  {{\n    "ph": "X", "cat": "cpu_op", "name": "aten::op_{place % 60}", '
        f'"pid": 100, "tid": 100,\n    "ts": {ts}.125, "dur": 15.250,\n    "args": {{\n'
        f'      "External id": {number},"Record function id": 0, "Sequence number": {number}, '
        f'"Fwd thread id": 0, "Ev Idx": {number}\n    }}\n  }},\n'
    )


def _launch(ts: int, number: int) -> str:
    return (
        f'  {{\n    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, '
        f'"tid": 100,\n    "ts": {ts}.250, "dur": 4.125,\n    "args": {{\n'
        f'      "External id": {number}, "cbid": 211, "correlation": {number}\n    }}\n  }},\n'
        f'  {{\n    "ph": "s", "id": {number}, "pid": 100, "tid": 100, "ts": {ts}.250,\n'
        f'    "cat": "ac2g", "name": "ac2g"\n  }},\n'
    )


def _kernel(rank: int, place: int, ts: int, number: int) -> str:
    talks = place % 20 == 19
    stream = TALK_STREAM if talks else COMPUTE_STREAM
    name = (
        f"void at::native::vectorized_elementwise_kernel<4, Functor{place % 40}, "
        "std::array<char*, 2ul> >(int, Functor, std::array<char*, 2ul>)"
    )
    return (
        f'  {{\n    "ph": "f", "id": {number}, "pid": {rank}, "tid": {stream}, "ts": {ts}.375,\n'
        f'    "cat": "ac2g", "name": "ac2g", "bp": "e"\n  }},\n'
        f'  {{\n    "ph": "X", "cat": "kernel", "name": "{NCCL if talks else name}", '
        f'"pid": {rank}, "tid": {stream},\n    "ts": {ts}.375, "dur": {24 if talks else 12}.500,\n'
        f'    "args": {{\n      "External id": {number},"queued": 0, "device": {rank}, '
        f'"context": 1, "stream": {stream}, "correlation": {number},\n'
        f"{SHAPE}{NCCL_ARGUMENTS if talks else ''}\n    }}\n  }},\n"
    )
