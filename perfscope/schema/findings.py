"""Findings and checks of quality."""

from perfscope.schema.common import Place
from perfscope.schema.enums import AwaitedThing, Basis, Confidence, NoInterval, Status
from perfscope.structures import dataclass


@dataclass(frozen=True)
class FindingEvidence:
    """One measured fact, and what it should be."""

    label: str
    value: str | float
    unit: str
    expected: str


@dataclass(frozen=True)
class Holder:
    """Who was at work while ranks waited for a lock, a queue or a thread that it may well keep."""

    kind: AwaitedThing
    rank: int  # whose thread it is
    # its name, or null: unknown, or the main thread of another rank than that which waits
    thread: str | None
    where: Place | None  # the user's function in which it was seen most meanwhile, or null
    # of the samples of the wait, those in which it was seen at work; null where it was told by CPU
    # time
    share: float | None


@dataclass(frozen=True)
class Waited:
    """Who waits for other ranks."""

    ranks: tuple[int, ...]
    seconds: float  # of all of them together
    each_s: float  # mean of them


@dataclass(frozen=True)
class Seen:
    """In how many samples of stacks a line was seen, and in which function of a library mostly."""

    samples: int
    of: int
    calls: str | None = None  # the innermost public one that most of the samples are in
    calls_samples: int = 0  # of the line's


@dataclass(frozen=True)
class FirstAction:
    """What the first action saves: what a headline promises."""

    gain_s: float
    gain_interval_s: tuple[float, float] | None
    gain_share: float | None
    gain_run_share: float | None
    gain_basis: Basis | None
    # the interval lies between the gains under several assumptions, and is no 95 % interval
    is_by_assumption: bool = False
    # what is assumed at its lower and at its upper end, a clause; "" of other intervals
    assumed: str = ""
    # of the gain, where that is more: what ranks spend by themselves on what goes away, mean of all
    # ranks, as `breakdown` and `losses` tell it; else null
    own_s: float | None = None
    # the rest of it: the waits and transfers that it causes; null without `own_s`
    follows_s: float | None = None
    # what it counts that the title does not: the rest of a sentence on the saving; "" for nothing
    counts: str = ""
    # whether that is work beside what the title is about
    counts_more: bool = False
    # why a replayed gain has no interval; null: it has one, or too few parts of the run tell one
    no_interval: NoInterval | None = None
    # what it saves while other work has the host's CPUs as in this run, where that is more than on
    # an idle host, of which `gain_s` is; else null
    under_load_s: float | None = None
    # how what the title, or the action, says that it takes leads to the gain: sentences; "" where
    # these do not differ
    bridge: str = ""


@dataclass(frozen=True)
class PlannedRun:
    """What a run of so many steps would save."""

    steps: int
    # of the first action, in proportion to the steps of this run, or null with the `reason`
    gain_s: float | None
    runtime_s: float | None  # that is left
    reason: str | None


@dataclass(frozen=True)
class Outcome:
    """The outcome of one diagnosis of a run or of a study."""

    id: str  # of the diagnosis ([findings.md](findings.md))
    # `fail` (act on it), `warn` (small or uncertain), `not_measured` (the summary names the option
    # that would measure it), `error` (the diagnosis itself failed)
    status: Status
    title: str
    summary: str
    # what the job as a whole would take less; null when no seconds are claimed
    gain_s: float | None
    # 95 % interval, or null: an upper bound has none, and a run with too few segments to tell one
    gain_interval_s: tuple[float, float] | None
    # of the focus of analysis, and of what was lost before it where the gain is of that as well
    gain_share: float | None
    gain_basis: Basis | None
    # sentences: what the replay of this gain takes for granted; empty without a replay
    assumptions: tuple[str, ...]
    confidence: Confidence
    ranks: tuple[int, ...]  # numbers of those that it is about
    window_s: tuple[float, float] | None  # first and last moment, or null
    where: tuple[Place, ...]
    evidence: tuple[FindingEvidence, ...]
    actions: tuple[str, ...]  # what to do, most effective first
    references: tuple[str, ...]  # where the method is described
    overlaps: tuple[str, ...]  # ids of findings whose gains do not add to this one


@dataclass(frozen=True)
class FindingRow(Outcome):
    """The outcome of one diagnosis of a run, and what its first action saves."""

    gain_run_share: float | None  # of the whole run (`run.wall_s`)
    # the first of `actions`, null when no seconds are claimed; it differs from the gain of the
    # finding where the first action takes away a part of what the fault costs
    first_action: FirstAction | None
    planned: PlannedRun | None  # null without `--planned-steps` or a gain
    # who was seen at work while ranks waited for a lock, a queue or a thread; else null
    holder: Holder | None
    # its confidence is less than the interval or the basis of its gain allows: what was measured
    # shows the time, and its cause is inferred from that
    is_inferred: bool = False
    # `where` begins with the line in which it costs most, and the one to change is another: the
    # first of `actions` tells which, or how to find it
    is_elsewhere: bool = False
    # ranks differ by less than what processes outside the job cost, which may hold up one of them
    # the most: the first thing to do is to record on an idle host
    may_be_host: bool = False
    # the line to open, where that is another than the one in which time is spent: it probably sets
    # how uneven work is split, or it begins the loop that the first action changes; else null
    set_at: Place | None = None
    # that line begins the loop around the one in which time is spent
    is_loop: bool = False
    # the first action sets variables of the environment: no line of the program is to be edited
    is_setting: bool = False
    # its text, of a finding of `verdict.top`, as `source_line` is that of where the time goes
    set_at_line: str = ""
    # `where` begins with a line that only waits for a thread of its rank, which makes the calls
    # that it is about: where these are made is not known
    only_waits: bool = False
    # of two findings of `verdict.top` that are one problem the id of the one that leads: it is the
    # same line on the same ranks, or it explains this one; else null
    seen_with: str | None = None
    # the text of the line that `where` begins with, of a finding of `verdict.top`, where its file
    # is still there as the run read it; else ""
    source_line: str = ""
    # who waits for its ranks; null where nobody does for long, or it is about all of them
    waited: Waited | None = None
    # of the samples of its ranks in the analyzed window, those in the line that `where` begins
    # with, or in what it called; null without samples, or without a line
    seen: Seen | None = None


@dataclass(frozen=True)
class QualityRow:
    """One check of whether the result can be trusted."""

    id: str
    status: Status
    title: str
    detail: str
    # of the run, what a fault is about; null where that is not known in seconds
    lost_s: float | None = None
    # a fault that changes no answer: it is about less than the saving of the leading finding is
    # unsure by, half of its range
    is_small: bool = False


@dataclass(frozen=True)
class HowMeasured:
    """What a number of this run means."""

    term: str
    text: str
