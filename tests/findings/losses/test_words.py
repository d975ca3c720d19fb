"""What is said of losses that no diagnosis explains."""

from dataclasses import replace

import pytest

from perfscope.findings.core.finding import Gain
from perfscope.findings.losses import turns, words
from perfscope.findings.losses.callees import Callee
from perfscope.findings.losses.groups import Group
from perfscope.losses.cause import LossCause
from perfscope.losses.entry import Entry, Saving
from perfscope.schema.enums import Account, Activity, Basis, LossKind, LossPattern
from perfscope.trace.model import Frame


def title(pattern: LossPattern, ranks: tuple[int, ...], *, world: int = 8) -> str:
    """Of waiting for these ranks of so many, with this pattern over the steps."""
    cause = LossCause(LossKind.WAITING, Account.COMPUTATION)
    entry = Entry(cause=cause, own_ns=0, waiting_ns=10, ranks=ranks, pattern=pattern)
    return words.title(Group("lost", (entry,), Saving(1.0, None, Basis.REPLAY)), range(world))


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


@pytest.mark.parametrize(
    ("ranks", "world", "told"),
    [
        ((1,), 2, "Rank 1 works longer once, and rank 0 waits"),
        ((1, 2), 3, "Each of ranks 1 and 2 works longer once, and rank 0 waits"),
        ((0, 1), 2, "Each rank works longer once, and the other waits"),
        ((), 2, "Now one rank, now another works longer once, and the other waits"),
        ((0, 1, 2), 3, "Each rank works longer once, and the others wait"),
        ((1,), 4, "Rank 1 works longer once, and the others wait"),
    ],
)
def test_who_waits_is_of_the_ranks_that_there_are(
    ranks: tuple[int, ...], world: int, told: str
) -> None:
    assert title(LossPattern.ONCE, ranks, world=world) == told


def test_an_action_begins_with_the_place() -> None:
    cause = LossCause(LossKind.OTHER_WORK, Account.COMPUTATION, activity=Activity.SLEEP)
    frame = Frame("poll", "/job/train.py", 151)
    entry = Entry(cause, 1_200_000_000, 0, (1,), frame=frame, pattern=LossPattern.STATIC)
    told = action(entry, saved_s=1.2)
    assert told.startswith("In poll() (train.py:151): remove the sleep")


def test_a_loop_is_told_only_where_samples_may_show_one() -> None:
    cause = LossCause(LossKind.OTHER_WORK, Account.COMPUTATION, activity=Activity.INTERPRETER)
    frame = Frame("learn", "/job/train.py", 74)
    entry = Entry(cause, 1_000_000_000, 0, (1,), frame=frame, pattern=LossPattern.STATIC)
    group = Group("lost", (entry,), Saving(1.0, None, Basis.REPLAY))
    several, one = (
        words.action(group, Gain(1.0, 0.1), 2, is_one_line=only) for only in (False, True)
    )
    assert several.startswith("In learn() (train.py:74): replace loops over numbers")
    assert one.startswith(
        "In learn() (train.py:74): replace what this one line does for each item, "
    )


@pytest.mark.parametrize(
    ("basis", "told"),
    [
        (Basis.REPLAY, "out of the loop."),
        (Basis.UPPER_BOUND, " Of the 3.00 s that the calls take, 1.00 s is Python code."),
    ],
)
def test_of_a_library_s_function_all_calls_are_what_may_be_saved(basis: Basis, told: str) -> None:
    cause = LossCause(LossKind.OTHER_WORK, Account.COMPUTATION, activity=Activity.INTERPRETER)
    frame = Frame("learn", "/job/train.py", 74)
    entry = Entry(cause, 1_000_000_000, 0, (1,), frame=frame, pattern=LossPattern.STATIC)
    group = Group("lost", (entry,), Saving(1.0, None, Basis.REPLAY))
    merge = Callee("merge of pandas", {1: 0.75}, {1: 3.0}, 1.0)
    called = words.action(group, Gain(1.0, 0.1, basis=basis), 2, callee=merge)
    assert called.startswith("In learn() (train.py:74): call merge of pandas less often, ")
    assert called.endswith(told)
    assert "eplace loops over numbers" not in called
    assert words.title(group, (0, 1), callee=merge) == (
        "merge of pandas takes 3.00 s on rank 1, called in learn() (train.py:74)"
    )


@pytest.mark.parametrize(
    ("calls", "world", "told"),
    [
        ("matplotlib.pause", 1, "draw only every N steps, or once behind the last one."),
        ("matplotlib.pause", 2, "or once behind the last one, and from one rank."),
        ("logging.Logger.debug", 1, "log only every N steps; and format values"),
        ("logging.Logger.debug", 2, "log only every N steps, and from one rank; and format"),
    ],
)
def test_what_is_drawn_is_no_log_and_one_rank_has_no_others(
    calls: str, world: int, told: str
) -> None:
    cause = LossCause(LossKind.OTHER_WORK, Account.COMPUTATION, activity=Activity.LOGGING)
    frame = Frame("main", "/job/orbits.py", 72)
    entry = Entry(cause, 1_200_000_000, 0, (0,), frame=frame, pattern=LossPattern.STATIC)
    group = Group("lost", (entry,), Saving(1.2, None, Basis.REPLAY))
    said = words.action(group, Gain(1.2, 0.1), world, callee=Callee(calls, {0: 1.0}, {0: 1.2}, 1.2))
    assert said.startswith(f"In main() (orbits.py:72), which calls {calls}: ")
    assert told in said


