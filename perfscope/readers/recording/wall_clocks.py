"""Clocks of the processes of a recording, brought together by the wall clocks of their hosts."""

from collections.abc import Sequence

from perfscope.readers.common.clocks import WALL_CLOCK_ERROR_NS
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Clock:
    """What to add to a process's times to be on the reference's clock, and the possible error.

    Processes of one `domain` share it; that of the reference is 0.
    """

    offset_ns: int
    error_ns: int
    domain: int = 0


def domain_of(process: ProcessFile) -> tuple[str, int]:
    """Processes of one domain read the same clock: same boot, same time namespace."""
    return (process.boot_id or f"host {process.host}", process.time_namespace)


def align(processes: Sequence[ProcessFile], reference: ProcessFile) -> list[Clock]:
    """The clock of each process against the reference, as the wall clocks of the hosts have it."""
    home = domain_of(reference)
    first: dict[tuple[str, int], ProcessFile] = {home: reference}
    for process in processes:
        first.setdefault(domain_of(process), process)
    numbers = {domain: number for number, domain in enumerate(first)}
    origin = reference.real0_ns - reference.mono0_ns
    clocks = []
    for process in processes:
        domain = domain_of(process)
        base = first[domain]
        offset = base.real0_ns - base.mono0_ns - origin
        away = domain != home
        clocks.append(Clock(offset * away, WALL_CLOCK_ERROR_NS * away, numbers[domain]))
    return clocks
