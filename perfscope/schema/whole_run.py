"""The whole run, where only some of its steps were kept in detail."""

from perfscope.schema.enums import Account, FigureSource, WindowUnit
from perfscope.structures import dataclass


@dataclass(frozen=True)
class WholeFactor:
    """An efficiency of the whole run."""

    id: str  # as in `metrics`
    value: float  # of all of the run
    low: float  # lower end of the 95 % interval; the value itself where totals give it
    high: float  # its upper end
    # `totals`, which hold every call, or `kept`, estimated from the steps in detail
    source: FigureSource


@dataclass(frozen=True)
class WholeAccount:
    """Time of all ranks in one account of the ledger, over the whole run."""

    account: Account
    label: str
    seconds: float  # of all ranks together
    low_s: float  # lower end of the 95 % interval
    high_s: float  # its upper end
    share: float  # of the time of all ranks


@dataclass(frozen=True)
class StepSums:
    """All steps of all ranks, thinned away or not."""

    count: int  # steps of the rank with the most
    mean_s: float  # mean length
    shortest_s: float
    longest_s: float  # length of the longest one
    longest: int  # its number
    longest_rank: int  # the rank on which it was so long


@dataclass(frozen=True)
class SlowStep:
    """One of the longest steps of a run, which is kept for that and is in no estimate."""

    number: int  # of the step, or of what else was kept or thinned away as a whole
    at_s: float  # its begin after that of the run, of the first process
    seconds: float  # its length with what passed before it, of the rank on which that is longest
    usual_s: float  # mean of those that chance kept, each of the rank on which it is longest
    account: Account  # in which a rank spent most beyond what it usually does, waiting left aside
    label: str  # of the account
    more_s: float  # how much more that was
    rank: int  # which one
    phase: str  # marked phase that was open longest on that rank in such time, "" unknown


@dataclass(frozen=True)
class WholeRun:
    """What totals and kept steps tell of all of a run.

    Savings, of findings, losses and the verdict, are of all of it as well; all else in the document
    is of the kept steps.
    """

    unit: WindowUnit  # what was kept or thinned away as a whole
    # how many of these are analyzed: those that all ranks kept, and that the rule of chance chose
    kept: int
    ended: int  # how many the run had
    run_s: float  # length of the focus of analysis, with what was thinned away
    analyzed_s: float  # length of what is analyzed
    # of what is analyzed: time that ranks did not spend there, because they reach the ends of steps
    # at different moments; the most of any rank
    residue_share: float
    stands_for: float  # seconds of the run for each one of the kept steps
    calls: int  # communication calls of all ranks
    # of these, how many totals tell by operation alone, as they were made on too many communicators
    # in too many phases
    calls_not_sorted: int
    efficiencies: tuple[WholeFactor, ...]  # of the whole run
    accounts: tuple[WholeAccount, ...]  # of the whole run, each estimated from the kept steps
    steps: StepSums | None  # null where nothing told steps
    slowest: tuple[SlowStep, ...]  # the longest ones, of those that all ranks kept, longest first
