"""Horovod in the result documents of made-up runs."""

from tests.report.sample_parts import Json, Shape


def horovod(shape: Shape) -> Json:
    """Horovod's thread on each rank; rank 0 waits 50 ms in each step."""
    locations = [
        {
            "rank": rank,
            "thread": 4000 + rank,
            "data_s": 1.25,
            "control_s": 9.5,
            "other_s": 0.0,
            "idle_s": 6.0,
            "control_cycles": 12_345,
            "data_calls": {"MPI_Allreduce": 240},
            "data_bytes": 25_000_000,
            "fusion_bytes": {
                "allreduces": 240,
                "least": 4,
                "median": 104_488.0,
                "most": 104_488,
            },
        }
        for rank in range(shape.ranks)
    ]
    waits = [0.05] + [0.0] * (shape.ranks - 1)
    transfers = [0.002] * shape.ranks
    return {
        "locations": locations,
        "exposed": {
            "reason": None,
            "wait_s_by_rank": [wait * shape.steps for wait in waits],
            "transfer_s_by_rank": [transfer * shape.steps for transfer in transfers],
            "step_wait_s_median_by_rank": waits,
            "step_transfer_s_median_by_rank": transfers,
            "steps": list(range(shape.steps)),
            "step_wait_s": [waits] * shape.steps,
            "step_transfer_s": [transfers] * shape.steps,
        },
    }
