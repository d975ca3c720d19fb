"""Where the time of every rank went: its whole life, split into accounts."""

from __future__ import annotations

from perfscope.report.access import Document, mapping, number, numbers, rows, text
from perfscope.report.charts import Segment, stacked_bars
from perfscope.report.formats import percent, seconds, time_scale
from perfscope.report.palette import ACCOUNT_ROLES
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.sections.section import Context, Section
from perfscope.report.views import RankBars, rank_bars


def account_views(document: Document) -> list[Context]:
    """Every account in the order of the ledger: name, color role, seconds and share."""
    return [
        {
            "role": role if (role := text(row, "id")) in ACCOUNT_ROLES else "untraced",
            "label": text(row, "label"),
            "meaning": text(row, "meaning"),
            "seconds": spent,
            "share": max(number(row.get("share")) or 0.0, 0.0),
            "s_by_rank": [ns / 1e9 for ns in numbers(row, "ns_by_rank")],
        }
        for row in rows(document, "ledger")
        if (spent := number(row.get("seconds"))) is not None
    ]


def rank_numbers(document: Document, count: int) -> list[int]:
    """The numbers of the recorded ranks when there are `count` of them, else 0, 1, 2 ..."""
    missing = set(numbers(document, "run", "missing_ranks"))
    world = int(number(mapping(document, "run").get("ranks")) or 0)
    recorded = [rank for rank in range(world) if rank not in missing]
    return recorded if len(recorded) == count else list(range(count))


def _context(document: Document) -> Context:
    accounts = account_views(document)
    used = [account for account in accounts if account["seconds"] > 0 and account["s_by_rank"]]
    ranks = rank_numbers(document, len(used[0]["s_by_rank"]) if used else 0)
    bars = rank_bars(ranks, [Segment(a["role"], a["s_by_rank"]) for a in used])
    unlabeled = mapping(document, "unlabeled")
    share, target = number(unlabeled.get("share")), number(unlabeled.get("target"))
    return {
        "absent": "" if used else "no rank left a recording of its time",
        "used": used,
        "unused": [account["label"] for account in accounts if account["seconds"] <= 0],
        "chart": draw(bars, "Time of each rank by account, in seconds") if used else "",
        "ranks_per_bar": bars.ranks_per_bar,
        "takeaway": _takeaway(used),
        "table": rank_table(
            "ledger-table",
            "Seconds in each account",
            ranks,
            [ByRank(a["label"], a["s_by_rank"], seconds) for a in used],
        ),
        "unlabeled": percent(share) if share else "",
        "target": percent(target) if target is not None else "",
    }


def draw(bars: RankBars, label: str) -> str:
    """The bars as a chart whose axis is in seconds."""
    ends = [sum(values) for values in zip(*(part.values for part in bars.segments), strict=True)]
    scale = time_scale(max(ends, default=0.0))
    return stacked_bars(label, bars.labels, bars.segments, scale=scale)


def _takeaway(used: list[Context]) -> str:
    if not used:
        return ""
    largest = max(used, key=lambda account: account["seconds"])
    name = f"{largest['label'][:1].lower()}{largest['label'][1:]}"
    return f"Largest share of the ranks’ time: {name}, {percent(largest['share'])}"


SECTION = Section("ledger", "Time by rank", "ledger.html", _context, is_folded=True)
