"""How often stacks are looked at: often enough for short runs, for a bounded part of a core."""

from __future__ import annotations

import os
import time

from . import blocked, notes

_MAX_HZ = 50.0
_SHARE = 0.0025
"""Of one core, that looking may take on an average; what it interrupts costs about as much."""
_AT_ONCE_S = 0.03  # the first looks meet every name for the first time
_LOADING_HZ = 5.0
"""While modules are loaded: each look meets new names there, and the run is yet to begin."""

_PAYING_BACK = 0.9  # of what looking may take, while more has been taken: the start costs more
_LATELY = 1.0 / 16  # of what one look costs, by the last one: those of the start cost more
_TOGETHER_S = 1.0  # looks of which Python hears at once
_SLOWEST_S = 0.5
_LONG_RUN_S = 600.0
_LONG_RUN_HZ = 10.0
_MOST_MADE_UP = 50
_LEAST_WAIT, _MOST_WAIT = 0.5, 2.0  # of a period
_MEETING_BITS = 29
_MEETING_NS = 1 << _MEETING_BITS
"""One look that all ranks take at a time, in so long."""
_LATE_NS = 100000000  # after a meeting, at most, to be taken for one
_MEAN_WAIT = (_LEAST_WAIT + _MOST_WAIT) / 2


def requested_hz() -> float:
    """Samples a second that the user asked for, 0 off, never above the most that are taken."""
    try:
        return max(0.0, min(_MAX_HZ, float(os.environ.get("PERFSCOPE_STACK_HZ", "") or _MAX_HZ)))
    except ValueError:
        notes.add("PERFSCOPE_STACK_HZ is not a number")
        return _MAX_HZ


class Waits:
    """How long the program's main thread has waited for a CPU since it was first looked at.

    In that time the program got nothing. Were it to count, a program that hardly gets a CPU would
    pay a large part of what it gets for looks. `ns` leaves out as much as a short run may wait,
    which would be looked at too seldom to tell its functions.
    """

    FIRST_NS = 10000000000

    def __init__(self) -> None:
        self.ns = 0
        self._all_ns = 0
        self._seen: tuple[int, int] | None = None  # the thread, and its wait until then

    def look(self, thread_id: int) -> None:
        """Reads how long the thread, by the kernel's number, has waited by now."""
        try:
            total_ns = int(blocked.of_thread(thread_id, "schedstat").split()[1])
        except (OSError, ValueError, IndexError):
            return  # a kernel that does not tell
        if self._seen is not None and self._seen[0] == thread_id:
            self._all_ns += max(0, total_ns - self._seen[1])
            self.ns = max(0, self._all_ns - self.FIRST_NS)
        self._seen = thread_id, total_ns

    def leave(self) -> None:
        """The next look is the first one at another thread."""
        self._seen = None

    def forget(self) -> None:
        """Drops what belongs to the parent, in a forked child."""
        self.ns = self._all_ns = 0
        self._seen = None


waits = Waits()


class Budget:
    """The time that looking at what a program works on may take, of one core."""

    AT_ONCE_NS = 10000000
    SHARE = 0.0005
    """On an average after that."""

    def __init__(self, at_once_ns: int = AT_ONCE_NS, times: int = 1) -> None:
        self.spent_ns = 0
        self._at_once_ns, self._times = at_once_ns, times
        self._begin_ns = time.monotonic_ns() - waits.ns

    def is_left(self) -> bool:
        """Whether one more look may be taken now."""
        return self.spent_ns <= self._at_once_ns + self._later_ns()

    def left_at_ns(self) -> int:
        """From when on one more look may be taken, by the monotonic clock."""
        late_ns = (self.spent_ns - self._at_once_ns) / (self._times * self.SHARE)
        return self._begin_ns + waits.ns + int(late_ns)

    def is_left_for(self, meeting: int, cost_ns: float) -> bool:
        """Whether a look of that cost may be taken now, which is at a meeting unless that is 0.

        Who can afford fewer of them keeps to such as others do not leave out either. Elsewhere
        there are looks at the start, and as many later as leave enough for two meetings.
        """
        later_ns = self._later_ns()
        if not meeting:
            return self.spent_ns <= self._at_once_ns + max(0.0, later_ns - 2 * cost_ns)
        every = 1
        while cost_ns > self._times * self.SHARE * _MEETING_NS * every:
            every *= 2
        return meeting % every == 0 and self.spent_ns <= 2 * self._at_once_ns + later_ns

    def _later_ns(self) -> float:
        age_ns = time.monotonic_ns() - waits.ns - self._begin_ns
        return self._times * self.SHARE * age_ns


