"""Timeline: what each rank did when, as a picture that a script lets people zoom into."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from perfscope import places
from perfscope.report.formats import Scale, seconds, time_scale
from perfscope.report.labels import phase_words
from perfscope.report.palette import ACCOUNT_ROLES, LOST_FILLS
from perfscope.report.sections.causes import phase_labels
from perfscope.report.sections.section import Context, Section
from perfscope.report.text import shortened
from perfscope.report.timeline import Axis, Row, stacked, timeline_picture
from perfscope.report.views import Shown
from perfscope.schema.analysis import Analysis
from perfscope.schema.common import Place
from perfscope.schema.losses import SLOWED
from perfscope.schema.time import (
    SMALLER_CAUSE,
    Timeline,
    TimelineAccount,
    TimelineLevel,
    TimelineRow,
    TimelineSpot,
    TimelineSpots,
)
from perfscope.units import inside

NOBODY = "."
LETTER = re.compile("[a-zA-Z]")
TWO_LETTERS = re.compile(r"(?:[a-z]{2}|\.\.)*")
MOST_ROWS = 64
MOST_STACKED = 20  # rows that are high enough to show shares
MOST_HIGH_ROWS, MOST_COLUMNS = 4, 96  # of the picture without a script, which the page holds whole
LONGEST_HOST = 14


def _context(result: Analysis) -> Context:
    found = result.timeline
    ranks = found.rows[:MOST_ROWS]
    accounts = _accounts(found)
    levels = _levels(found.levels, len(ranks), {*accounts})
    if not levels or not found.length_s > 0:
        return {"reason": found.reason or "no rank left a recording of its time"}
    axis = _axis(found.start_s, found.length_s)
    names = [_name(row) for row in ranks]
    behind = _behind(found.behind, len(ranks))
    labels = _labels(ranks)
    drawn = _drawn(names, labels, levels)
    return {
        "reason": "",
        "from": seconds(axis.start_s),
        "to": seconds(axis.start_s + found.length_s),
        "length": seconds(found.length_s),
        "chart": timeline_picture(
            "What each rank did over time", drawn, levels[0].bin_s, axis, accounts
        ),
        "used": _legend([accounts[letter] for letter in accounts if _is_used(levels, letter)]),
        "is_stacked": len(ranks) <= MOST_STACKED,
        "is_drawn_stacked": len(ranks) <= MOST_HIGH_ROWS,
        "causes_left_out": found.causes_left_out,
        "is_held_up": any(_is_used(levels, one) for one in _held_up(found)),
        "has_gaps": _is_used(levels, NOBODY),
        "finest": seconds(levels[-1].bin_s),
        "rows": len(ranks),
        "left_out": found.ranks_left_out,
        "data": _data(
            axis,
            accounts,
            list(zip(names, labels, strict=True)),
            levels,
            steps=found.steps,
            behind=_spots(behind, phase_labels(result.phases)),
        ),
        "later": _later(levels, behind),
    }


def _accounts(found: Timeline) -> dict[str, Shown]:
    """The accounts by letter."""
    return {
        one.letter: Shown(_role(one), one.label)
        for one in found.accounts
        if LETTER.fullmatch(one.letter)
    }


def _legend(used: Sequence[Shown]) -> list[Shown]:
    """What is used, each look once: a loss looks alike in all accounts that it is in."""
    labels: dict[str, list[str]] = {}
    for one in used:
        labels.setdefault(one.role, []).append(one.label)
    return [Shown(role, _together(told)) for role, told in labels.items()]


def _together(labels: Sequence[str]) -> str:
    """`Training, computation: waiting for a CPU` of two labels that end alike."""
    parts = [label.partition(": ") for label in dict.fromkeys(labels)]
    first, _, what = parts[0]
    if len(parts) == 1 or not what or any(one[2] != what for one in parts):
        return ", ".join(dict.fromkeys(labels))
    return f"{', '.join([first, *(inside(one[0]) for one in parts[1:])])}: {what}"


def _drawn(
    names: Sequence[str], labels: Sequence[str], levels: Sequence[TimelineLevel]
) -> list[Row]:
    """The rows of the picture that is there without a script."""
    told = zip(names, labels, levels[0].rows, levels[-1].rows, strict=True)
    return [
        Row(name, label, cells, _shares(fine), _columns(fine, len(names)))
        for name, label, cells, fine in told
    ]


def _held_up(found: Timeline) -> list[str]:
    """The letters of causes of which it is not recorded when exactly they held work up."""
    sums = {kind.value for kind in SLOWED}
    return [one.letter for one in found.accounts if one.cause in sums]


def _role(one: TimelineAccount) -> str:
    """What colors it: a loss looks as in the loss account."""
    if one.cause:
        return LOST_FILLS.get(one.cause, LOST_FILLS[SMALLER_CAUSE]).role
    return one.id if one.id in ACCOUNT_ROLES else "untraced"


def _levels(levels: Sequence[TimelineLevel], ranks: int, letters: set[str]) -> list[TimelineLevel]:
    """The levels that hold a known letter for each bin of each rank, coarsest first."""
    known = letters | {NOBODY}
    return [
        level
        for level in levels
        if len(level.rows) == ranks > 0
        and all(len(row) == level.bins > 0 and {*row} <= known for row in level.rows)
        and level.bin_s > 0
    ]


def _behind(found: TimelineSpots | None, ranks: int) -> TimelineSpots | None:
    """What stands behind the bins; None where the document does not hold it for each of them."""
    if found is None or not found.bin_s > 0 or len(found.rows) != ranks:
        return None
    if any(len(row) != len(found.rows[0]) or not TWO_LETTERS.fullmatch(row) for row in found.rows):
        return None
    return found


def _spots(behind: TimelineSpots | None, labels: Mapping[str, str]) -> Context | None:
    """How long the bins are, and in words what may stand behind one."""
    if behind is None:
        return None
    return {"bin": behind.bin_s, "words": [_words(spot, labels) for spot in behind.spots]}


def _words(spot: TimelineSpot, labels: Mapping[str, str]) -> str:
    """`forward, train() (train.py:151), MPI_Allreduce, waits for rank 1`."""
    parts = [
        phase_words(spot.phase, labels) if spot.phase else "",
        _line(spot.where) if spot.where else "",
        spot.operation or "",
        "" if spot.awaited_rank is None else f"waits for rank {spot.awaited_rank}",
    ]
    return ", ".join(filter(None, parts))


def _line(found: Place) -> str:
    """`train() (train.py:151)`, the function without those around it."""
    return shortened(places.place(found.function, found.file, found.line), 110)


def _shares(cells: str) -> dict[str, float]:
    """What share of a row each letter has."""
    return {letter: count / len(cells) for letter, count in Counter(cells).items()}


def _columns(cells: str, rows: int) -> list[dict[str, float]]:
    """The shares in equal parts of a row, for a picture of few rows."""
    count = min(MOST_COLUMNS, len(cells)) if rows <= MOST_HIGH_ROWS else 0
    edges = [place * len(cells) // count for place in range(count + 1)] if count else []
    return [_shares(cells[first:behind]) for first, behind in pairwise(edges)]


def _is_used(levels: Sequence[TimelineLevel], letter: str) -> bool:
    return any(letter in row for level in levels for row in level.rows)


def _axis(start_s: float, length_s: float) -> Axis:
    """In seconds, and in less for a time that ends before the first second."""
    end_s = start_s + length_s
    return Axis(start_s, length_s, Scale(1.0, "s") if end_s >= 1 else time_scale(end_s))


def _name(row: TimelineRow) -> str:
    return f"rank {row.rank}" + (f" on {row.host}" if row.host else "")


def _labels(ranks: Sequence[TimelineRow]) -> list[str]:
    """What stands before each bar: the rank, with its host where there are several."""
    is_one = len({row.host for row in ranks}) == 1
    return [
        f"rank {row.rank}" + ("" if is_one else f" · {shortened(row.host, LONGEST_HOST)}")
        for row in ranks
    ]


def _data(
    axis: Axis,
    accounts: dict[str, Shown],
    ranks: list[tuple[str, str]],
    levels: Sequence[TimelineLevel],
    *,
    steps: Sequence[tuple[int, float]],
    behind: Context | None,
) -> str:
    """What the script draws, as JSON text."""
    shades = {one.role: one.shade for one in LOST_FILLS.values()}
    return json.dumps(
        {
            "start": axis.start_s,
            "length": axis.length_s,
            "unit": axis.scale.unit,
            "factor": axis.scale.factor,
            "accounts": [
                {
                    "letter": letter,
                    "role": shown.role,
                    "shade": shades.get(shown.role, shown.role),
                    "label": shown.label,
                }
                for letter, shown in accounts.items()
            ],
            "stacked": [[*accounts].index(letter) for letter in stacked(accounts)],
            "is_stacked": len(ranks) <= MOST_STACKED,
            "rows": [{"name": name, "label": label} for name, label in ranks],
            "steps": [(number, start_s - axis.start_s) for number, start_s in steps],
            "behind": behind,
            "levels": [
                {"bin": level.bin_s, "rows": None if place else level.rows}
                for place, level in enumerate(levels)
            ],
        },
        separators=(",", ":"),
    )


def _later(levels: Sequence[TimelineLevel], behind: TimelineSpots | None) -> str:
    """What the script asks for when people look closer, as JSON text; most of a page is this."""
    held = {"levels": [level.rows for level in levels[1:]], "behind": behind and behind.rows}
    return json.dumps(held, separators=(",", ":"))


SECTION = Section("timeline", "Timeline", "timeline.html", _context)
