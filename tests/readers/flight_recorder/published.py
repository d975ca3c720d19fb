"""What the dumps of a hang on 16 GPUs hold, as they were published, written anew by a generator.

Facts of github.com/NVIDIA/nvidia-resiliency-ext, tests/attribution/unit/fr_traces/gpu_error_1st
(Apache-2.0): PyTorch 2.9's recorder beside NCCL 2.27.3. A fault was put on ranks 12 and 14, as the
log beside them says; what the recorder wrote is what the other ranks waited for.
"""

import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FAULTY = (12, 14)
BASE_NS = 1_758_610_505_000_000_000
RANKS = range(16)
NAMES = {
    "A": "_all_gather_base",
    "R": "_reduce_scatter_base",
    "T": "all_to_all",
    "S": "all_reduce",
    "B": "broadcast",
}
WRITTEN = Path(__file__).with_name("written")
QUEUED = (WRITTEN / "queued.txt").read_text(encoding="ascii").splitlines()
"""What each rank had queued and not ended: group, number in it, operation, and when in ms."""
STATUS = (WRITTEN / "status.txt").read_text(encoding="ascii").splitlines()
"""How far each rank was: index of a group, the group where an operation names it, and the last
numbers that were queued and that had ended; NCCL's recorder tells of none that it had begun."""


def _groups() -> Iterator[tuple[int, str, list[int]]]:
    """The process groups of the job, as Megatron-LM makes them of 16 ranks."""
    for number, name in (
        (0, "default_pg"),
        (95, "EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP"),
        (112, "INTRA_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP"),
    ):
        yield number, name, list(RANKS)
    for pair in range(8):
        first = 2 * pair
        yield 35 + pair, "TENSOR_MODEL_PARALLEL_GROUP", [first, first + 1]
        yield 63 + pair, "TENSOR_AND_CONTEXT_PARALLEL_GROUP", [first, first + 1]
        start = 4 * (pair // 2) + pair % 2
        yield 1 + pair, "DATA_PARALLEL_GROUP_WITH_CP", [start, start + 2]
    for four in range(4):
        stage = list(range(4 * four, 4 * four + 4))
        yield 55 + four, "TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP", stage
        yield 71 + four, "EXPERT_MODEL_PARALLEL_GROUP", stage
        yield 91 + four, "EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP", stage
        yield 43 + 3 * four, "PIPELINE_MODEL_PARALLEL_GROUP", list(range(four, 16, 4))
        yield 44 + 3 * four, "EMBEDDING_GROUP", [four, 12 + four]
    for half in range(2):
        ranks = [rank for rank in RANKS if rank % 4 // 2 == half]
        yield 33 + half, "MODEL_PARALLEL_GROUP", ranks
    for rank in RANKS:
        yield 96 + rank, "EXPERT_DATA_PARALLEL_GROUP", [rank]


GROUPS = {number: (name, ranks) for number, name, ranks in _groups()}


def _entry(place: int, told: str, index_of: Mapping[str, int]) -> dict[str, Any]:
    group, number, name, ms = told.split(":")
    is_message = "=" in name
    return {
        "record_id": 80_000 + place,
        "pg_id": index_of[group],
        "process_group": (group, GROUPS[int(group)][0]),
        "thread_name": "pt_main_thread",
        "thread_id": "23437656749760",
        "collective_seq_id": 26 if is_message else int(number),
        "p2p_seq_id": int(number) if is_message else 0,
        "op_id": int(number) + 26 * is_message,
        "profiling_name": f"nccl:{NAMES.get(name, name.replace('=', ' '))}",
        "time_created_ns": BASE_NS + int(ms) * 10**6,
        "input_sizes": [[4096, 1, 5120]],
        "input_dtypes": ["BFloat16"],
        "output_sizes": [[4096, 1, 5120]],
        "output_dtypes": ["BFloat16"],
        "state": "scheduled",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": False,
        "timeout_ms": 600_000 if name == "T" else 180_000,
        "is_p2p": is_message,
    }


def write(place: Path) -> list[Path]:
    """The dumps of the 16 ranks, of the form that PyTorch 2.9 writes."""
    paths = []
    for rank, queued in enumerate(QUEUED):
        config = {
            str(number): {"name": str(number), "desc": name, "ranks": str(ranks)}
            for number, (name, ranks) in GROUPS.items()
            if rank in ranks
        }
        status, index_of = {}, {}
        for told in STATUS[rank].split():
            index, group, *last = told.split(":")
            index_of[group] = int(index)
            status[index] = {
                "last_enqueued_collective": int(last[0]),
                "last_started_collective": -1,
                "last_completed_collective": int(last[1]),
            }
        document = {
            "version": "2.9",
            "pg_config": config,
            "nccl_version": "2.27.3",
            "pg_status": status,
            "entries": [_entry(*one, index_of) for one in enumerate(queued.split())],
        }
        paths.append(place / f"_dump_{rank}")
        paths[-1].write_bytes(pickle.dumps(document, protocol=2))
    return paths
