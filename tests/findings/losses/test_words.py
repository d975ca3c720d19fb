"""What is said of losses that no diagnosis explains."""

import pytest

from perfscope.findings.losses import words
from perfscope.findings.losses.groups import Group
from perfscope.losses.cause import LossCause
from perfscope.losses.entry import Entry, Saving
from perfscope.schema.enums import Account, Activity, Basis, LossKind, LossPattern
from perfscope.trace.model import Frame


def title(pattern: LossPattern, ranks: tuple[int, ...]) -> str:
    """Of waiting for these ranks, with this pattern over the steps."""
    cause = LossCause(LossKind.WAITING, Account.COMPUTATION)
    entry = Entry(cause=cause, own_ns=0, waiting_ns=10, ranks=ranks, pattern=pattern)
    return words.title(Group("lost", (entry,), Saving(1.0, None, Basis.REPLAY)))


@pytest.mark.parametrize(
    ("pattern", "one", "several"),
    [
        (LossPattern.STATIC, "Rank 2 works longer", "Ranks 2 and 5 work longer"),
        (LossPattern.BURSTS, "Rank 2 works much longer", "Each of ranks 2 and 5 works much longer"),
        (LossPattern.WINDOW, "Rank 2 is slower", "Each of ranks 2 and 5 is slower"),
        (LossPattern.ONCE, "Rank 2 works longer once", "Each of ranks 2 and 5 works longer once"),
    ],
)
def test_verbs_agree_with_the_number_of_ranks(pattern: LossPattern, one: str, several: str) -> None:
    assert title(pattern, (2,)).startswith(one)
    assert title(pattern, (2, 5)).startswith(several)


def test_an_action_begins_with_what_was_seen() -> None:
    cause = LossCause(LossKind.OTHER_WORK, Account.COMPUTATION, activity=Activity.SLEEP)
    frame = Frame("poll", "/job/train.py", 151)
    entry = Entry(cause, 1_200_000_000, 0, (1,), frame=frame, pattern=LossPattern.STATIC)
    told = words.action(Group("lost", (entry,), Saving(1.0, None, Basis.REPLAY)))
    assert told.startswith("Rank 1 spends 1.20 s in poll() (train.py:151). Wait on the event ")


def test_no_rank_is_named_where_none_is_known() -> None:
    assert title(LossPattern.WINDOW, ()).startswith("Now one rank, now another is slower")
