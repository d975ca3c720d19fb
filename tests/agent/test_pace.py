"""Looks are as frequent as asked for, unless they cost too much or the run is long."""

import numpy as np
import pytest

from perfscope.agent.perfscope_agent import blocked, pace
from perfscope.agent.perfscope_agent.pace import Budget, Meetings, Pace, Waits
from perfscope.agent.perfscope_agent.places import is_loading


def paced(cost_s: float, until_s: float, hz: float = 50.0) -> tuple[Pace, int]:
    """The pace after so many seconds of looks at one price, and how many these were."""
    pace, now_s, count = Pace(hz), 0.1, 0
    while now_s < until_s:
        pace.looked(cost_s, now_s)
        now_s += pace.wait_s()
        count += 1
    return pace, count


def test_cheap_looks_are_as_frequent_as_asked_for() -> None:
    pace, count = paced(0.00005, 60.0)
    assert pace.period_s == pytest.approx(0.02)
    assert count == pytest.approx(60 / 0.025, rel=0.02)
    assert paced(0.00005, 60.0, hz=2.0)[0].period_s == pytest.approx(0.5)


@pytest.mark.parametrize("cost_s", [0.0003, 0.001])
def test_dear_looks_take_a_bounded_part_of_a_core(cost_s: float) -> None:
    _, count = paced(cost_s, 100.0)
    assert count * cost_s <= 0.03 + 0.0025 * 100.0 + 2 * cost_s
    assert count * cost_s >= 0.6 * 0.0025 * 100.0


def test_a_dear_start_does_not_make_later_looks_rare() -> None:
    """What later looks take keeps to the bound; what the start took beyond it stays."""
    pace, spent_s, start_s, late = Pace(50.0), 0.0, 0.0, 0
    now_s = 0.1
    while now_s < 20.0:
        cost_s = 0.001 if now_s < 1.0 else 0.0001
        spent_s, late = spent_s + cost_s, late + (now_s > 5.0)
        start_s = spent_s if now_s < 1.0 else start_s
        pace.looked(cost_s, now_s)
        now_s += pace.wait_s()
    assert late / 15.0 >= 0.8 * 0.0025 / 0.0001
    assert spent_s <= start_s + 0.0025 * 20.0


def test_loading_modules_leaves_looks_for_what_comes_next() -> None:
    """A second of imports, each look at them dear, and then the work."""
    pace, now_s, work = Pace(50.0), 0.1, 0
    while now_s < 2.0:
        pace.is_loading = now_s < 1.0
        pace.looked(0.001 if pace.is_loading else 0.0003, now_s)
        now_s += pace.wait_s()
        work += now_s >= 1.0
    assert work >= 0.8 * 1.0 / 0.025


def test_a_program_that_works_while_it_is_loaded_is_no_loading() -> None:
    """`import train`, where `train.py` calls its own `main()` at the end."""
    text = "def main(): pass"
    loader, module, library = (
        compile(text, file, "exec")
        for file in ("<frozen importlib._bootstrap>", "/job/train.py", "/x/site-packages/a.py")
    )
    main, helper = (code.co_consts[0] for code in (module, library))
    around = [(module, 0), (loader, 0), (module, 0)]
    assert is_loading(around)
    assert is_loading([(helper, 0), (library, 0), *around])
    assert not is_loading([(main, 0), *around])
    assert not is_loading([(helper, 0), (main, 0), *around])
    assert is_loading([(library, 0), (loader, 0), (main, 0), *around])


def test_looks_are_told_together_once_a_second() -> None:
    assert [Pace(hz).together() for hz in (50.0, 10.0, 2.0)] == [50, 10, 2]
    alone, beside = Pace(50.0), Pace(50.0)
    waits = [beside.wait_s(following) for following in range(5)]
    beside.looked(0.0001 * 5, 1.0, 5)
    for wait_s in waits:
        assert alone.wait_s() == wait_s
        alone.looked(0.0001, 1.0)
    assert (alone.wait_s(), alone.period_s) == (beside.wait_s(), beside.period_s)


