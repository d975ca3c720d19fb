"""Causes: what the length of the run is made of, and who made whom wait by what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfscope.report.access import (
    Document,
    mapping,
    maybe_numbers,
    number,
    part_of,
    rank_name,
    rows,
    text,
    total,
)
from perfscope.report.formats import percent, seconds
from perfscope.report.labels import phase_words
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.report.views import place
from perfscope.schema.common import NO_REASON
from perfscope.schema.enums import WaitKind, member

MOST_ROWS = 12
LEAST_REST = 0.005  # of all waiting: below it, three digits show no difference
MOST_RANKS = 3  # that one kind of waiting names
LINES = (Column("Line", place, kind=Kind.PLACE), Column("Time", "seconds", seconds))
PAIRS = (
    Column("Waiting rank", lambda row: rank_name(row, "waiter"), kind=Kind.TEXT),
    Column("For rank", lambda row: rank_name(row, "cause")),
    Column("Time", "seconds", seconds),
)


def _context(document: Document) -> Context:
    replay = mapping(document, "replay")
    path, costs = mapping(replay, "critical_path"), mapping(replay, "delay_costs")
    whole = number(path.get("seconds"))
    labels = phase_labels(document)
    reason = f"critical path and delay costs: {text(replay, 'reason') or NO_REASON}"
    kinds = _kinds(rows(document, "collectives", "wait_states"))
    return {
        "absent": "" if path or kinds else reason,
        "is_known": bool(path),
        "reason": reason,
        "takeaway": _takeaway(document),
        "work": seconds(number(path.get("work_s"))),
        "transfer": seconds(number(path.get("transfer_s"))),
        "whole": seconds(whole),
        "tables": [table for table in _tables(path, whole, labels) if table],
        "lines": Table(
            "path-by-line",
            "Critical path by line of the program, where samples tell it",
            LINES,
            rows(path, "by_line"),
            MOST_ROWS,
            "lines",
        ),
        "causes": Table(
            "delay-costs",
            "Delay costs, all waiting ranks together",
            _cost_columns(labels),
            rows(costs, "causes"),
            MOST_ROWS,
            "causes",
            more=int(number(costs.get("causes_left_out")) or 0),
        ),
        "waiting": seconds(number(costs.get("waiting_s"))),
        "at_end": _at_end(document),
        "unattributed": seconds(number(costs.get("unattributed_s"))),
        "matrix": _matrix(mapping(replay, "waits"), _highest_rank(document)),
        "pairs": _pairs(mapping(replay, "waits")),
        "kinds": kinds,
    }


def phase_labels(document: Document) -> dict[str, str]:
    """What people call the phases of the run, by id."""
    return {text(row, "id"): text(row, "label") for row in rows(document, "phases")}


def _tables(path: Mapping[str, Any], whole: float | None, labels: Mapping[str, str]) -> list[Table]:
    """What the critical path is made of, one table a view."""
    by_rank = [
        (
            rank_name(row),
            total(number(row.get(key)) for key in ("work_s", "transfer_s")),
        )
        for row in rows(path, "by_rank")
    ]
    by_phase = [
        (phase_words(row.get("phase"), labels), number(row.get("seconds")))
        for row in rows(path, "by_phase")
    ]
    by_operation = [
        (text(row, "name"), number(row.get("seconds"))) for row in rows(path, "by_operation")
    ]
    return [
        _table("rank", "Rank", by_rank, whole),
        _table("phase", "Phase", by_phase, whole),
        _table("operation", "Operation (transfer)", by_operation, whole),
    ]


def _table(
    name: str, head: str, parts: Sequence[tuple[str, float | None]], whole: float | None
) -> Table:
    columns = (
        Column(head, 0, kind=Kind.TEXT),
        Column("Time", 1, seconds),
        Column("Share", lambda part: part_of(part[1], whole), percent),
    )
    return Table(f"path-by-{name}", f"Critical path by {head.lower()}", columns, parts, MOST_ROWS)


def _cost_columns(labels: Mapping[str, str]) -> tuple[Column, ...]:
    return (
        Column("Rank", rank_name, kind=Kind.TEXT),
        Column("Phase", lambda row: phase_words(row.get("phase"), labels), kind=Kind.TEXT),
        Column("Direct", "direct_s", seconds),
        Column("Indirect", "indirect_s", seconds),
        Column("Of all waiting", "share", percent),
    )


def _pairs(waits: Mapping[str, Any]) -> Table | None:
    """The pairs of ranks with most waiting, where the matrix shows blocks of ranks."""
    if (number(waits.get("ranks_per_block")) or 1) <= 1:
        return None
    caption = "The pairs of ranks with most waiting"
    return Table("waiting-pairs", caption, PAIRS, rows(waits, "pairs"), MOST_ROWS, "pairs")


def _kinds(states: Sequence[Mapping[str, Any]]) -> Table:
    """Waiting by kind, with the ranks that others waited for most."""
    whole = total(number(row.get("seconds")) for row in states)
    columns = (
        Column("Kind", _kind, kind=Kind.TEXT, longest=40, note=Note(_meaning, is_below=False)),
        Column("Time", "seconds", seconds),
        Column("Of all waiting", lambda row: part_of(number(row.get("seconds")), whole), percent),
        Column("Most for", _most_for, kind=Kind.TEXT, longest=90),
    )
    caption = "Waiting of all ranks by what they waited for"
    return Table("wait-states", caption, columns, states)


def _kind(row: Mapping[str, Any]) -> str:
    kind = member(WaitKind, text(row, "kind"))
    return kind.label if kind else text(row, "kind")


def _meaning(row: Mapping[str, Any]) -> str:
    kind = member(WaitKind, text(row, "kind"))
    return kind.meaning if kind else ""


def _most_for(row: Mapping[str, Any]) -> str:
    causes = rows(row, "by_rank")
    known = [(number(one.get("rank")), seconds(number(one.get("seconds")))) for one in causes]
    named = [
        f"{'not known' if rank is None else f'rank {int(rank)}'} ({time})" for rank, time in known
    ]
    rest = len(named) > MOST_RANKS or bool(number(row.get("left_out_s")))
    return ", ".join(named[:MOST_RANKS]) + (", others" if rest else "")


def _highest_rank(document: Document) -> int:
    return int(number(mapping(document, "run").get("ranks")) or 1) - 1


def _matrix(waits: Mapping[str, Any], highest: int) -> Table | None:
    """Waiting by blocks of ranks; None where nobody waited."""
    size = int(number(waits.get("ranks_per_block")) or 1)
    blocks = waits.get("blocks_s")
    table = [maybe_numbers(row) for row in blocks] if isinstance(blocks, list) else []
    if not any(any(row) for row in table):
        return None
    labels = [_block_label(place * size, size, highest) for place in range(len(table))]
    columns = (
        Column("Waiting", 0, kind=Kind.TEXT),
        *(Column(label, n, lambda s: seconds(s) if s else "") for n, label in enumerate(labels, 1)),
    )
    caption = "Time that the ranks of a line waited for those of a column"
    if size > 1:
        caption += f", {size} ranks together"
    held = [(label, *row) for label, row in zip(labels, table, strict=True)]
    return Table("waits", caption, columns, held)


def _block_label(first: int, size: int, highest: int) -> str:
    last = max(first, min(first + size - 1, highest))
    return str(first) if size == 1 else f"{first}–{last}"


def _at_end(document: Document) -> str:
    """Waiting after a rank's last call until the last rank is done; "" where there is none.

    The replay counts it, and no call does: without its name two sums of waiting would differ.
    """
    waiting = number(mapping(document, "replay", "delay_costs").get("waiting_s"))
    in_calls = total(maybe_numbers(document, "collectives", "wait_s_by_rank"))
    if waiting is None or in_calls is None or waiting - in_calls < LEAST_REST * waiting:
        return ""
    return seconds(waiting - in_calls)


def waiting_sentence(document: Document) -> str:
    """What most of all waiting is due to, or that nobody's work explains it; "" where unknown."""
    costs = mapping(document, "replay", "delay_costs")
    waiting, unknown = (number(costs.get(key)) for key in ("waiting_s", "unattributed_s"))
    causes = rows(costs, "causes")
    share = number(causes[0].get("share")) if causes else None
    if not waiting or not share or share <= 0:
        return ""
    at_end = ", with that at the end" if _at_end(document) else ""
    of = f"of all waiting ({seconds(waiting)}{at_end})"
    phase = phase_words(causes[0].get("phase"), phase_labels(document))
    due = f"due to {phase} on {rank_name(causes[0])}"
    rest = part_of(unknown, waiting)
    if rest is not None and rest > share:
        return f"{percent(rest)} {of} is due to nobody’s work; {percent(share)} is {due}"
    return f"{percent(share)} {of} is {due}"


def _takeaway(document: Document) -> str:
    path = mapping(document, "replay", "critical_path")
    if not path:
        return ""
    work = seconds(number(path.get("work_s")))
    return waiting_sentence(document) or f"The critical path holds {work} of work"


SECTION = Section("causes", "Root causes of wait time", "causes.html", _context, is_folded=True)
