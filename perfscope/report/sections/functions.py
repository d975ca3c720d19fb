"""Functions: where the computation takes place in the user's code."""

from collections.abc import Mapping, Sequence

from perfscope.places import called
from perfscope.report.formats import percent, seconds
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.text import shortened
from perfscope.report.views import Shown, place_of
from perfscope.schema.analysis import Analysis
from perfscope.schema.time import FunctionShare
from perfscope.units import of_all

MOST_FUNCTIONS = 40
ABSENT = (
    "no stacks were sampled: --stack-hz was 0, the program is not Python, or another tool recorded "
    "it"
)


def _context(result: Analysis) -> Context:
    found = result.ledger_functions
    labels = {row.id: row.label for row in result.ledger}
    share = result.unlabeled.share
    return {
        "absent": "" if found else ABSENT,
        "functions": Table(
            "functions-table",
            "Time by function, all ranks together",
            _columns(labels),
            found,
            MOST_FUNCTIONS,
            "functions",
        ),
        "unlabeled": percent(share) if share > 0 else "",
        "takeaway": _takeaway(found, result.run.ranks),
    }


def _columns(labels: Mapping[str, str]) -> tuple[Column, ...]:
    def account(row: FunctionShare) -> Shown:
        return Shown(row.account.value, labels.get(row.account.value, row.account.label))

    return (
        Column("Function", place_of, kind=Kind.PLACE),
        Column("Time", "seconds", seconds),
        Column("Share", "share", percent),
        Column("Most on one rank", lambda row: max(row.seconds_by_rank, default=None), seconds),
        Column("Category", account, kind=Kind.KEYED, longest=40),
    )


def _takeaway(found: Sequence[FunctionShare], ranks: int) -> str:
    if not found or not found[0].function:
        return ""
    name = shortened(called(found[0].function, found[0].file or "", found[0].line), 60)
    lives = of_all("lifetime", ranks, "lifetimes")
    return f"{name} takes {percent(found[0].share)} of {lives}"


SECTION = Section("functions", "Functions", "functions.html", _context, is_folded=True)