@pytest.mark.parametrize("loop_ns", [8_000_000, 20_000_000, 24_900_000, 25_000_000, 70_000_000])
@pytest.mark.parametrize("keeps_lock", [False, True])
def test_halves_of_a_loop_are_met_alike_whatever_its_period(loop_ns: int, keeps_lock: bool) -> None:
    """Also where each look waits until the first half of the loop is over."""
    pace, due_ns, looked_ns, halves = Pace(50.0), 0, 0, [0, 0]
    for _ in range(3000):
        due_ns = pace.next_due_ns(due_ns, looked_ns)
        until_let_ns = loop_ns // 2 - due_ns % loop_ns
        looked_ns = due_ns + (max(0, until_let_ns) if keeps_lock else 0)
        for moment_ns in pace.moments(due_ns, due_ns, looked_ns):
            halves[moment_ns % loop_ns >= loop_ns / 2] += 1
        pace.looked(0.0, due_ns / 1e9)
    assert halves[0] / sum(halves) == pytest.approx(0.5, abs=0.04)


def test_looks_that_a_long_delay_has_cost_are_passed_over() -> None:
    pace = Pace(50.0)
    after_ns = [pace.next_due_ns(0, looked_ns) - looked_ns for looked_ns in range(0, 10**10, 10**7)]
    assert min(after_ns) >= 0
    assert max(after_ns) <= 4 * 10**7


def test_the_dearest_looks_go_on_twice_a_second() -> None:
    assert paced(0.5, 100.0)[0].period_s == pytest.approx(0.5)


def test_long_runs_are_looked_at_more_rarely() -> None:
    pace = Pace(50.0)
    pace.looked(0.0, 1200.0)
    assert pace.period_s == pytest.approx(0.04)
    pace.looked(0.0, 86400.0)
    assert pace.period_s == pytest.approx(0.1)
    slow = Pace(5.0)
    slow.looked(0.0, 86400.0)
    assert slow.period_s == pytest.approx(0.2)


def test_a_delay_stands_for_the_looks_that_it_has_cost() -> None:
    """As many as would have come in that time, one every 25 ms on an average."""
    pace, made_up = Pace(50.0), {0.001: 0, 0.1: 0, 100.0: 0}
    for _ in range(500):
        for late_s in made_up:
            made_up[late_s] += pace.made_up(late_s)
        pace.looked(0.0, 1.0)
    assert made_up == {0.001: 0, 0.1: pytest.approx(500 * 3.6, rel=0.1), 100.0: 500 * 50}


def test_a_look_counts_where_the_thread_has_stood_and_for_those_that_it_has_delayed() -> None:
    pace, ms = Pace(50.0), 10**6
    assert pace.moments(100 * ms, 101 * ms, 105 * ms) == [101 * ms]
    first, *others = pace.moments(100 * ms, 100 * ms, 180 * ms)
    assert first == 100 * ms
    assert np.diff([first, *others, 180 * ms]) == pytest.approx(80 * ms / len([first, *others]))


