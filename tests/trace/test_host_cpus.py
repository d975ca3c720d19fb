"""CPUs that each rank has when all compute."""

import pytest

from perfscope.schema.enums import EndKind
from perfscope.trace.host_cpus import cpu_shares
from perfscope.trace.model import Ending, Rank

ENDED = Ending(EndKind.EXITED)


@pytest.mark.parametrize(
    ("masks", "quota", "shares"),
    [
        (("0-1", "2-3"), None, {0: 2.0, 1: 2.0}),
        (("0-1", "0-1"), None, {0: 1.0, 1: 1.0}),
        (("0-3", "0-1"), None, {0: 3.0, 1: 1.0}),
        (("0-3", "4-7"), 6.0, {0: 3.0, 1: 3.0}),
        (("", ""), 4.0, {0: 2.0, 1: 2.0}),
        (("", "0"), None, {1: 1.0}),
    ],
)
def test_a_cpu_is_shared_by_the_ranks_that_may_run_on_it(
    masks: tuple[str, str], quota: float | None, shares: dict[int, float]
) -> None:
    ranks = [
        Rank(number, "host", 0, 0, 0, 0, ENDED, cpus_allowed=mask, cgroup_cpus=quota)
        for number, mask in enumerate(masks)
    ]
    assert cpu_shares(ranks) == pytest.approx(shares)


def test_ranks_of_another_host_take_no_share() -> None:
    ranks = [
        Rank(number, f"host{number}", 0, 0, 0, 0, ENDED, cpus_allowed="0-3") for number in range(2)
    ]
    assert cpu_shares(ranks) == {0: 4.0, 1: 4.0}
