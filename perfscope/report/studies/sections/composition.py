"""Where the time of a rank goes at each size."""

from collections.abc import Sequence

from perfscope.report.charts import Segment, stacked_bars
from perfscope.report.formats import percent, seconds, time_scale
from perfscope.report.palette import ACCOUNT_ROLES
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.speedup import scaled
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.report.views import Shown
from perfscope.schema.scaling import ScaledLoss
from perfscope.schema.study import Study
from perfscope.structures import dataclass
from perfscope.units import inside


@dataclass(frozen=True)
class _Account:
    """An account and the mean seconds of a rank in it at each size."""

    role: str
    label: str
    values: Sequence[float]


def _context(study: Study) -> Context:
    found = scaled(study)
    labels = [found.size_label(point.size) for point in found.points]
    held = found.composition
    accounts = [
        _Account(name, label, values)
        for name, label, values in zip(held.accounts, held.labels, held.seconds, strict=True)
        if name in ACCOUNT_ROLES and len(values) == len(labels)
    ]
    totals = [sum(account.values[n] for account in accounts) for n in range(len(labels))]
    return {
        "takeaway": _takeaway(accounts, labels, totals),
        "losses": _losses(found.losses, labels),
        "labels": labels,
        "accounts": accounts,
        "chart": _chart(labels, accounts, max(totals, default=0.0)) if accounts else "",
        "table": _accounts(accounts, labels, totals),
    }


def _takeaway(accounts: list[_Account], labels: list[str], totals: list[float]) -> str:
    """What takes most of the time at the largest size."""
    if not accounts or not totals[-1]:
        return ""
    most = max(accounts, key=lambda account: account.values[-1])
    share = percent(most.values[-1] / totals[-1])
    name = inside(most.label)
    return f"With {labels[-1]} the largest account is {name}, {share} of a rank's time"


def _accounts(accounts: list[_Account], labels: list[str], totals: list[float]) -> Table:
    columns = (
        Column("Category", lambda row: Shown(row.role, row.label), kind=Kind.KEYED),
        *(_part_column(label, place, totals[place]) for place, label in enumerate(labels)),
    )
    caption = "Mean time of a rank by account and size"
    return Table("composition-table", caption, columns, accounts, has_caption=False)


def _part_column(label: str, place: int, total: float) -> Column:
    share = Note(lambda row: percent(row.values[place] / total) if total else "")
    return Column(label, lambda row: row.values[place], seconds, note=share)


def _losses(found: Sequence[ScaledLoss], labels: list[str]) -> Table | None:
    """Training work and what the time is lost to, with the law by which it grows."""
    if not found:
        return None
    columns = (
        Column("Useful computation, and lost to", "label", kind=Kind.TEXT, longest=60),
        *(_size_column(label, place) for place, label in enumerate(labels)),
        Column("Law", lambda row: row.model.value or row.model.reason, kind=Kind.TEXT, longest=60),
    )
    caption = "Mean lost time of a rank, by cause and size"
    return Table("losses-table", caption, columns, found, file="study.json", has_caption=False)


def _size_column(label: str, place: int) -> Column:
    share = Note(lambda row: percent(row.shares[place]))
    return Column(label, lambda row: row.seconds[place], seconds, note=share)


def _chart(labels: list[str], accounts: list[_Account], longest: float) -> str:
    segments = [Segment(account.role, account.values) for account in accounts]
    label = "Mean seconds of a rank by account, one bar per size"
    return stacked_bars(label, labels, segments, scale=time_scale(longest))


SECTION = StudySection(
    "composition",
    "Where the time goes",
    "scaling_composition.html",
    _context,
    place=40,
    kinds=("scaling",),
    is_folded=True,
)