def test_looks_are_paid_from_what_the_program_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A main thread that waits for a CPU for nine tenths of an hour has got a tenth of it."""
    waits, waited_ns, now_ns = Waits(), 7, [0]
    monkeypatch.setattr(blocked, "of_thread", lambda *_: f"1 {waited_ns} 2")
    monkeypatch.setattr(pace, "waits", waits)
    monkeypatch.setattr("time.monotonic_ns", lambda: now_ns[0])
    waits.look(42)
    budget = Budget()
    waited_ns, now_ns[0] = waited_ns + 3240 * 10**9, 3600 * 10**9
    waits.look(42)
    assert waits.ns == 3230 * 10**9  # without what a short run may wait
    may_ns = Budget.AT_ONCE_NS + Budget.SHARE * 370e9
    budget.spent_ns = int(may_ns) - 1
    assert budget.is_left()
    budget.spent_ns = int(may_ns) + 1
    assert not budget.is_left()


def test_when_a_look_may_be_taken_again_is_known_beforehand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_ns = [10**12]
    monkeypatch.setattr(pace, "waits", Waits())
    monkeypatch.setattr("time.monotonic_ns", lambda: now_ns[0])
    budget = Budget(4 * Budget.AT_ONCE_NS, times=2)
    budget.spent_ns = 4 * Budget.AT_ONCE_NS
    assert budget.left_at_ns() == 10**12
    budget.spent_ns += 1_000_000
    pace.waits.ns = 10**9  # what the program has waited for CPUs meanwhile is not its own
    assert budget.left_at_ns() == 10**12 + 2 * 10**9
    now_ns[0] = budget.left_at_ns() - 10_000
    assert not budget.is_left()
    now_ns[0] += 20_000
    assert budget.is_left()


def test_waits_are_those_of_one_thread_while_it_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = {1: "5 100 1", 2: "5 9000 1"}
    monkeypatch.setattr(Waits, "FIRST_NS", 0)
    monkeypatch.setattr(blocked, "of_thread", lambda thread_id, _: told[thread_id])
    waits = Waits()
    for thread_id in (1, 2):  # what another one has waited before it came is none of its
        waits.look(thread_id)
    told[2] = "5 9030 1"
    waits.look(2)
    assert waits.ns == 30
    monkeypatch.setattr(blocked, "of_thread", lambda *_: "no such thing")
    waits.look(2)
    assert waits.ns == 30


class Clocks:
    """The two clocks of one host: that of the day, and one that began when the host did."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.day_ns, self.since_ns = 1_800_000_000 * 10**9, 5 * 10**9
        monkeypatch.setattr("time.time_ns", lambda: self.day_ns)
        monkeypatch.setattr("time.monotonic_ns", lambda: self.since_ns)

    def go_on(self, ns: int) -> None:
        self.day_ns, self.since_ns = self.day_ns + ns, self.since_ns + ns


def test_ranks_on_hosts_that_began_at_other_times_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each goes to the next meeting by its own clock, about two a second, and they are the same."""
    came: list[list[int]] = []
    for since_ns in (5 * 10**9, 7_777_777_777):
        clocks, meetings = Clocks(monkeypatch), Meetings()
        clocks.since_ns, begin_ns = since_ns, clocks.day_ns
        came.append([])
        while clocks.day_ns < begin_ns + 100 * 10**9:
            clocks.go_on(meetings.following_ns(clocks.since_ns) - clocks.since_ns)
            assert meetings.has_come()
            came[-1].append(meetings.number)
            assert not meetings.has_come()  # once
            assert meetings.number == 0
        assert 0 not in came[-1]
    assert came[0] == came[1] == list(range(came[0][0], came[0][0] + len(came[0])))
    assert len(came[0]) == pytest.approx(200 / 1.0737, abs=2)


def test_who_comes_late_has_missed_a_meeting(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, meetings = Clocks(monkeypatch), Meetings()
    until_ns = meetings.following_ns(clocks.since_ns) - clocks.since_ns
    clocks.go_on(until_ns)
    while until_ns < 200_000_000:  # to one that is not followed by the next one at once
        until_ns = meetings.following_ns(clocks.since_ns) - clocks.since_ns
        clocks.go_on(until_ns if until_ns < 200_000_000 else 0)
    other = Meetings()
    clocks.go_on(99_000_000)
    assert meetings.has_come()
    clocks.go_on(2_000_000)
    assert not other.has_come()


def test_who_can_afford_fewer_meetings_goes_to_some_of_those_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Looks of 0.15 ms and of 0.75 ms within a thousandth of a core, from the tenth second on."""
    went: list[set[int]] = []
    for cost_ns in (150_000, 750_000):
        clocks, budget = Clocks(monkeypatch), Budget(times=2)
        went.append(set())
        for meeting in range(1, 200):
            clocks.go_on(1 << 29)
            if budget.is_left_for(meeting, cost_ns):
                budget.spent_ns += cost_ns
                went[-1].add(meeting)
        assert budget.spent_ns <= 2 * Budget.AT_ONCE_NS + 0.001 * 200 * 0.54e9
    cheap, dear = went
    assert cheap == set(range(1, 200))
    assert len(dear) >= 0.9 * 200 / 2
    assert all(meeting % 2 == 0 for meeting in dear)
