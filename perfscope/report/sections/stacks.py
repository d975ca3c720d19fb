"""Stacks: a flame graph for each phase, where `--stacks` sampled the job."""

from collections.abc import Sequence

from perfscope.report.flame import Box, flame
from perfscope.report.formats import count, part_of, percent, seconds
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.text import shortened
from perfscope.report.views import place_of, rank_list
from perfscope.schema.analysis import Analysis
from perfscope.schema.resources import NoStacks, StackNode, Stacks, StacksOfPhase

MOST_PHASES = 16
MOST_REASONS = 8
ABSENT = "the result holds no stacks"


def _columns(sampled_s: float) -> tuple[Column, ...]:
    return (
        Column("Function", place_of, kind=Kind.PLACE),
        Column("Own time", "self_s", seconds),
        Column("Share", lambda top: part_of(top.self_s, sampled_s), percent),
        Column("With what it called", "total_s", seconds),
    )


def _context(result: Analysis) -> Context:
    found = result.stacks
    if isinstance(found, NoStacks):
        return {"absent": found.reason or ABSENT, "missing": []}
    phases = enumerate(found.phases[:MOST_PHASES], start=1)
    shown = [view for n, phase in phases if (view := _phase(n, phase))]
    return {
        "absent": "" if shown else found.reason or ABSENT,
        "phases": shown,
        "left_out": found.phases_left_out,
        "hz": count(found.hz) if found.hz else "",
        "missing": _missing(found),
        "paused": seconds(found.paused_s) if found.paused_s else "",
        "waiting": seconds(found.waiting_s),
        "takeaway": _takeaway(found.phases),
    }


def _phase(position: int, phase: StacksOfPhase) -> Context | None:
    label = phase.label or phase.id
    everyone = flame(f"Flame graph of {label}, all ranks", _boxes(phase.nodes, None))
    if not everyone:
        return None
    sampled = phase.sampled_s
    is_part = sampled and phase.seconds > sampled
    return {
        "id": f"stacks-{phase.id}",
        "label": label,
        "seconds": seconds(sampled),
        "coverage": percent(part_of(sampled, phase.seconds)) if is_part else "",
        "svg": everyone,
        "ranks": [
            {"number": rank, "svg": flame(f"Flame graph of {label}, rank {rank}", boxes)}
            for place, rank in enumerate(phase.ranks)
            if len(phase.ranks) > 1 and (boxes := _boxes(phase.nodes, place))
        ],
        "top": Table(
            f"flame-top-{position}",
            f"Most time of their own in: {shortened(phase.label, 60)}",
            _columns(sampled),
            phase.top,
        ),
        "left_out": count(phase.nodes_left_out),
        "left_out_s": seconds(phase.left_out_s) if phase.left_out_s else "",
    }


def _boxes(nodes: Sequence[StackNode], rank: int | None) -> list[Box]:
    """The boxes of all ranks, or of the one at this place of `seconds_by_rank`."""
    return [
        Box(
            parent=node.parent if -1 <= node.parent < index else -1,
            name=node.function,
            place=place_of(node).location,
            is_user=node.is_user,
            seconds=max(0.0, node.seconds if rank is None else node.seconds_by_rank[rank]),
        )
        for index, node in enumerate(nodes)
    ]


def _missing(found: Stacks) -> list[Context]:
    """Ranks without stacks, or without some of theirs, by why."""
    by_reason: dict[str, list[int]] = {}
    for one in found.missing:
        by_reason.setdefault(one.reason, []).append(one.rank)
    return [
        {"ranks": rank_list([r for r in ranks if r >= 0]), "reason": reason}
        for reason, ranks in list(by_reason.items())[:MOST_REASONS]
    ]


def _takeaway(phases: Sequence[StacksOfPhase]) -> str:
    if not phases or not phases[0].top:
        return ""
    first, top = phases[0], phases[0].top[0]
    share = part_of(top.self_s, first.sampled_s)
    if share is None:
        return ""
    name = shortened(top.function, 60)
    return f"{first.label} spends most in {name}: {percent(share)} of its sampled time"


SECTION = Section("stacks", "Flame graphs", "stacks.html", _context, is_folded=True)
