"""Sums over a thread that a trace with states and hardware counters gives."""

from perfscope.structures import dataclass

INSTRUCTIONS = "PAPI_TOT_INS"
CYCLES = "PAPI_TOT_CYC"


@dataclass(frozen=True)
class ComputeTotals:
    """How long one thread computed, and what its processor did in that time."""

    useful_ns: int  # in the state Running: outside MPI, I/O, and the tracing tool itself
    outside_ns: int  # outside MPI until its last record, I/O included (M_i of docs/metrics.md)
    instructions: int | None = None  # completed inside `useful_ns`; None without that counter
    cycles: int | None = None  # inside `useful_ns`; None without that counter
