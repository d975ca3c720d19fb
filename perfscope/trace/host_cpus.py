"""Which CPUs a rank may use."""

import re
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
