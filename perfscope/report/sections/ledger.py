"""Where the time of every rank went: its whole life, split into accounts."""

from collections.abc import Sequence

from perfscope.report.charts import Segment, stacked_bars
from perfscope.report.formats import percent, seconds, time_scale
from perfscope.report.palette import ACCOUNT_ROLES
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.sections.section import Context, Section
from perfscope.report.views import RankBars, rank_bars
from perfscope.schema.analysis import Analysis
from perfscope.schema.run import Run
from perfscope.schema.time import LedgerAccount
from perfscope.structures import dataclass
from perfscope.units import inside, of_all


@dataclass(frozen=True)
class AccountView:
    """One account: its color role, and seconds of each rank."""

    role: str
    label: str
    meaning: str
    seconds: float
    share: float
    s_by_rank: list[float]


def account_views(ledger: Sequence[LedgerAccount]) -> list[AccountView]:
    """Every account in the order of the ledger."""
    return [
        AccountView(
            row.id if row.id in ACCOUNT_ROLES else "untraced",
            row.label,
            row.meaning,
            row.seconds,
            max(row.share, 0.0),
            [ns / 1e9 for ns in row.ns_by_rank],
        )
        for row in ledger
    ]


def rank_numbers(run: Run, count: int) -> list[int]:
    """The numbers of the recorded ranks when there are `count` of them, else 0, 1, 2 ..."""
    missing = {*run.missing_ranks}
    recorded = [rank for rank in range(run.ranks) if rank not in missing]
    return recorded if len(recorded) == count else list(range(count))


def _context(result: Analysis) -> Context:
    accounts = account_views(result.ledger)
    used = [one for one in accounts if one.seconds > 0 and one.s_by_rank]
    ranks = rank_numbers(result.run, len(used[0].s_by_rank) if used else 0)
    bars = rank_bars(ranks, [Segment(one.role, one.s_by_rank) for one in used])
    share = result.unlabeled.share
    return {
        "absent": "" if used else "no rank left a recording of its time",
        "used": used,
        "unused": [one.label for one in accounts if one.seconds <= 0],
        "chart": draw(bars, "Time of each rank by account, in seconds") if used else "",
        "ranks_per_bar": bars.ranks_per_bar,
        "takeaway": _takeaway(used, len(ranks)),
        "table": rank_table(
            "ledger-table",
            "Seconds in each account",
            ranks,
            [ByRank(one.label, one.s_by_rank, seconds) for one in used],
        ),
        "unlabeled": percent(share) if share else "",
        "target": percent(result.unlabeled.target),
    }


def draw(bars: RankBars, label: str) -> str:
    """The bars as a chart whose axis is in seconds."""
    ends = [sum(values) for values in zip(*(part.values for part in bars.segments), strict=True)]
    scale = time_scale(max(ends, default=0.0))
    return stacked_bars(label, bars.labels, bars.segments, scale=scale)


def _takeaway(used: Sequence[AccountView], ranks: int) -> str:
    if not used:
        return ""
    largest = max(used, key=lambda account: account.seconds)
    name = inside(largest.label)
    lives = of_all("lifetime", ranks, "lifetimes")
    return f"Largest share of {lives}: {name}, {percent(largest.share)}"


SECTION = Section("ledger", "Time by rank", "ledger.html", _context, is_folded=True)
