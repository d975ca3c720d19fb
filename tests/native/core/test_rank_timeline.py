"""What the engine says of a rank's moments, against the plainest possible oracle."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfscope import _core
from perfscope.attribution.ledger import INDEX
from perfscope.attribution.timeline import ACCOUNT_RULES
from perfscope.attribution.together import call_columns
from perfscope.matching.intervals import NOTHING, innermost_layer
from perfscope.schema.enums import Account, PhaseKind
from perfscope.trace.model import OPERATION_DTYPE

LATEST = 60
Interval = tuple[int, int]
moments = st.integers(0, LATEST)
intervals = st.tuples(moments, st.integers(0, 25)).map(lambda p: (p[0], p[0] + p[1]))
phases = st.lists(st.tuples(intervals, st.sampled_from(sorted(PhaseKind))), max_size=6)

SPECIAL = {
    PhaseKind.CHECKPOINT: Account.CHECKPOINT,
    PhaseKind.EVALUATE: Account.EVALUATION,
    PhaseKind.PREDICT: Account.EVALUATION,
    PhaseKind.INPUT: Account.INPUT_WAIT,
}
TRAINING = (PhaseKind.TRAIN, PhaseKind.FORWARD, PhaseKind.BACKWARD, PhaseKind.OPTIMIZER)


@st.composite
def calls(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Enter, need and leave of calls that come one after the other."""
    found, at = [], draw(moments)
    for _ in range(draw(st.integers(0, 5))):
        need = at + draw(st.integers(0, 5))
        leave = need + draw(st.integers(0, 5))
        found.append((at, need, leave))
        at = leave + draw(st.integers(0, 6))
    return found


