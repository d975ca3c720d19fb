"""Horovod in the result documents of made-up runs, and its timeline."""

from perfscope.schema import horovod as declared

STEPS, RANKS = 240, 2


def horovod() -> declared.Horovod:
    """Horovod's thread on each rank; rank 0 waits 50 ms in each step."""
    sizes = declared.FusionBytes(240, 4, 104_488.0, 104_488)
    calls = {"MPI_Allreduce": 240}
    locations = [
        declared.HorovodLocation(
            rank, 4000 + rank, 1.25, 9.5, 0.0, 6.0, 12_345, calls, 25_000_000, sizes
        )
        for rank in range(RANKS)
    ]
    waits, transfers = (0.05, *[0.0] * (RANKS - 1)), (0.002,) * RANKS
    exposed = declared.HorovodExposed(
        None,
        tuple(wait * STEPS for wait in waits),
        tuple(transfer * STEPS for transfer in transfers),
        waits,
        transfers,
        tuple(range(STEPS)),
        (waits,) * STEPS,
        (transfers,) * STEPS,
    )
    return declared.Horovod(tuple(locations), exposed)


def tensors() -> declared.Tensors:
    """What a timeline tells of a run in which rank 1 is always last."""
    return declared.Tensors(
        tuple(range(RANKS)),
        window_s=12.0,
        negotiations=declared.Negotiations(320, 80, 1, 4.1, 4.02, 0.0513),
        reason=None,
        wait_s_by_rank={"ALLREDUCE": (1.01, 0.0)},
        last_by_rank=(0, 80),
        first_by_rank=(80, 0),
        late_s_by_rank=(0.0, 3.9),
        start_late_s_by_rank=(0.0, 0.12),
        activities=(
            declared.TensorActivity("ALLREDUCE", 80, 0.0566, 0.3034, 0),
            declared.TensorActivity("MPI_ALLREDUCE", 80, 0.05, 0.29, 1),
        ),
        fusions=declared.TensorFusions(20, declared.Spread(1, 4.0, 4), None),
        cycles=0,
        tensor_count=1,
        tensors=(declared.TensorSkew("<script>alert(1)</script>", 80, 4096, 4.02, 1, 1.0),),
    )