def action(*entries: Entry, saved_s: float, world: int = 4, basis: Basis = Basis.REPLAY) -> str:
    """Of entries that go together, in a run of so many ranks."""
    group = Group("lost", entries, Saving(saved_s, None, basis))
    return words.action(group, Gain(saved_s, 0.1, basis=basis), world)


def by_turns(group: Group, gain: Gain, world: int) -> str:
    """What to do where nobody saw the ranks wait."""
    waited = turns.by_turns(turns.workers(group.entries), gain, world, None)
    return words.action(group, gain, world, waited)


@pytest.mark.parametrize(
    ("ranks", "world", "begins"),
    [
        ((1,), 2, "Rank 0 waits 6.00 s while rank 1 works in serve() (train.py:9). "),
        (
            (0, 1),
            2,
            "On average each rank waits 3.00 s while the other works in serve() (train.py:9). ",
        ),
        (
            (1, 2),
            4,
            "The others together wait 6.00 s while ranks 1 and 2 work in serve() (train.py",
        ),
    ],
)
def test_who_waits_by_turns_for_whom(ranks: tuple[int, ...], world: int, begins: str) -> None:
    cause = LossCause(LossKind.WAITING, Account.COMPUTATION)
    frame = Frame("serve", "/job/train.py", 9)
    entry = Entry(cause, 0, 6_000_000_000, ranks, frame=frame, pattern=LossPattern.SERIAL)
    group = Group("lost", (entry,), Saving(6.0, None, Basis.REPLAY))
    told = by_turns(group, Gain(6.0, 0.1), world)
    assert told.startswith(begins)
    told_s = 3.0 if len(ranks) == world else 6.0
    for seconds, is_more in ((told_s, False), (1.2 * told_s, True)):
        told = by_turns(group, Gain(seconds, 0.1), world)
        assert ("more than this waiting, because data can be sent meanwhile. " in told) is is_more
    assert ("do a part of this work as well" in told) is (len(ranks) == 1)
    seen = words.title(group, range(world), meeting=None, workers=turns.workers([entry]))
    alone = "In each step rank 0 waits for the result while rank 1 works in serve() (train.py:9)"
    assert (seen == alone) is (len(ranks) == 1)


def asleep(*ranks: int, own_s: float, line: int = 151) -> Entry:
    cause = LossCause(LossKind.OTHER_WORK, Account.COMPUTATION, activity=Activity.SLEEP)
    frame = Frame("poll", "/job/train.py", line)
    return Entry(cause, int(own_s * 1e9), 0, ranks, frame=frame, pattern=LossPattern.STATIC)


def late(*ranks: int, waiting_s: float) -> Entry:
    cause = LossCause(LossKind.WAITING, Account.COMPUTATION)
    return Entry(cause, 0, int(waiting_s * 1e9), ranks, pattern=LossPattern.WINDOW)


def test_what_several_ranks_spend_is_told_of_each_and_in_their_order() -> None:
    entry = asleep(1, 0, own_s=8.0)
    group = Group("lost", (entry,), Saving(4.0, None, Basis.REPLAY))
    title = "Sleeping takes 4.00 s per rank, in poll() (train.py:151)"
    assert words.title(group, range(4)) == title
    assert action(entry, saved_s=4.0).startswith("In poll() (train.py:151): remove the sleep")
    alone = Group("lost", (asleep(1, own_s=8.0),), Saving(4.0, None, Basis.REPLAY))
    assert words.title(alone, range(4)) == title.replace("4.00 s per rank", "8.00 s on rank 1")


def test_what_is_done_at_one_place_is_told_of_all_who_do_any_of_it() -> None:
    first, rest = asleep(0, own_s=5.0), asleep(0, 1, 2, own_s=4.0)
    assert "other places" not in action(first, rest, saved_s=3.0)
    elsewhere = asleep(0, 1, 2, own_s=6.0, line=9)
    told = action(elsewhere, replace(first, frame=None), saved_s=9.0)
    assert told.endswith(
        " 2.00 s of the 3.67 s is there; the saving is of all places (see evidence)."
    )


@pytest.mark.parametrize(
    ("ranks", "world", "ends"),
    [
        ((0,), 2, "move it to CPUs that nothing else uses."),
        ((1, 0), 2, "The ranks wait 3.00 s each on average for each other."),
    ],
)
def test_how_long_ranks_wait_is_told_where_all_do(
    ranks: tuple[int, ...], world: int, ends: str
) -> None:
    assert action(late(*ranks, waiting_s=6.0), saved_s=6.0, world=world).endswith(f" {ends}")


def test_no_rank_is_named_where_none_is_known() -> None:
    assert title(LossPattern.WINDOW, ()).startswith("Now one rank, now another is slower")


def test_the_place_is_where_the_late_rank_is_and_not_where_others_wait() -> None:
    cause = LossCause(LossKind.WAITING, Account.COMPUTATION)
    frame = Frame("auc", "/job/stream.py", 62)
    late = Entry(cause, 0, 6_280_000_000, (0,), frame=frame, pattern=LossPattern.WINDOW)
    group = Group("lost", (late,), Saving(7.0, None, Basis.REPLAY))
    assert words.title(group, range(2)) == (
        "Rank 0 is slower for a part of the run, in auc() (stream.py:62), and rank 1 waits"
    )
    told = words.action(group, Gain(7.0, 0.2), 2)
    assert told.startswith("In auc() (stream.py:62): give the slow rank less of this work ")
