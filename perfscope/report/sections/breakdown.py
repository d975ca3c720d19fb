"""Where the time went, for page and terminal: parts of the run, and what they add up to."""

from collections.abc import Sequence

from perfscope.report.formats import percent, seconds
from perfscope.report.palette import ACCOUNT_ROLES
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.report.views import Shown
from perfscope.schema.analysis import Analysis
from perfscope.schema.time import TimePart
from perfscope.structures import dataclass
from perfscope.units import counted, format_seconds

OF_VERDICT = "of_verdict"
TOTAL = "Whole run"


@dataclass(frozen=True)
class Row:
    """A row of the table; `role` is "" where it has no part of the bar."""

    role: str
    label: str
    meaning: str
    seconds: float
    share: float
    note: str = ""  # what the figure is made of, "" where the label says all


def rows(result: Analysis) -> list[Row]:
    """What the verdict is about, the parts of the run, and the run that these add up to."""
    parts = [one for one in result.breakdown if one.id != OF_VERDICT]
    if not parts:
        return []
    own = [Row(_role(one), one.label, one.meaning, one.seconds, one.share) for one in parts]
    whole_s = result.run.wall_s
    total = Row("", TOTAL, "", whole_s, 1.0)
    return [*(_cause(one) for one in result.breakdown if one.id == OF_VERDICT), *own, total]


def _role(part: TimePart) -> str:
    return part.id if part.id in ACCOUNT_ROLES else "outside"


def _cause(part: TimePart) -> Row:
    note = ""
    if part.waiting_s >= part.seconds:
        note = "who is waited for works meanwhile, so the run loses more than this mean"
    elif part.waiting_s:
        note = f"{seconds(part.waiting_s)} of this, other ranks waited for it"
    label = f"Lost to: {part.label}"
    return Row("", label, part.meaning, part.seconds, part.share, note)


def heads(ranks: int) -> tuple[str, str]:
    """What the columns of seconds and of shares are called."""
    return "Time" if ranks == 1 else "Mean per rank", "Of the run"


def table(found: Sequence[Row], ranks: int) -> Table:
    """The rows as a table."""
    spent, share = heads(ranks)
    columns = (
        Column(
            "Category",
            lambda row: Shown(row.role, row.label),
            kind=Kind.KEYED,
            longest=60,
            hint=lambda row: row.meaning,
            note=Note(lambda row: row.note),
        ),
        Column(spent, "seconds", seconds),
        Column(share, "share", percent),
    )
    caption = "Where the run went"
    return Table("overview-ledger", caption, columns, found, has_caption=False, is_fixed=True)


def explained(result: Analysis) -> str:
    """Of how many ranks the means are, and what the analyzed window is."""
    run, ranks = result.run, result.run.recorded_ranks
    start, end = run.focus_of_analysis_s
    said = []
    if ranks > 1:
        of = counted(ranks, "rank" if ranks == run.ranks else "recorded rank")
        said.append(f"Mean of {of}, in seconds of the run.")
    if any(one.id == OF_VERDICT for one in result.breakdown):
        saving = " Its saving is replayed, not a mean." if result.verdict.top else ""
        said.append(f"“Lost to” is part of the rows below it.{saving}")
    if result.whole_run is not None:
        said.append("Steps that were left out count as the kept ones.")
    elif end > start and run.focus_reason:
        said.append(f"Analyzed window: {format_seconds(end - start)}, {run.focus_reason}.")
    return " ".join(said)
