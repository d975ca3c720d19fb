"""Horovod's timeline in the result documents of made-up runs."""

from tests.report.sample_parts import Json, Shape


def tensors(shape: Shape) -> Json:
    """What a timeline tells of a run in which rank 1 is always last."""
    others = shape.ranks - 2
    return {
        "ranks": list(range(shape.ranks)),
        "window_s": 12.0,
        "negotiations": {
            "count": 320,
            "with_ranks": 80,
            "unfinished": 1,
            "seconds": 4.1,
            "skew_s": 4.02,
            "skew_s_most": 0.0513,
        },
        "reason": None,
        "wait_s_by_rank": {"ALLREDUCE": [1.01, 0.0] + [0.99] * others},
        "last_by_rank": [0, 80] + [0] * others,
        "first_by_rank": [80, 0] + [0] * others,
        "late_s_by_rank": [0.0, 3.9] + [0.0] * others,
        "start_late_s_by_rank": [0.0, 0.12] + [0.0] * others,
        "activities": [
            {"name": "ALLREDUCE", "count": 80, "seconds": 0.0566, "summed_s": 0.3034, "depth": 0},
            {"name": "MPI_ALLREDUCE", "count": 80, "seconds": 0.05, "summed_s": 0.29, "depth": 1},
        ],
        "fusions": {
            "operations": 20,
            "tensors": {"least": 1, "median": 4.0, "most": 4},
            "bytes": None,
        },
        "cycles": 0,
        "tensor_count": 1,
        "tensors": [
            {
                "name": "<script>alert(1)</script>",
                "negotiations": 80,
                "bytes": 4096,
                "skew_s": 4.02,
                "last_rank": 1,
                "last_share": 1.0,
            }
        ],
    }
