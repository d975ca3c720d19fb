"""Timeline: what each rank did when, as a picture that a script lets people zoom into."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from perfscope import places
from perfscope.report.formats import Scale, seconds, time_scale
from perfscope.report.labels import phase_words
from perfscope.report.palette import ACCOUNT_ROLES
from perfscope.report.sections.causes import phase_labels
from perfscope.report.sections.section import Context, Section
from perfscope.report.text import shortened
from perfscope.report.timeline import Axis, Row, timeline_picture
from perfscope.report.views import Shown
from perfscope.schema.analysis import Analysis
from perfscope.schema.common import Place
from perfscope.schema.time import Timeline, TimelineLevel, TimelineRow, TimelineSpot, TimelineSpots

NOBODY = "."
LETTER = re.compile("[a-z]")
TWO_LETTERS = re.compile(r"(?:[a-z]{2}|\.\.)*")
MOST_ROWS = 64
LONGEST_HOST = 14


def _context(result: Analysis) -> Context:
    found = result.timeline
    ranks = found.rows[:MOST_ROWS]
    accounts = _accounts(found)
    levels = _levels(found.levels, len(ranks), {*accounts})
    if not levels or not found.length_s > 0:
        return {"reason": found.reason or "no rank left a recording of its time"}
    axis = _axis(found.start_s, found.length_s)
    used = [accounts[letter] for letter in accounts if _is_used(levels, letter)]
    names = [_name(row) for row in ranks]
    behind = _behind(found.behind, len(ranks))
    labels = _labels(ranks)
    coarsest, finest = levels[0], levels[-1]
    shares = [_shares(row) for row in finest.rows]
    drawn = [Row(*row) for row in zip(names, labels, coarsest.rows, shares, strict=True)]
    return {
        "reason": "",
        "from": seconds(axis.start_s),
        "to": seconds(axis.start_s + found.length_s),
        "length": seconds(found.length_s),
        "chart": timeline_picture(
            "What each rank did over time", drawn, coarsest.bin_s, axis, accounts
        ),
        "used": used,
        "has_gaps": _is_used(levels, NOBODY),
        "finest": seconds(finest.bin_s),
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
        one.letter: Shown(one.id if one.id in ACCOUNT_ROLES else "untraced", one.label)
        for one in found.accounts
        if LETTER.fullmatch(one.letter)
    }


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
    return json.dumps(
        {
            "start": axis.start_s,
            "length": axis.length_s,
            "unit": axis.scale.unit,
            "factor": axis.scale.factor,
            "accounts": [
                {"letter": letter, "role": shown.role, "label": shown.label}
                for letter, shown in accounts.items()
            ],
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
