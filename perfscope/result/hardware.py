"""States and hardware counters in the document: POP as other tools print it, IPC, frequency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.metrics.scalability import RunTotals, Variant, run_totals, scalability
from perfscope.replay.dimemas import dimemas_runtime

if TYPE_CHECKING:
    from perfscope.metrics.results import Results

Json = dict[str, Any]
FACTORS = (
    "parallel_efficiency",
    "load_balance",
    "communication_efficiency",
    "serialization_efficiency",
    "transfer_efficiency",
)


def hardware(results: Results) -> Json | None:
    """What a trace with states tells of computing; None for other traces.

    `variants` has the efficiencies by the formula of each tool, over the state Running.
    """
    trace = results.trace
    if any(rank.compute is None for rank in trace.ranks):
        return None
    ideal = dimemas_runtime(trace)
    totals = run_totals(trace, ideal.value)
    if totals is None:
        return None
    return {
        "runtime_s": totals.runtime_s,
        "ideal_runtime_s": ideal.as_json(),
        "useful_s_by_rank": list(totals.useful_s),
        "outside_mpi_s_by_rank": list(totals.outside_s),
        "instructions": totals.instructions,
        "cycles": totals.cycles,
        "ipc": totals.ipc,
        "frequency_hz": totals.frequency_hz,
        "variants": {variant.value: _factors(totals, variant) for variant in Variant},
    }


def _factors(totals: RunTotals, variant: Variant) -> Json:
    [row] = scalability([totals], variant=variant)
    return {name: getattr(row, name).as_json() for name in FACTORS}
