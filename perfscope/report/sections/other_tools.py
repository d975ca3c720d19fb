"""What files of other tools say in figures of their own."""

from perfscope.report.formats import bytes_, count, decimal, percent, ratio, seconds
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.schema.analysis import Analysis
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import ToolColumn, ToolReport

ABSENT = "no file of another tool was given"
MOST_ROWS = 40
WRITERS = {
    Quantity.SECONDS: seconds,
    Quantity.BYTES: bytes_,
    Quantity.RATIO: ratio,
    Quantity.SHARE: percent,
    Quantity.COUNT: count,
    Quantity.NUMBER: decimal,
}


def _context(result: Analysis) -> Context:
    found = result.other_tools
    return {
        "absent": "" if found else ABSENT,
        "reports": [_report(place, one) for place, one in enumerate(found, start=1)],
        "takeaway": found[0].says[0].rstrip(".") if found and found[0].says else "",
    }


def _report(place: int, told: ToolReport) -> Context:
    tables = [
        Table(
            f"tool-{place}-{number}",
            one.title,
            tuple(_column(index, column) for index, column in enumerate(one.columns)),
            one.rows,
            MOST_ROWS,
            more=one.rows_left_out,
        )
        for number, one in enumerate(told.tables, start=1)
    ]
    return {"tool": told.tool, "file": told.file, "says": told.says, "tables": tables}


def _column(place: int, told: ToolColumn) -> Column:
    if told.quantity in WRITERS:
        return Column(told.title, place, WRITERS[told.quantity])
    kind = Kind.CODE if told.quantity is Quantity.CODE else Kind.TEXT
    return Column(told.title, place, kind=kind, longest=120)


SECTION = Section(
    "other_tools", "What other tools say", "other_tools.html", _context, is_folded=True
)
