"""Stacks: a flame graph for each phase, where `--stacks` sampled the job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import (
    Document,
    integers,
    mapping,
    number,
    numbers,
    part_of,
    rows,
    text,
)
from perfscope.report.flame import Box, flame
from perfscope.report.formats import count, percent, seconds
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.text import shortened
from perfscope.report.views import place, rank_list

MOST_PHASES = 16
MOST_REASONS = 8
TOP = (
    Column("Function", place, kind=Kind.PLACE),
    Column("Own time", "self_s", seconds),
    Column("Share", "share", percent),
    Column("With what it called", "total_s", seconds),
)


def _context(document: Document) -> Context:
    found = mapping(document, "stacks")
    shown = [
        view
        for n, row in enumerate(rows(found, "phases")[:MOST_PHASES], start=1)
        if (view := _phase(n, row))
    ]
    return {
        "absent": "" if shown else text(found, "reason") or "the result holds no stacks",
        "phases": shown,
        "left_out": int(number(found.get("phases_left_out")) or 0),
        "hz": count(number(found.get("hz"))),
        "missing": _missing(found),
        "paused": seconds(number(found.get("paused_s"))) if number(found.get("paused_s")) else "",
        "waiting": seconds(number(found.get("waiting_s"))),
        "takeaway": _takeaway(rows(found, "phases")),
    }


def _phase(position: int, row: Mapping[str, Any]) -> Context | None:
    label = text(row, "label") or text(row, "id")
    nodes = rows(row, "nodes")
    everyone = flame(f"Flame graph of {label}, all ranks", _boxes(nodes, None))
    if not everyone:
        return None
    ranks = integers(row, "ranks")
    sampled, whole = number(row.get("sampled_s")), number(row.get("seconds"))
    left_out = number(row.get("left_out_s"))
    return {
        "id": f"stacks-{text(row, 'id')}",
        "label": label,
        "seconds": seconds(sampled),
        "coverage": percent(part_of(sampled, whole))
        if sampled and whole and whole > sampled
        else "",
        "svg": everyone,
        "ranks": [
            {"number": rank, "svg": flame(f"Flame graph of {label}, rank {rank}", boxes)}
            for place_, rank in enumerate(ranks)
            if len(ranks) > 1 and (boxes := _boxes(nodes, place_))
        ],
        "top": Table(
            f"flame-top-{position}",
            f"Most time of their own in: {shortened(label, 60)}",
            TOP,
            [
                {**top, "share": part_of(number(top.get("self_s")), sampled)}
                for top in rows(row, "top")
            ],
        ),
        "left_out": count(number(row.get("nodes_left_out"))),
        "left_out_s": seconds(left_out) if left_out else "",
    }


def _boxes(nodes: list[Mapping[str, Any]], rank: int | None) -> list[Box]:
    """The boxes of all ranks, or of the one at this place of `seconds_by_rank`."""
    out = []
    for index, node in enumerate(nodes):
        spent = number(node.get("seconds")) or 0.0
        if rank is not None:
            by_rank = numbers(node, "seconds_by_rank")
            spent = by_rank[rank] if rank < len(by_rank) else 0.0
        parent = int(number(node.get("parent")) or 0)
        where = place(node)
        out.append(
            Box(
                parent=parent if -1 <= parent < index else -1,
                name=text(node, "function"),
                place=where.location,
                is_user=node.get("is_user") is True,
                seconds=max(0.0, spent),
            )
        )
    return out


def _missing(found: Mapping[str, Any]) -> list[Context]:
    """Ranks without stacks, or without some of theirs, by why."""
    by_reason: dict[str, list[float]] = {}
    for row in rows(found, "missing"):
        rank = number(row.get("rank"))
        by_reason.setdefault(text(row, "reason"), []).append(rank if rank is not None else -1)
    return [
        {"ranks": rank_list([r for r in ranks if r >= 0]), "reason": reason}
        for reason, ranks in list(by_reason.items())[:MOST_REASONS]
    ]


def _takeaway(phases: list[Mapping[str, Any]]) -> str:
    if not phases:
        return ""
    first = phases[0]
    top = next(iter(rows(first, "top")), None)
    share = part_of(number(mapping(top).get("self_s")), number(first.get("sampled_s")))
    if top is None or share is None:
        return ""
    name = shortened(text(top, "function"), 60)
    return f"{text(first, 'label')} spends most in {name}: {percent(share)} of its sampled time"


SECTION = Section("stacks", "Flame graphs", "stacks.html", _context, is_folded=True)
