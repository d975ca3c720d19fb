"""The whole run, where only some of its steps were kept in detail."""

from perfscope.schema.enums import Account, FigureSource, WindowUnit
from perfscope.structures import dataclass


@dataclass(frozen=True)
class WholeFactor:
    """An efficiency of the whole run.

    Attributes:
        id: as in `metrics`.
        value: of all of the run.
        low: lower end of the 95 % interval; the value itself where totals give it.
        high: its upper end.
        source: `totals`, which hold every call, or `kept`, estimated from the steps in detail.
    """

    id: str
    value: float
    low: float
    high: float
    source: FigureSource


@dataclass(frozen=True)
class WholeAccount:
    """Time of all ranks in one account of the ledger, over the whole run.

    Attributes:
        seconds: of all ranks together.
        low_s: lower end of the 95 % interval.
        high_s: its upper end.
        share: of the time of all ranks.
    """

    account: Account
    label: str
    seconds: float
    low_s: float
    high_s: float
    share: float


@dataclass(frozen=True)
class StepSums:
    """All steps of all ranks, thinned away or not.

    Attributes:
        count: steps of the rank with the most.
        mean_s: mean length.
        longest_s: length of the longest one.
        longest: its number.
        longest_rank: the rank on which it was so long.
    """

    count: int
    mean_s: float
    shortest_s: float
    longest_s: float
    longest: int
    longest_rank: int


@dataclass(frozen=True)
class SlowStep:
    """One of the longest steps of a run, which is kept for that and is in no estimate.

    Attributes:
        number: of the step, or of what else was kept or thinned away as a whole.
        at_s: its begin after that of the run, of the first process.
        seconds: its length with what passed before it, of the rank on which that is longest.
        usual_s: mean of those that chance kept, each of the rank on which it is longest.
        account: in which a rank spent most beyond what it usually does, waiting left aside.
        label: of the account.
        more_s: how much more that was.
        rank: which one.
        phase: marked phase that was open longest on that rank in such time, "" unknown.
    """

    number: int
    at_s: float
    seconds: float
    usual_s: float
    account: Account
    label: str
    more_s: float
    rank: int
    phase: str


@dataclass(frozen=True)
class WholeRun:
    """What totals and kept steps tell of all of a run.

    Savings, of findings, losses and the verdict, are of all of it as well; all else in the document
    is of the kept steps.

    Attributes:
        unit: what was kept or thinned away as a whole.
        kept: how many of these are analyzed: those that all ranks kept, and that the rule of
            chance chose.
        ended: how many the run had.
        run_s: length of the focus of analysis, with what was thinned away.
        analyzed_s: length of what is analyzed.
        residue_share: of what is analyzed: time that ranks did not spend there, because they reach
            the ends of steps at different moments; the most of any rank.
        stands_for: seconds of the run for each one of the kept steps.
        calls: communication calls of all ranks.
        calls_not_sorted: of these, how many totals tell by operation alone, as they were made on
            too many communicators in too many phases.
        efficiencies: of the whole run.
        accounts: of the whole run, each estimated from the kept steps.
        steps: null where nothing told steps.
        slowest: the longest ones, of those that all ranks kept, longest first.
    """

    unit: WindowUnit
    kept: int
    ended: int
    run_s: float
    analyzed_s: float
    residue_share: float
    stands_for: float
    calls: int
    calls_not_sorted: int
    efficiencies: tuple[WholeFactor, ...]
    accounts: tuple[WholeAccount, ...]
    steps: StepSums | None
    slowest: tuple[SlowStep, ...]
