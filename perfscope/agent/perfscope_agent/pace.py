"""How often stacks are looked at: often enough for short runs, for a bounded part of a core."""

from __future__ import annotations

_GOLDEN = 0.6180339887
_SHARE = 0.0025
"""Of one core, that looking may take on an average; what it interrupts costs about as much."""
_AT_ONCE_S = 0.01  # the first looks meet every name for the first time
_TOGETHER_S = 0.25  # looks of which Python hears at once
_SLOWEST_S = 0.5
_LONG_RUN_S = 600.0
_LONG_RUN_HZ = 10.0
_MOST_MADE_UP = 50


class Pace:
    """The waits between looks, by what looks have cost and how long the program runs."""

    def __init__(self, hz: float) -> None:
        self._shortest_s = 1.0 / hz
        self._spent_s = 0.0
        self._count = 0
        self.period_s = self._shortest_s

    def looked(self, cost_s: float, age_s: float, count: int = 1) -> None:
        """Takes note of what some looks cost, in a program that has run for so long."""
        self._count += count
        self._spent_s += cost_s
        period_s = self._shortest_s
        if self._spent_s > _AT_ONCE_S + _SHARE * age_s:
            period_s = max(period_s, self._spent_s / self._count / _SHARE)
        if age_s > _LONG_RUN_S:
            # As many samples as in the first minutes are enough for a rare function of a long run.
            rarer_s = self._shortest_s * age_s / _LONG_RUN_S
            period_s = max(period_s, min(rarer_s, max(self._shortest_s, 1.0 / _LONG_RUN_HZ)))
        self.period_s = min(period_s, max(_SLOWEST_S, self._shortest_s))

    def wait_s(self, following: int = 0) -> float:
        """A wait to come: it varies, or a loop of the same period would be caught at one line."""
        return self.period_s * (1.0 + 0.5 * ((self._count + following) * _GOLDEN % 1.0))

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
        return min(_MOST_MADE_UP, int(late_s / (1.25 * self.period_s)))
