"""The whole run beside its kept steps: what totals hold of all of it, and what is estimated."""

from perfscope.report.formats import decimal, percent, ratio, seconds
from perfscope.report.sections.section import Context
from perfscope.report.table import Column, Kind, Table
from perfscope.schema.efficiency import EFFICIENCIES
from perfscope.schema.enums import FigureSource
from perfscope.schema.whole_run import SlowStep, WholeAccount, WholeFactor, WholeRun
from perfscope.units import format_count, format_ratio, format_seconds

SOURCE_WORDS = {
    FigureSource.TOTALS: "totals, which hold every call",
    FigureSource.KEPT: "the kept parts, with chance",
}


def _between(low: str, high: str, *, is_exact: bool) -> str:
    return "exact" if is_exact else f"{low} to {high}"


def _of_factor(row: WholeFactor) -> str:
    return _between(ratio(row.low), ratio(row.high), is_exact=row.source is FigureSource.TOTALS)


def _of_account(row: WholeAccount) -> str:
    is_exact = row.low_s == row.high_s
    return _between(format_seconds(row.low_s), format_seconds(row.high_s), is_exact=is_exact)


def _unusual(row: SlowStep) -> str:
    """What a rank did longer in a slow step than in usual ones."""
    phase = f" (phase {row.phase})" if row.phase else ""
    return f"{row.label}{phase}, {format_seconds(row.more_s)}" if row.more_s else "waiting alone"


FACTORS = (
    Column("Efficiency of the whole run", lambda row: EFFICIENCIES[row.id].label, kind=Kind.TEXT),
    Column("Value", "value", decimal),
    Column("As its steps vary", _of_factor, kind=Kind.TEXT),
    Column("From", lambda row: SOURCE_WORDS[row.source], kind=Kind.TEXT),
)
ACCOUNTS = (
    Column("Time of all ranks, whole run", "label", kind=Kind.TEXT),
    Column("Time", "seconds", seconds),
    Column("As its steps vary", _of_account, kind=Kind.TEXT),
    Column("Share", "share", percent),
)
SLOWEST = (
    Column("Number", "number"),
    Column("Begins at", "at_s", seconds),
    Column("Took", "seconds", seconds),
    Column("Usual", "usual_s", seconds),
    Column("Rank", "rank"),
    Column("Spent most more on", _unusual, kind=Kind.TEXT),
)


def context(whole: WholeRun | None) -> Context | None:
    """Sentence and tables; None where all of the run is there in detail."""
    if whole is None:
        return None
    return {
        "sentence": f"{kept_sentence(whole)} {steps_sentence(whole)}",
        "factors": Table("whole-factors", "The whole run", FACTORS, whole.efficiencies),
        "accounts": Table("whole-accounts", "Where the time went", ACCOUNTS, whole.accounts),
        "slowest": _slowest(whole),
    }


def _slowest(whole: WholeRun) -> Table | None:
    """The longest steps, which were kept for that; None where there is none."""
    if not whole.slowest:
        return None
    caption = f"The longest {whole.unit.label} of the run, with what passed before each"
    return Table("whole-slowest", caption, SLOWEST, whole.slowest)


def kept_sentence(whole: WholeRun) -> str:
    """How much of the run is there in detail, and what that means for the figures."""
    return (
        f"{format_count(whole.kept)} of {format_count(whole.ended)} {whole.unit.label} are "
        f"analyzed in detail, {format_seconds(whole.analyzed_s)} of "
        f"{format_seconds(whole.run_s)}: the others were left out at the bound of space "
        "(--max-size, or a disk that is full), the same ones on all ranks. Efficiencies, savings "
        "and the time lost to each cause are told of the whole run. Unless it says otherwise, any "
        "other figure is of the kept ones, put together between start-up and end, which are there "
        "in full."
    )


def steps_sentence(whole: WholeRun) -> str:
    """All steps, by their sums; "" where there are none."""
    steps = whole.steps
    if steps is None:
        return ""
    return (
        f"All {format_count(steps.count)} steps took {format_seconds(steps.mean_s)} on average, "
        f"the longest {format_seconds(steps.longest_s)} (step {steps.longest} on rank "
        f"{steps.longest_rank})."
    )


def efficiency_sentence(whole: WholeRun) -> str:
    """The efficiencies of the whole run in one line, each with where it is from; "" without any."""
    said = []
    for row in whole.efficiencies:
        label = EFFICIENCIES[row.id].label.lower().removesuffix(" efficiency")
        chance = (
            "totals"
            if row.source is FigureSource.TOTALS
            else f"kept steps, {format_ratio(row.low)} to {format_ratio(row.high)}"
        )
        said.append(f"{label} {format_ratio(row.value)} ({chance})")
    return f"Efficiency of the whole run: {', '.join(said)}" if said else ""
