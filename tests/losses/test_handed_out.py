"""What is left of a wait for a rank's own thread, by the closed formula max(M, (W + M) / c) - M."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from perfscope.losses.cause import LossCause
from perfscope.losses.handed_out import begun_earlier
from perfscope.metrics.host.lock_holders import LockHolder
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import Account, Activity, AwaitedThing, EndKind, LossKind
from perfscope.trace.model import Ending, Rank

WAIT = LossCause(LossKind.OTHER_WORK, Account.COMPUTATION, activity=Activity.LOCK)
SECOND = 1_000_000_000


def edits(
    waited_s: float,
    *,
    cpus: int = 2,
    kind: AwaitedThing = AwaitedThing.TASK,
    computes: bool = True,
    ranks_of_host: int = 1,
) -> tuple[Edit, ...]:
    """Of a run of 10 s in which rank 0 waits for a thread of its own."""
    holder = LockHolder(0, kind, 0, "pool-0", None, 0.9, computes=computes)
    numbers = range(ranks_of_host)
    mask = f"0-{cpus - 1}" if cpus else ""
    ended = Ending(EndKind.EXITED)
    ranks = [Rank(number, "a", 0, 0, 0, 0, ended, cpus_allowed=mask) for number in numbers]
    results = SimpleNamespace(
        lock_holders=(holder,),
        trace=SimpleNamespace(ranks=ranks),
        focus=SimpleNamespace(length_ns=10 * SECOND),
    )
    own = np.zeros(ranks_of_host, np.int64)
    own[0] = round(waited_s * SECOND)
    return begun_earlier(cast(Results, results), own, WAIT)


@pytest.mark.parametrize(
    ("waited_s", "cpus", "left_s"),
    [(10.0, 2, 5.0), (6.0, 2, 1.0), (4.0, 2, 0.0), (10.0, 4, 2.5), (9.0, 4, 1.5), (6.0, 1, 6.0)],
)
def test_all_cpus_together_do_what_is_awaited(waited_s: float, cpus: int, left_s: float) -> None:
    (edit,) = edits(waited_s, cpus=cpus)
    assert edit.factor * waited_s == pytest.approx(left_s)
    assert (edit.ranks, edit.activity) == ((0,), Activity.LOCK)


def test_of_two_ranks_on_the_same_two_cpus_each_has_one_and_nothing_is_to_be_had() -> None:
    assert edits(6.0, ranks_of_host=2)[0].factor == 1.0


def test_nothing_is_known_of_work_where_the_cpus_are_not_known() -> None:
    assert edits(6.0, cpus=0) == ()


def test_what_is_in_the_way_or_rests_itself_need_not_be_done() -> None:
    assert edits(6.0, kind=AwaitedThing.LOCK) == ()
    assert edits(6.0, computes=False) == ()
