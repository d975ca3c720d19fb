"""What the replay told of a made-up run."""

from typing import Any

from tests.report.sample_parts import Shape

Json = dict[str, Any]


def causes(shape: Shape, window: float) -> Json:
    """Critical path, delay costs and who waited for whom."""
    ranks, size = shape.ranks, max(1, -(-shape.ranks // 16))
    blocks = -(-ranks // size)
    waits = window * 0.01
    pairs = [{"waiter": r, "cause": 0, "seconds": waits} for r in range(1, min(ranks, 101))]
    place = {"file": "examples/train.py", "line": 212, "function": "evaluate"}
    return {
        "critical_path": {
            "seconds": window,
            "work_s": window * 0.9,
            "transfer_s": window * 0.1,
            "by_rank": [
                {"rank": r, "work_s": window * 0.9 / ranks, "transfer_s": window * 0.1 / ranks}
                for r in range(min(ranks, 64))
            ],
            "ranks": ranks,
            "by_phase": [
                {"phase": "forward", "seconds": window * 0.6},
                {"phase": "", "seconds": window * 0.3},
            ],
            "by_operation": [{"name": "MPI_Allreduce", "seconds": window * 0.1}],
            "by_line": [{**place, "seconds": window * 0.5}],
        },
        "delay_costs": {
            "waiting_s": waits * max(ranks - 1, 0),
            "direct_s": waits * max(ranks - 1, 0) * 0.9,
            "indirect_s": waits * max(ranks - 1, 0) * 0.1,
            "unattributed_s": 0.0,
            "causes": [
                {
                    "rank": 0,
                    "phase": "evaluate",
                    "direct_s": waits * max(ranks - 1, 0) * 0.9,
                    "indirect_s": waits * max(ranks - 1, 0) * 0.1,
                    "share": 1.0,
                }
            ],
            "causes_left_out": 0,
        },
        "waits": {
            "pairs": pairs[:100],
            "pairs_left_out": max(0, ranks - 101),
            "left_out_s": 0.0,
            "ranks_per_block": size,
            "blocks_s": [[waits * size] + [0.0] * (blocks - 1) for _ in range(blocks)],
        },
        "by_step": [
            {
                "first": 0,
                "count": shape.steps,
                "work_s": window * 0.9,
                "transfer_s": window * 0.1,
                "waiting_s": 0.0,
                "direct_s": 0.0,
                "indirect_s": 0.0,
                "unattributed_s": 0.0,
                "cause": None,
            }
        ],
    }


def wait_states(waits: list[float]) -> list[Json]:
    """Kinds of waiting that add up to the waits of all ranks."""
    whole = sum(waits)
    return [
        {
            "kind": kind,
            "seconds": whole * share,
            "by_rank": [{"rank": rank, "seconds": whole * share}],
            "left_out_s": 0.0,
        }
        for kind, share, rank in (("n_to_n", 0.75, 0), ("polling", 0.25, None))
        if whole
    ]


def collective_cost(shape: Shape) -> Json:
    """Bandwidth and cost of allreduces."""
    return {
        "classes": [
            {
                "name": "MPI_Allreduce",
                "ranks": shape.ranks,
                "calls": shape.steps,
                "size_bytes": 1 << 22,
                "seconds": 0.004,
                "algorithm_bytes_per_s": 1e9,
                "bus_bytes_per_s": 1.5e9,
                "of_best": 1.0,
            }
        ],
        "classes_left_out": 3,
        "fits": [
            {
                "name": "MPI_Allreduce",
                "ranks": shape.ranks,
                "calls": shape.steps,
                "least_bytes": 1 << 10,
                "most_bytes": 1 << 22,
                "latency_s": 2e-5,
                "latency_interval_s": [1e-5, 3e-5],
                "bytes_per_s": 1.5e9,
                "bytes_per_s_interval": [1.4e9, 1.6e9],
                "typical_error": 0.07,
                "pieces": [
                    {
                        "latency_s": 2e-5,
                        "latency_interval_s": [1e-5, 3e-5],
                        "bytes_per_s": 3.5e9,
                        "bytes_per_s_interval": [3.4e9, None],
                        "typical_error": 0.05,
                    },
                    {
                        "latency_s": 9e-5,
                        "latency_interval_s": [8e-5, 1e-4],
                        "bytes_per_s": 1.5e9,
                        "bytes_per_s_interval": [1.4e9, 1.6e9],
                        "typical_error": 0.07,
                    },
                ],
                "pieces_meet_at_bytes": [65536.0],
            }
        ],
        "reason": None,
        "allreduce": [
            {
                "size_bytes": 1 << 22,
                "ranks": shape.ranks,
                "ring_s": 0.004,
                "recursive_doubling_s": 0.006,
                "rabenseifner_s": None,
                "tree_s": 0.012,
                "hierarchical_s": None,
                "hierarchical_put_s": None,
                "torus": {"seconds": 0.003, "x": 2, "y": 2},
                "tori": [{"seconds": 0.003, "x": 2, "y": 2}],
            }
        ],
        "allreduce_measured_s": 0.0041,
        "fusion": {
            "calls": 400,
            "groups": 20,
            "most_bytes": 64 << 20,
            "seconds": 0.08,
            "latency_s": 0.06,
            "is_dominant": True,
            "saved_s": 0.057,
        },
        "assumptions": ["All links are as fast as those of this run."],
    }