class Meetings:
    """Moments at which all ranks of a job look, so that what they see can be compared.

    The clock of the day tells them, and their numbers where in its second each of them is: ranks
    need not say a word to each other, and no period of the program's is met at one line.
    """

    def __init__(self) -> None:
        self._last = 0
        self.number = 0  # of the one that has just come, 0: none has

    def following_ns(self, after_ns: int) -> int:
        """The first one after a moment, both by the monotonic clock."""
        ahead_ns = time.time_ns() - time.monotonic_ns()
        day_ns = after_ns + ahead_ns
        number = day_ns >> _MEETING_BITS
        if _met_at_ns(number) <= day_ns:
            number += 1
        return _met_at_ns(number) - ahead_ns

    def has_come(self) -> bool:
        """Whether one has come that nobody has looked at yet; it is the one of `number`, once."""
        self.number = self._now()
        self._last = self.number or self._last
        return self.number != 0

    def _now(self) -> int:
        day_ns = time.time_ns()
        number = day_ns >> _MEETING_BITS
        if _met_at_ns(number) > day_ns:
            number -= 1
        is_late = day_ns - _met_at_ns(number) > _LATE_NS
        return 0 if is_late or number == self._last else number


def _met_at_ns(number: int) -> int:
    return (number << _MEETING_BITS) + int(_random(number) * _MEETING_NS)


meetings = Meetings()


class Pace:
    """The waits between looks, by what looks have cost and how long the program runs."""

    def __init__(self, hz: float) -> None:
        self._shortest_s = 1.0 / hz
        self._spent_s = self._lately_s = 0.0
        self._count = 0
        self.period_s = self._shortest_s
        self.is_loading = False  # whether the last look met the loading of modules

    def looked(self, cost_s: float, age_s: float, count: int = 1) -> None:
        """Takes note of what some looks cost, in a program that has got so much time by now."""
        # as a mean until there are so many, then with each look fading behind later ones
        self._count += count
        part = min(1.0, max(count / self._count, 1.0 - (1.0 - _LATELY) ** count))
        self._lately_s += part * (cost_s / count - self._lately_s)
        self._spent_s += cost_s
        period_s = self._shortest_s
        if self.is_loading:
            period_s = max(period_s, 1.0 / _LOADING_HZ)
        if self._spent_s > _AT_ONCE_S + _SHARE * age_s:
            period_s = max(period_s, self._lately_s / (_PAYING_BACK * _SHARE * _MEAN_WAIT))
        if age_s > _LONG_RUN_S:
            # As many samples as in the first minutes are enough for a rare function of a long run.
            rarer_s = self._shortest_s * age_s / _LONG_RUN_S
            period_s = max(period_s, min(rarer_s, max(self._shortest_s, 1.0 / _LONG_RUN_HZ)))
        self.period_s = min(period_s, max(_SLOWEST_S, self._shortest_s))

    def wait_s(self, following: int = 0) -> float:
        """A wait to come: it varies, or a loop of the same period would be caught at one line.

        That the waits differ is not enough. If a few of them always came to the same sum, as those
        of an evenly spread sequence do, such a loop would still be.
        """
        spread = _MOST_WAIT - _LEAST_WAIT
        return self.period_s * (_LEAST_WAIT + spread * _random(self._count + following))

    def next_due_ns(self, due_ns: int, looked_ns: int, following: int = 0) -> int:
        """When to look next, after a look that was due at one moment and came at another.

        Waits follow one another whenever a look came: code that keeps the interpreter's lock lets
        others look where it gives the lock away, and a wait from there would be no random one.
        """
        missed = self._missed((looked_ns - due_ns) / 1e9, following)
        wait_s = self.wait_s(following) + missed * _MEAN_WAIT * self.period_s
        return max(looked_ns, due_ns + int(wait_s * 1e9))

    def together(self) -> int:
        """For how many looks Python need not be woken in between."""
        return max(1, int(_TOGETHER_S / self.period_s))

    def moments(self, due_ns: int, stood_ns: int, at_ns: int) -> list[int]:
        """The moments that a look speaks for: its own, and those of the looks that it has delayed.

        A look waits while C code keeps the interpreter's lock. Were it to count once, what such
        code takes would seem shorter than what lets others look. Were it to count when it came,
        what comes next would seem longer: such code lets others look as it begins to wait.

        Args:
            due_ns: when it was due.
            stood_ns: since when the thread has been where it was seen.
            at_ns: when the look came.
        """
        late_ns = at_ns - due_ns
        missed = self.made_up(late_ns / 1e9)
        made_up = [at_ns - late_ns * place // (missed + 1) for place in range(missed, 0, -1)]
        return [stood_ns, *made_up]

    def made_up(self, late_s: float) -> int:
        """How many looks a delay has cost: C code that keeps the interpreter's lock delays them."""
        return min(_MOST_MADE_UP, self._missed(late_s, 1))

    def _missed(self, late_s: float, following: int) -> int:
        left_s = late_s - self.wait_s(following)
        return max(0, -int(-left_s // (_MEAN_WAIT * self.period_s)))


def _random(number: int) -> float:
    """From 0 to 1, without any order from number to number: SplitMix64 (Steele et al., 2014)."""
    mask = (1 << 64) - 1
    mixed = number * 0x9E3779B97F4A7C15 & mask
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & mask
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & mask
    return (mixed ^ mixed >> 31) / 2.0**64


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    waits.leave()