def column(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


def covers(interval: Interval, moment: int) -> bool:
    return interval[0] <= moment < interval[1]


def innermost(of: list[tuple[Interval, int]], moment: int) -> int:
    here = [(s, -e, i) for i, ((s, e), _) in enumerate(of) if s <= moment < e]
    return of[max(here)[2]][1] if here else NOTHING


def account_at(
    moment: int,
    marks: list[tuple[Interval, PhaseKind]],
    steps: list[Interval],
    called: list[tuple[int, int, int]],
    focus: Interval,
) -> Account:
    """docs/metrics.md, section 0, without samples."""
    if moment < focus[0]:
        return Account.START_UP
    if moment >= focus[1]:
        return Account.SHUTDOWN
    for enter, need, leave in called:
        if enter <= moment < leave:
            waits = moment < need
            return Account.COMMUNICATION_WAIT if waits else Account.COMMUNICATION_TRANSFER
    here = {kind for interval, kind in marks if covers(interval, moment)}
    if PhaseKind.COMMUNICATION in here:
        return Account.COMMUNICATION_OTHER

    def trains(interval: Interval, kind: PhaseKind) -> bool:
        return kind is PhaseKind.PREDICT and any(covers(step, interval[0]) for step in steps)

    special = [
        (interval, INDEX[SPECIAL[kind]])
        for interval, kind in marks
        if kind in SPECIAL and not trains(interval, kind)
    ]
    if (found := innermost(special, moment)) != NOTHING:
        return tuple(Account)[found]
    in_training = any(covers(i, moment) and (k in TRAINING or trains(i, k)) for i, k in marks)
    in_training = in_training or any(covers(step, moment) for step in steps)
    for is_here, account in (
        (PhaseKind.IO in here, Account.IO),
        (PhaseKind.DEVICE_WAIT in here, Account.DEVICE_WAIT),
        (in_training, Account.TRAINING),
        (PhaseKind.USER in here, Account.USER_PHASES),
    ):
        if is_here:
            return account
    return Account.UNTRACED


@given(phases, st.lists(intervals, max_size=3), calls(), intervals)
def test_each_moment_has_the_account_of_the_definition(
    marks: list[tuple[Interval, PhaseKind]],
    steps: list[Interval],
    called: list[tuple[int, int, int]],
    focus: Interval,
) -> None:
    nothing = (column([]), column([]))
    enter, need, leave = (column([call[part] for call in called]) for part in range(3))
    transfer = INDEX[Account.COMMUNICATION_TRANSFER]
    boundaries, accounts, named, stacks = _core.rank_timeline(
        rules=ACCOUNT_RULES,
        marks=(
            column([start for (start, _), _ in marks]),
            column([end for (_, end), _ in marks]),
            column(list(range(len(marks)))),
            np.array([kind for _, kind in marks], np.uint16),
        ),
        steps=(column([start for start, _ in steps]), column([end for _, end in steps])),
        calls=(enter, need, leave, column([transfer] * len(called))),
        wait=INDEX[Account.COMMUNICATION_WAIT],
        sampled=(nothing,) * 4,
        life=(0, LATEST, *focus, INDEX[Account.UNTRACED]),
        detail_end=None,
    )
    assert (boundaries[0], boundaries[-1]) == (0, LATEST)
    assert np.all(np.diff(boundaries) > 0)
    assert np.all(stacks == NOTHING)
    places = [(interval, place) for place, (interval, _) in enumerate(marks)]
    for moment in range(LATEST):
        segment = int(np.searchsorted(boundaries, moment, side="right")) - 1
        found = tuple(Account)[accounts[segment]]
        assert found is account_at(moment, marks, steps, called, focus), moment
        assert named[segment] == innermost(places, moment)


@given(calls(), st.lists(intervals, max_size=3), st.data())
def test_time_between_calls_is_cut_at_phases_and_told_by_its_neighbors(
    called: list[tuple[int, int, int]], marked: list[Interval], data: st.DataObject
) -> None:
    rows = np.zeros(len(called), OPERATION_DTYPE)
    rows["t0"], rows["t1"] = [c[0] for c in called], [c[2] for c in called]
    rows["op"] = [data.draw(st.integers(1, 2)) for _ in called]
    rows["tid"] = 7
    layer = innermost_layer(
        column([start for start, _ in marked]),
        column([end for _, end in marked]),
        column(list(range(len(marked)))),
    )
    start, end, kind, in_phase = _core.free_time(
        call_columns(rows), 7, 0, LATEST, (layer.starts, layer.values)
    )
    same_start, same_end, alike, same_phase = _core.free_time(
        call_columns(rows), 7, 0, LATEST, (layer.starts, layer.values), tells_kinds=False
    )
    assert (same_start.tolist(), same_end.tolist()) == (start.tolist(), end.tolist())
    assert same_phase.tolist() == in_phase.tolist()
    assert not any(alike)
    moments = st.lists(st.tuples(st.integers(-2, LATEST + 2), st.integers(-2, LATEST + 2)))
    asked = data.draw(moments)
    since, until = (column([one[place] for one in asked]) for place in (0, 1))
    longest = _core.longest_free(
        call_columns(rows), 7, 0, LATEST, (layer.starts, layer.values), since, until
    )
    for first, last, place, begin, behind in zip(
        since.tolist(), until.tolist(), *(one.tolist() for one in longest), strict=True
    ):
        inside = [i for i in range(len(start)) if end[i] > first and start[i] < last]
        wanted = max(inside, key=lambda i: int(end[i] - start[i]), default=-1)
        assert place == wanted
        assert place < 0 or (begin, behind) == (start[place], end[place])
    in_call = [any(enter <= m < leave for enter, _, leave in called) for m in range(LATEST)]
    covered = [bool(np.any((start <= m) & (m < end))) for m in range(LATEST)]
    assert covered == [not inside for inside in in_call]
    numbers: dict[tuple[int, ...], int] = {}
    for s, e, number, inside in zip(
        start.tolist(), end.tolist(), kind.tolist(), in_phase.tolist(), strict=True
    ):
        phase = int(layer.at(column([s]))[0])
        assert np.all(layer.at(np.arange(s, e)) == phase)
        assert bool(inside) == (phase != NOTHING)
        long = [c for c in range(len(called)) if called[c][2] > called[c][0]]
        before = max((c for c in long if called[c][2] <= s), default=None)
        after = min((c for c in long if called[c][0] >= e), default=None)
        neighbors = [0 if c is None else int(rows["op"][c]) for c in (before, after)]
        likeness = (*neighbors, phase, int(math.log2(e - s) / 2))
        assert numbers.setdefault(likeness, number) == number
    assert [numbers[one] for one in sorted(numbers)] == list(range(len(numbers)))
