"""Causes: what the length of the run is made of, and who made whom wait by what."""

from collections.abc import Mapping, Sequence

from perfscope.report.formats import part_of, percent, seconds
from perfscope.report.labels import phase_words
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.report.views import place_of
from perfscope.schema.analysis import Analysis
from perfscope.schema.common import NO_REASON
from perfscope.schema.communication import WaitState
from perfscope.schema.replay import CriticalPath, DelayCosts, Waits
from perfscope.schema.time import Phase

MOST_ROWS = 12
LEAST_REST = 0.005  # of all waiting: below it, three digits show no difference
MEANING = Note(lambda state: state.kind.meaning, is_below=False)
MOST_PARTS = 3  # phases of the critical path that a summary names
LEAST_PART = 0.001
MOST_RANKS = 3  # that one kind of waiting names
LINES = (Column("Line", place_of, kind=Kind.PLACE), Column("Time", "seconds", seconds))
PAIRS = (
    Column("Waiting rank", lambda pair: f"rank {pair.waiter}", kind=Kind.TEXT),
    Column("For rank", lambda pair: f"rank {pair.cause}"),
    Column("Time", "seconds", seconds),
)


def _context(result: Analysis) -> Context:
    replay = result.replay
    reason = f"critical path and delay costs: {replay.reason or NO_REASON}"
    kinds = _kinds(result.collectives.wait_states)
    labels = phase_labels(result.phases)
    return {
        "absent": "" if replay.critical_path or kinds else reason,
        "is_known": bool(replay.critical_path),
        "reason": reason,
        "takeaway": _takeaway(result),
        "kinds": kinds,
        **(_path(replay.critical_path, labels) if replay.critical_path else {}),
        "causes": None,
        **(_costs(replay.delay_costs, labels, _at_end(result)) if replay.delay_costs else {}),
        "matrix": _matrix(replay.waits, result.run.ranks - 1) if replay.waits else None,
        "pairs": _pairs(replay.waits) if replay.waits else None,
    }


def _costs(costs: DelayCosts, labels: Mapping[str, str], at_end: str) -> Context:
    return {
        "causes": Table(
            "delay-costs",
            "Delay costs, all waiting ranks together",
            _cost_columns(labels),
            costs.causes,
            MOST_ROWS,
            "causes",
            more=costs.causes_left_out,
        ),
        "waiting": seconds(costs.waiting_s),
        "at_end": at_end,
        "unattributed": seconds(costs.unattributed_s),
    }


def phase_labels(phases: Sequence[Phase]) -> dict[str, str]:
    """What people call the phases of the run, by id."""
    return {phase.id: phase.label for phase in phases}


def _path(path: CriticalPath, labels: Mapping[str, str]) -> Context:
    """What the critical path is made of, one table a view."""
    by_rank = [(f"rank {row.rank}", row.work_s + row.transfer_s) for row in path.by_rank]
    by_phase = [(phase_words(row.phase, labels), row.seconds) for row in path.by_phase]
    by_operation = [(row.name, row.seconds) for row in path.by_operation]
    views = (("Rank", by_rank), ("Phase", by_phase), ("Operation (transfer)", by_operation))
    names = ("rank", "phase", "operation")
    return {
        "work": seconds(path.work_s),
        "transfer": seconds(path.transfer_s),
        "whole": seconds(path.seconds),
        "tables": [
            _table(name, head, parts, path.seconds)
            for name, (head, parts) in zip(names, views, strict=True)
            if parts
        ],
        "lines": Table(
            "path-by-line",
            "Critical path by source line, where samples show it",
            LINES,
            path.by_line,
            MOST_ROWS,
            "lines",
        ),
    }


def _table(name: str, head: str, parts: Sequence[tuple[str, float]], whole: float) -> Table:
    columns = (
        Column(head, 0, kind=Kind.TEXT),
        Column("Time", 1, seconds),
        Column("Share", lambda part: part_of(part[1], whole), percent),
    )
    return Table(f"path-by-{name}", f"Critical path by {head.lower()}", columns, parts, MOST_ROWS)


def _cost_columns(labels: Mapping[str, str]) -> tuple[Column, ...]:
    return (
        Column("Rank", lambda row: f"rank {row.rank}", kind=Kind.TEXT),
        Column("Phase", lambda row: phase_words(row.phase, labels), kind=Kind.TEXT),
        Column("Direct", "direct_s", seconds),
        Column("Indirect", "indirect_s", seconds),
        Column("Of all waiting", "share", percent),
    )


