"""Which CPUs a rank may use."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from perfscope.trace.model import Rank


@lru_cache(maxsize=1024)
def cpu_set(text: str) -> frozenset[int]:
    """The CPUs of a list like `0-3,8`; what makes no sense is left out."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part.strip())
        if match:
            cpus.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(cpus)


def may_share(rank: Rank, other: Rank) -> bool:
    """Whether two ranks of a host may run on the same CPU; they may where that is not known."""
    own, others = cpu_set(rank.cpus_allowed), cpu_set(other.cpus_allowed)
    return not own or not others or bool(own & others)


def cpu_shares(ranks: Sequence[Rank]) -> dict[int, float]:
    """CPUs that each rank has if all compute: a CPU is shared by the ranks that may run on it.

    The quota of a control group is shared by all ranks of its host. A rank of which neither CPUs
    nor quota are known is left out.
    """
    on_host = Counter(rank.host for rank in ranks)
    on_cpu: Counter[tuple[str, int]] = Counter()
    for (host, mask), count in Counter((one.host, one.cpus_allowed) for one in ranks).items():
        on_cpu.update(dict.fromkeys(((host, cpu) for cpu in cpu_set(mask)), count))
    shares = {}
    for rank in ranks:
        own = sum(1.0 / on_cpu[rank.host, cpu] for cpu in cpu_set(rank.cpus_allowed))
        limits = own or rank.cpu_count_allowed / on_host[rank.host]
        if rank.cgroup_cpus is not None:
            quota = rank.cgroup_cpus / on_host[rank.host]
            limits = min(limits, quota) if limits else quota
        if limits:
            shares[rank.number] = limits
    return shares
