"""One clock for all ranks: how far each process's clock is from that of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfscope.readers.process_file import ProcessFile

WALL_CLOCK_ERROR_NS = 10**9
"""How far the wall clocks of two hosts may be apart; pessimistic, hosts with NTP do better."""


@dataclass(frozen=True)
class Clock:
    """What to add to a process's times to be on the reference's clock, and the possible error."""

    offset_ns: int
    error_ns: int


def domain_of(process: ProcessFile) -> tuple[str, int]:
    """Processes of one domain read the same clock: same boot, same time namespace."""
    return (process.boot_id or f"host {process.host}", process.time_namespace)


def align(
    processes: Sequence[ProcessFile], reference: ProcessFile
) -> tuple[list[Clock], list[str]]:
    """The clock of each process against the reference, and a note where it had to be assumed."""
    home = domain_of(reference)
    first: dict[tuple[str, int], ProcessFile] = {}
    for process in processes:
        first.setdefault(domain_of(process), process)
    origin = reference.real0_ns - reference.mono0_ns
    clocks = []
    for process in processes:
        domain = domain_of(process)
        if domain == home:
            clocks.append(Clock(0, 0))
            continue
        base = first[domain]
        clocks.append(Clock(base.real0_ns - base.mono0_ns - origin, WALL_CLOCK_ERROR_NS))
    if len(first) <= 1:
        return clocks, []
    return clocks, [
        (
            f"The ranks read {len(first)} different clocks, aligned by the hosts' wall clocks and "
            f"not by measurement: times between them may be wrong by {WALL_CLOCK_ERROR_NS / 1e9:g} "
            "s, and wait and transfer between them are not told apart."
        )
    ]
