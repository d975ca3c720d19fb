"""The shape of `hardware` in analysis.json: states and hardware counters."""

from __future__ import annotations

from tests.document.shape_kinds import Map, Maybe

METRIC = "metric"
HARDWARE = Maybe(
    {
        "runtime_s": float,
        "ideal_runtime_s": METRIC,
        "useful_s_by_rank": [float],
        "useful_s_by_thread": Maybe([float]),
        "outside_mpi_s_by_rank": [float],
        "waiting_s_by_rank": Maybe([float]),
        "instructions": Maybe(int),
        "cycles": Maybe(int),
        "ipc": Maybe(float),
        "frequency_hz": Maybe(float),
        "variants": Map(
            dict.fromkeys(
                (
                    "parallel_efficiency",
                    "load_balance",
                    "communication_efficiency",
                    "serialization_efficiency",
                    "transfer_efficiency",
                ),
                METRIC,
            )
        ),
    }
)
