"""States and hardware counters in the document: POP as other tools print it, IPC, frequency."""

import numpy as np

from perfscope.metrics.efficiency.hybrid import NO_REPLAY, has_threads
from perfscope.metrics.efficiency.scalability import RunTotals, Variant, run_totals, scalability
from perfscope.metrics.results import Results
from perfscope.replay.dimemas import dimemas_runtime
from perfscope.schema.common import Metric
from perfscope.schema.devices import Hardware, PopFactors
from perfscope.schema.efficiency import POP_FACTORS
from perfscope.units import NS


def hardware(results: Results) -> Hardware | None:
    """What a trace with states tells of computing; None for other traces.

    `variants` has the efficiencies by the formula of each tool, over the state Running.
    """
    trace = results.trace
    known = [rank.compute for rank in trace.ranks if rank.compute is not None]
    if len(known) < len(trace.ranks) or trace.missing_ranks:
        return None
    is_hybrid = has_threads(trace)
    ideal = Metric(None, "s", NO_REPLAY) if is_hybrid else dimemas_runtime(trace)
    waiting_s = _waiting_s(results)
    totals = run_totals(trace, ideal.value, waiting_s=waiting_s)
    if totals is None:
        return None
    return Hardware(
        runtime_s=totals.runtime_s,
        ideal_runtime_s=ideal,
        useful_s_by_rank=tuple(one.useful_ns * NS for one in known),
        useful_s_by_thread=tuple(totals.useful_s) if is_hybrid else None,
        outside_mpi_s_by_rank=tuple(one.outside_ns * NS for one in known),
        waiting_s_by_rank=waiting_s,
        instructions=totals.instructions,
        cycles=totals.cycles,
        ipc=totals.ipc,
        frequency_hz=totals.frequency_hz,
        variants={variant.value: _factors(totals, variant) for variant in Variant},
    )


def _waiting_s(results: Results) -> tuple[float, ...] | None:
    """Waiting of each rank's main thread over the whole trace; None where clocks do not tell."""
    waits = results.waits
    if not waits.clocks.whole_world:
        return None
    main = np.array([rank.main_tid for rank in results.trace.ranks], np.int64)
    counted = waits.known & (waits.pool.tid == main[waits.pool.rank])
    ns = np.bincount(
        waits.pool.rank[counted],
        (waits.need - waits.pool.enter)[counted],
        minlength=len(results.trace.ranks),
    )
    return tuple((1e-9 * ns).tolist())


def _factors(totals: RunTotals, variant: Variant) -> PopFactors:
    [row] = scalability([totals], variant=variant)
    return PopFactors(**{name: getattr(row, name) for name in POP_FACTORS})