def _pairs(waits: Waits) -> Table | None:
    """The pairs of ranks with most waiting, where the matrix shows blocks of ranks."""
    if waits.ranks_per_block <= 1:
        return None
    caption = "The pairs of ranks with most waiting"
    return Table("waiting-pairs", caption, PAIRS, waits.pairs, MOST_ROWS, "pairs")


def _kinds(states: Sequence[WaitState]) -> Table:
    """Waiting by kind, with the ranks that others waited for most."""
    whole = sum(state.seconds for state in states)
    columns = (
        Column("Kind", lambda state: state.kind.label, kind=Kind.TEXT, longest=40, note=MEANING),
        Column("Time", "seconds", seconds),
        Column("Of all waiting", lambda state: part_of(state.seconds, whole), percent),
        Column("Most for", _most_for, kind=Kind.TEXT, longest=90),
    )
    caption = "Wait time of all ranks, by cause"
    return Table("wait-states", caption, columns, states)


def _most_for(state: WaitState) -> str:
    named = [
        f"{'not known' if one.rank is None else f'rank {one.rank}'} ({seconds(one.seconds)})"
        for one in state.by_rank
    ]
    rest = len(named) > MOST_RANKS or state.left_out_s
    return ", ".join(named[:MOST_RANKS]) + (", others" if rest else "")


def _matrix(waits: Waits, highest: int) -> Table | None:
    """Waiting by blocks of ranks; None where nobody waited."""
    size, blocks = waits.ranks_per_block, waits.blocks_s
    if not any(any(row) for row in blocks):
        return None
    labels = [_block_label(place * size, size, highest) for place in range(len(blocks))]
    columns = (
        Column("Waiting", 0, kind=Kind.TEXT),
        *(Column(label, n, lambda s: seconds(s) if s else "") for n, label in enumerate(labels, 1)),
    )
    caption = "Wait time: rows waited for columns"
    if size > 1:
        caption += f", {size} ranks together"
    held = [(label, *row) for label, row in zip(labels, blocks, strict=True)]
    return Table("waits", caption, columns, held)


def _block_label(first: int, size: int, highest: int) -> str:
    last = max(first, min(first + size - 1, highest))
    return str(first) if size == 1 else f"{first}–{last}"


def _at_end(result: Analysis) -> str:
    """Waiting after a rank's last call until the last rank is done; "" where there is none.

    The replay counts it, and no call does: without its name two sums of waiting would differ.
    """
    if result.replay.delay_costs is None:
        return ""
    waiting = result.replay.delay_costs.waiting_s
    rest = waiting - sum(result.collectives.wait_s_by_rank)
    return "" if rest < LEAST_REST * waiting else seconds(rest)


def waiting_sentence(result: Analysis) -> str:
    """What most of all waiting is due to, or that nobody's work explains it; "" where unknown."""
    costs = result.replay.delay_costs
    if costs is None or not costs.waiting_s or not costs.causes or costs.causes[0].share <= 0:
        return ""
    waiting, most = costs.waiting_s, costs.causes[0]
    at_end = ", its end included" if _at_end(result) else ""
    of = f"All ranks together waited {seconds(waiting)} for each other{at_end}"
    phase = phase_words(most.phase, phase_labels(result.phases)) if most.phase != "" else ""
    due = f"due to {f'{phase} on ' if phase else ''}rank {most.rank}"
    rest = costs.unattributed_s / waiting
    if rest > most.share:
        return f"{of}; {percent(rest)} of it is due to nobody's work, {percent(most.share)} {due}"
    return f"{of}; {percent(most.share)} of it is {due}"


def composition(path: CriticalPath, labels: Mapping[str, str]) -> str:
    """The shares of the phases with most work on the path, of the other ones, and of transfer."""
    phases = path.by_phase[:MOST_PARTS]
    parts = [(phase_words(row.phase, labels), row.seconds) for row in phases]
    parts.append(("other work", path.work_s - sum(seconds for _, seconds in parts)))
    parts.append(("transfer", path.transfer_s))
    whole = path.seconds or 1.0
    told = [(name, seconds / whole) for name, seconds in parts]
    return ", ".join(f"{n} {percent(s)}" for n, s in told if s >= LEAST_PART)


def _takeaway(result: Analysis) -> str:
    path = result.replay.critical_path
    if path is None:
        return ""
    return waiting_sentence(result) or f"The critical path holds {seconds(path.work_s)} of work"


SECTION = Section("causes", "Root causes of wait time", "causes.html", _context, is_folded=True)
