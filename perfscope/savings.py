"""What a change saves, in words: seconds, and their share of wholes that are always named."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.structures import dataclass
from perfscope.units import format_seconds, format_share

PRINTED = 0.01
"""Of seconds, which are told with three digits: two that differ by less look alike."""

SHARED_HOST = (
    "Other processes used CPUs of the job while it was recorded, and what runs beside another run "
    "is not known: no interval is told."
)
"""Why savings have no interval: that of a sum over steps holds for hosts that stay as they were."""

FOLLOWS = "waiting and transfer that end with it"
"""What a saving is beyond what ranks spend."""

LEAST_OWN = 0.1
"""Of a saving: less is not told as a part of it."""

SAME_FROM = 0.9
"""Of the run: of a longer window, two shares that hardly differ would stand beside each other."""


BESIDE_OTHERS = "would turn into waiting for other ranks"
"""What becomes of the part that a change does not save of what it is about takes a rank."""

REPLAYED_HALF = (0.9, 1.8)
"""How many times what a replay predicted the middle half of the fixes saved.

Source: docs/accuracy-programs.md.
"""

BOUNDED_HALF = (0.9, 1.5)
"""The same of savings that are all the time that a fix concerns, with nothing for the new code."""

ROUGHLY = "about "
"""What stands before all the time that a fix concerns: some save less, and some more."""

OR_MORE = " or more"
"""What stands behind seconds that are a part of what a fix saves, as the rest was not measured."""

BY_STEPS = "as its steps vary"
UNDER_ASSUMPTIONS = "under different assumptions"
"""What the ends of a saving come from."""

LEAST_TOLD = 0.02
"""Of what something takes: a smaller part of the rest is not told."""


@dataclass(frozen=True)
class Beside:
    """What is told of a saving beside its seconds."""

    ends: tuple[float, float] | None = None  # that other programs give; None: those of the run
    idle_s: float | None = None  # what is saved on an idle host, of which the ends are then
    condition: str = ""  # under which it is saved


@dataclass(frozen=True)
class Wholes:
    """What a saving is a share of: every percent of one names its whole."""

    # the whole run, from the start of its first process to the end of its last one
    run_s: float | None
    window_s: float | None  # the focus of analysis, called the analyzed window where people read it
    idle_s: float | None = None  # the run on a host that does nothing else, where that is told
    # communication of the rank that has least of it: what may end with work that is not done
    meets_s: float = 0.0

    @property
    def of_run(self) -> "Wholes":
        """The run alone, where its length is known: for what stands beside both shares already."""
        return replace(self, window_s=None) if self.run_s else self

    def shares(self, seconds: float | None) -> str:
        """`27.5 % of the 9.36 s run, 50.9 % of the 5.05 s analyzed window`; "" where unknown."""
        if seconds is None:
            return ""
        is_same = bool(self.run_s and self.window_s and self.window_s >= SAME_FROM * self.run_s)
        parts = ((self.run_s, "run"), (None if is_same else self.window_s, "analyzed window"))
        return ", ".join(
            f"{format_share(seconds / whole)} of the {format_seconds(whole)} {name}"
            for whole, name in parts
            if whole
        )

    def saving(
        self,
        seconds: float,
        *,
        is_bound: bool = False,
        interval: Sequence[float] | None = None,
        is_by_assumption: bool = False,
        is_least: bool = False,
    ) -> str:
        """`2.57 s (27.5 % of the 9.36 s run), 2.50 s to 2.63 s as its steps vary`.

        That of a bound is not told: it is one of what the fault costs, and not of what a fix saves.
        """
        shares = self.shares(seconds)
        roughly = ROUGHLY if is_bound or is_least else ""
        text = f"{roughly}{format_seconds(seconds)}{OR_MORE if is_least else ''}"
        between = "" if is_bound else interval_text(interval, is_by_assumption=is_by_assumption)
        return f"{text}{f' ({shares})' if shares else ''}{between}"

    def odds(
        self,
        seconds: float,
        *,
        is_bound: bool = False,
        interval: Sequence[float] | None = None,
        is_by_assumption: bool = False,
        most_s: float | None = None,
        is_exact: bool = False,
    ) -> tuple[float, float] | None:
        """Between what the middle half of such fixes of other programs saves, in seconds.

        None where that is not the range to tell: where several assumptions give one, and where the
        run itself tells that less may be saved. No upper end is more than the whole that the saving
        is of, nor than `most_s`, all that is lost of its kind; of a bound, which is all that is
        lost of one kind, other time that ends with it comes on top, unless there is none
        (`is_exact`, as of sleep).
        """
        low_s, high_s = (one * seconds for one in (BOUNDED_HALF if is_bound else REPLAYED_HALF))
        least_s = interval[0] if interval and _ends(interval) and not is_bound else low_s
        if least_s < low_s or (is_by_assumption and not is_bound):
            return None
        whole_s = self.idle_s or self.run_s or self.window_s
        is_open = is_bound and not is_exact
        is_end = most_s and (is_more(most_s, seconds) if is_open else most_s >= seconds)
        ends_s = [one for one in (most_s if is_end else None, whole_s) if one and one >= seconds]
        return low_s, min((high_s, *ends_s))

    def fix(
        self,
        seconds: float,
        *,
        is_bound: bool = False,
        interval: Sequence[float] | None = None,
        is_least: bool = False,
        beside: "Beside | None" = None,
    ) -> str:
        """What a fix would save, of one length alone: that of the run, as its rows add up to it.

        `about 2.57 s of the 9.36 s run (27.5 %), likely between 2.31 s and 4.63 s`; `up to 2.57 s
        of ..., at least 2.31 s` where no more can be had. What the range rests on is told
        elsewhere. What is saved on an idle host is told where that is known, as other runs meet
        one: nothing of what the load of others adds counts.
        """
        more = beside or Beside()
        told_s = seconds if more.idle_s is None else more.idle_s
        between = more.ends or (None if is_bound else interval)
        told, ends = f"{ROUGHLY}{format_seconds(told_s)}{OR_MORE if is_least else ''}", ""
        if between and _ends(between):
            low, high = map(format_seconds, between)
            is_most = high == format_seconds(told_s)
            told = f"up to {high}" if is_most else told
            ends = f", at least {low}" if is_most else f", likely between {low} and {high}"
        whole_s, name = self.run_s or self.window_s, "run" if self.run_s else "analyzed window"
        whole = ""
        if whole_s:
            share = format_share(told_s / whole_s)
            whole = f" of the {format_seconds(whole_s)} {name} ({share})"
        return f"{told}{whole}{ends}{more.condition}"

    def loaded(self, seconds: float) -> str:
        """What is evidence where a saving is told of an idle host: that of the run as it was."""
        whole = f", {self.of_run.shares(seconds)}" if self.run_s else ""
        return f"{ROUGHLY}{format_seconds(seconds)}{whole}"


def split_text(seconds: float, own_s: float | None, *, is_bound: bool = False) -> str:
    """`That is 6.75 s of each rank's own time, on average, and 5.65 s of waiting that ...`.

    That a run is shorter is the same for each rank: what ranks, on average, do not spend on it any
    more is a part of that, and the rest is gone from the communication in which they meet. "" where
    nobody asks, or there is no rest.
    """
    if own_s is None or not is_more(seconds, own_s):
        return ""
    if own_s < LEAST_OWN * seconds:
        return f"Nearly all of that is {FOLLOWS}"
    own, roughly = format_seconds(own_s), ROUGHLY if is_bound else ""
    rest = format_seconds(seconds - own_s)
    return f"That is {own} of each rank's own time, on average, and {roughly}{rest} of {FOLLOWS}"


def rest_text(
    seconds: float,
    spent_s: float,
    lead: str,
    *,
    each: str,
    is_bound: bool = False,
    interval: Sequence[float] | None = None,
) -> str:
    """`Of the 10.7 s per rank, 2.24 s would turn into waiting for other ranks`.

    How what something takes a rank leads to what a change of it saves, both as measured: the run
    is shorter by less where a rank then waits for others at work, and by more where others waited.
    `lead` stands behind the seconds that nobody said yet: what they are. "" where the two differ by
    less than the saving is unsure.
    """
    what = f"{format_seconds(spent_s)}{each}{f' {lead}' if lead else ''}"
    if saves_more(seconds, spent_s):
        roughly = ROUGHLY if is_bound else ""
        return f"That is the {what} and {roughly}{format_seconds(seconds - spent_s)} of {FOLLOWS}"
    most_s = interval[1] if interval else seconds
    if max(seconds, most_s) >= (1.0 - LEAST_TOLD) * spent_s:
        return ""
    return f"Of the {what}, {format_seconds(spent_s - seconds)} {BESIDE_OTHERS}"


def saves_more(seconds: float, spent_s: float) -> bool:
    """Whether a change saves more, as it is printed, than what it is about takes a rank."""
    return seconds > spent_s and format_seconds(seconds) != format_seconds(spent_s)


def is_more(seconds: float, own_s: float) -> bool:
    """Whether a saving is told with more seconds than what it comes from."""
    return seconds > own_s * (1.0 + PRINTED)


def interval_text(interval: Sequence[float] | None, *, is_by_assumption: bool = False) -> str:
    """`, 2.50 s to 2.63 s as its steps vary`; "" for none, or one without a width.

    That is what the steps of one run tell of each other, 95 % of it. How much equal runs differ
    they do not tell, nor what else a change does: it is no confidence interval of the saving.
    What lies between savings under several assumptions is no matter of chance, and says so.
    """
    ends = _ends(interval)
    why = UNDER_ASSUMPTIONS if is_by_assumption else BY_STEPS
    return f", {ends} {why}" if ends else ""


def _ends(interval: Sequence[float] | None) -> str:
    """Both ends; "" for no interval, or one without a width."""
    if interval is None or len(interval) != 2:
        return ""
    low, high = map(format_seconds, interval)
    return "" if low == high else f"{low} to {high}"
