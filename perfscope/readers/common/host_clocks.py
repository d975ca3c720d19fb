"""Which clocks the ranks of a trace read whose times nobody but its writer could bring together."""

from collections.abc import Collection, Sequence

from perfscope.trace.clocks import UNMEASURED, UNSTATED
from perfscope.trace.model import Rank


def set_clock_domains(ranks: Sequence[Rank], corrected: Collection[int] = ()) -> int:
    """Gives the ranks of each host a clock of their own; returns how many clocks there are.

    `corrected` are the numbers of those whose times the trace itself corrects by measurements.
    """
    hosts: dict[str, int] = {}
    for rank in ranks:
        rank.clock_domain = hosts.setdefault(rank.host, len(hosts))
    if len(hosts) > 1:
        measured = {rank.host for rank in ranks if rank.number in corrected}
        is_corrected = len(measured) >= len(hosts) - 1  # to the clock of the remaining one
        for rank in ranks:
            rank.clock_error_ns = UNSTATED if is_corrected else UNMEASURED
    return len(hosts)
