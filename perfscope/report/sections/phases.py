"""Phases: what each kind of work took on each rank, and which function does it."""

from collections.abc import Sequence
from itertools import cycle

from perfscope.report.charts import Segment
from perfscope.report.formats import count, ratio, seconds
from perfscope.report.labels import PHASE_SOURCES
from perfscope.report.palette import PHASE_ROLES
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.sections.ledger import draw, rank_numbers
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.views import Shown, place_of, rank_bars, rank_list
from perfscope.schema.analysis import Analysis
from perfscope.schema.efficiency import EFFICIENCIES
from perfscope.schema.time import Phase

MOST_PHASES = 40
MOST_PLACES = 3
MOST_DRAWN = len(PHASE_ROLES)
ROLES = {
    "train": "training",
    "forward": "phase-8",
    "backward": "phase-3",
    "optimizer": "phase-7",
    "input": "input_wait",
    "evaluate": "evaluation",
    "checkpoint": "checkpoint",
    "io": "io",
    "device_wait": "device_wait",
}
SAME_COLOR = {"training": "phase-1", "checkpoint": "phase-5"}
FREE_ROLES = (
    "phase-6",
    "phase-4",
    "phase-2",
    "phase-7",
    "phase-8",
    "phase-3",
    "phase-5",
    "phase-1",
)
"""For other phases, those least like the colors above first."""

SHOWN_EFFICIENCIES = ("parallel_efficiency", "load_balance", "communication_efficiency")
ABSENT = (
    "no phases were seen; mark phases with perfscope.phase, or name functions with "
    "--phase evaluate='*eval*'"
)


def _context(result: Analysis) -> Context:
    shown = result.phases[:MOST_PHASES]
    drawn = [phase for phase in shown if any(phase.seconds_by_rank)][:MOST_DRAWN]
    free = cycle(_free_roles([phase.id for phase in drawn]))
    roles = {phase.id: ROLES.get(phase.id) or next(free) for phase in drawn}
    ranks = rank_numbers(result.run, len(drawn[0].seconds_by_rank) if drawn else 0)
    drawn = [phase for phase in drawn if len(phase.seconds_by_rank) == len(ranks)]
    parts = [Segment(roles[phase.id], phase.seconds_by_rank) for phase in drawn]
    bars = rank_bars(ranks, parts)
    return {
        "absent": "" if shown else ABSENT,
        "phases": Table(
            "phases-table",
            "What was done in each phase, and where in the code",
            COLUMNS,
            result.phases,
            MOST_PHASES,
            "phases",
        ),
        "drawn": [Shown(roles[phase.id], phase.label or phase.id) for phase in drawn],
        "chart": draw(bars, "Seconds of each rank in each phase") if drawn else "",
        "ranks_per_bar": bars.ranks_per_bar,
        "table": rank_table(
            "phases-by-rank",
            "Seconds in each phase",
            ranks,
            [ByRank(one.label or one.id, one.seconds_by_rank, seconds) for one in drawn],
        ),
    }


def _free_roles(phases: Sequence[str]) -> list[str]:
    """Roles whose color none of the phases that have one of their own is drawn in."""
    used = {ROLES[phase] for phase in phases if phase in ROLES}
    used |= {SAME_COLOR[role] for role in used if role in SAME_COLOR}
    return [role for role in FREE_ROLES if role not in used]


def _longest(phase: Phase) -> tuple[float | None, float | None]:
    """What the rank that spends most in a phase spends there, and inside it in communication."""
    pairs = zip(phase.seconds_by_rank, phase.communication_s_by_rank, strict=True)
    return max(pairs, key=lambda pair: pair[0], default=(None, None))


def _efficiency(name: str) -> Column:
    return Column(
        EFFICIENCIES[name].label,
        lambda phase: getattr(phase.metrics, name).value if phase.metrics else None,
        ratio,
    )


COLUMNS = (
    Column("Phase", lambda phase: phase.label or phase.id, kind=Kind.TEXT, longest=40),
    Column("Ranks", lambda phase: rank_list(phase.ranks), kind=Kind.TEXT),
    Column("Times", "count", count),
    Column("Longest on a rank", lambda phase: _longest(phase)[0], seconds),
    Column("Communication on that rank", lambda phase: _longest(phase)[1], seconds),
    *map(_efficiency, SHOWN_EFFICIENCIES),
    Column("Where", lambda phase: tuple(map(place_of, phase.where[:MOST_PLACES])), kind=Kind.LINES),
    Column(
        "Known from",
        lambda phase: PHASE_SOURCES.get(phase.source, phase.source),
        kind=Kind.TEXT,
        longest=40,
    ),
)

SECTION = Section("phases", "Phases by rank", "phases.html", _context, is_folded=True)
