"""Whether ranks loaded the same batches and divided them among each other, read defensively."""

from collections.abc import Mapping, Sequence

from perfscope.trace.counts import count_under, whole
from perfscope.trace.model import Rank

_LEAST_DIGESTS = 2
"""Different batches that all ranks loaded: one alone may be the same by what a program fills in."""


def are_divided(ranks: Sequence[Rank]) -> bool:
    """Whether all ranks loaded the same batches and each trained on its part of them, in all steps.

    Only then is what a loader tells of each rank the samples of all of them. False where it is not
    known: batches that nobody could compare count on each rank.
    """
    told = [rank.framework("torch").get("divided") for rank in ranks]
    first = _digests(told[0]) if len(told) > 1 else ()
    return len(set(first)) >= _LEAST_DIGESTS and all(
        isinstance(one, Mapping)
        and count_under(one, "ranks") == len(ranks)
        and count_under(one, "steps") > 0
        and one.get("others") == 0
        and _digests(one) == first
        for one in told
    )


def _digests(told: object) -> tuple[int, ...]:
    """Of the batches that a rank loaded, in turn; none where one of them is no digest."""
    found = told.get("digests") if isinstance(told, Mapping) else None
    digests = tuple(map(whole, found)) if isinstance(found, list) else ()
    return digests if all(digests) else ()
