"""Sums over a thread that a trace with states and hardware counters gives."""

from perfscope.structures import dataclass

INSTRUCTIONS = "PAPI_TOT_INS"
CYCLES = "PAPI_TOT_CYC"


@dataclass(frozen=True)
class ComputeTotals:
    """How long one thread computed, and what its processor did in that time.

    Attributes:
        useful_ns: in the state Running: outside MPI, I/O, and the tracing tool itself.
        outside_ns: outside MPI until its last record, I/O included (M_i of docs/metrics.md).
        io_ns: in the state I/O.
        instructions: completed inside `useful_ns`; None without that counter.
        cycles: inside `useful_ns`; None without that counter.
    """

    useful_ns: int
    outside_ns: int
    io_ns: int
    instructions: int | None = None
    cycles: int | None = None
