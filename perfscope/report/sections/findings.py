"""All findings: what was looked for, what was found, what it costs, and what to do about it."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from perfscope.places import place
from perfscope.report.formats import count, evidence, seconds
from perfscope.report.labels import (
    ALL_WELL,
    BUSY_HOST,
    GAIN_BASES,
    NO_PROBLEM,
    StatusWord,
    size_of,
    status_word,
    weighed,
)
from perfscope.report.sections.section import Context, Section
from perfscope.report.sections.sureness import (
    as_measured,
    doubt,
    first_of,
    is_bound,
    is_by_assumption,
    is_open,
    is_unsure,
    seen_with,
    sureness,
    why_behind,
)
from perfscope.report.sections.what_to_do import first_step
from perfscope.report.sections.where import bridge_text, line_of
from perfscope.report.table import Column, Kind, Table
from perfscope.report.text import shortened
from perfscope.report.views import place_of, rank_list, safe_link
from perfscope.savings import OR_MORE, ROUGHLY, Beside, Wholes
from perfscope.schema.analysis import Analysis
from perfscope.schema.enums import NoInterval, Status
from perfscope.schema.findings import FindingRow, FirstAction, Outcome, PlannedRun

FOLDED_TITLES = {
    Status.NOT_MEASURED: "not measured",
    Status.NOT_APPLICABLE: "not applicable to this run",
    Status.ERROR: "failed to run",
    Status.PASS: "passed",
}
"""What is said of the findings that the page folds, by their status."""

NOT_MADE = "findings-not-made"
"""Where a page tells which diagnoses could not run."""

SAME_LINE = "mostly of the same line: do not add it"
OVERLAPPING = "overlapping: do not add it"
"""What is said of the saving of a finding that is another view of a problem."""

LINE_MEANING = "A function, and the line of it in which it was seen most."

MOST_PLACES = 8
ANCHOR = re.compile("[a-z][a-z0-9_]*")
MOST_LINES = 40
EVIDENCE = (
    Column("Measured", "label", kind=Kind.CODED, longest=100),
    Column(
        "Value",
        lambda fact: evidence(fact.value, fact.unit),
        kind=Kind.CODED,
        longest=100,
    ),
    Column("Expected, or to compare", "expected", kind=Kind.CODED, longest=120),
)


def wholes(result: Analysis) -> Wholes:
    """The lengths of which savings are shares: the run, and its analyzed window."""
    start, end = result.run.focus_of_analysis_s
    whole = result.whole_run
    window_s = whole.run_s if whole else end - start
    run_s, others_s = result.run.wall_s, result.verdict.others_s
    left_s = run_s - others_s if run_s and others_s else 0.0
    return Wholes(run_s, window_s, left_s if left_s > 0 else None)


def saving_text(row: Outcome, of: Wholes) -> str:
    """What the first action of a finding saves, with its wholes and interval; "" if not known.

    Of this run as measured, and of one on an idle host, which alone compares with other runs.
    """
    first, here = first_of(row), as_measured(row)
    if here is first or first.gain_s is None:
        return _saving(first, of)
    idle = f"{ROUGHLY}{seconds(first.gain_s)} on an idle host"
    return f"{_saving(here, of)}; {idle}"


def fix_text(row: Outcome, of: Wholes) -> str:
    """What the first screen tells: of the run alone, as a clause behind "would save"."""
    here, idle = as_measured(row), _idle(row, of)
    if here.gain_s is None:
        return ""
    found = here if idle is None else idle
    return of.fix(
        here.gain_s,
        is_bound=is_bound(found),
        interval=found.gain_interval_s,
        is_least=is_least(found),
        beside=Beside(idle_s=found.gain_s if idle else None),
    )


def _idle(row: Outcome, of: Wholes) -> Outcome | FirstAction | None:
    """What is told of an idle host, and not as measured; None for nothing."""
    first, here = first_of(row), as_measured(row)
    is_told = here is not first and first.gain_s is not None and first.gain_s < (of.idle_s or 0.0)
    return first if is_told else None


def is_least(found: Outcome | FirstAction) -> bool:
    """Whether a part of what is saved was not measured."""
    return isinstance(found, FirstAction) and found.no_interval is NoInterval.UNSEEN


def _saving(found: Outcome | FirstAction, of: Wholes) -> str:
    if found.gain_s is None:
        return ""
    return of.saving(
        found.gain_s,
        is_bound=is_bound(found),
        interval=found.gain_interval_s,
        is_by_assumption=is_by_assumption(found),
        is_least=is_least(found),
    )


def noted_text(row: Outcome, of: Wholes) -> str:
    """What a note is about, behind its title: `: 1.31 s (2.9 % of the 45.0 s run)`."""
    if row.gain_s is None:
        return " (no saving is known)"
    return f": {of.of_run.saving(row.gain_s, is_bound=is_bound(row))}"


def parts_text(row: Outcome) -> str:
    """How what ranks spend leads to a saving, and what that counts, in sentences."""
    first = row.first_action if isinstance(row, FindingRow) else None
    if first is None or first.gain_s is None:
        return ""
    counts = f"The saving {first.counts}." if first.counts and not first.counts_more else ""
    return " ".join(one for one in (first.bridge, counts) if one)


def _saved(found: Outcome | FirstAction) -> str:
    """The seconds alone; "" if not known."""
    if found.gain_s is None:
        return ""
    roughly = ROUGHLY if is_bound(found) or is_least(found) else ""
    return f"{roughly}{seconds(found.gain_s)}{OR_MORE if is_least(found) else ''}"


def weight(row: Outcome, of: Wholes) -> StatusWord:
    """Its status in words, a problem's by the share that the first action saves of what is told."""
    status = Status.WARN if is_unsure(row) else row.status
    return weighed(status.value, _share(row, of), is_doubted=bool(doubt(row)))


def size_text(row: Outcome, of: Wholes) -> str:
    """What a problem of its weight saves, `a fix saves 10 % or more`; "" where nobody knows."""
    return size_of(weight(row, of), _share(row, of), "this run")


def _share(row: Outcome, of: Wholes) -> float | None:
    """Of the run, what the first action saves: on an idle host, where that is told."""
    found = _idle(row, of) or as_measured(row)
    return found.gain_run_share if isinstance(found, (FindingRow, FirstAction)) else None


def verdict_word(result: Analysis) -> StatusWord:
    """The status of the verdict: a problem's weight is that of the finding that it leads with."""
    status, top = result.verdict.status.value, result.verdict.top
    if not top and result.verdict.others_s is not None and not result.run.damage:
        return BUSY_HOST
    if result.verdict.status is Status.PASS and not result.run.damage:
        return ALL_WELL
    if result.verdict.status is Status.INFO and result.verdict.efficiency.value is not None:
        return NO_PROBLEM
    leading = next((row for row in result.findings if row.id in top[:1]), None)
    if leading is None or result.run.damage or leading.status.value != status:
        return status_word(status)
    return weight(leading, wholes(result))


def _cost(row: Outcome, of: Wholes) -> str:
    """What the whole fault costs, where its first action saves something else; else ""."""
    return "" if first_of(row).gain_s in (None, row.gain_s) else _saving(row, of)


def _anchor(row: Outcome, position: int) -> str:
    return f"finding-{row.id if ANCHOR.fullmatch(row.id) else position + 1}"


def finding_view(row: Outcome, position: int, of: Wholes) -> Context:
    """One finding as the page shows it: links to it stay good while its diagnosis keeps its name.

    `position` makes the anchor where the id cannot; `of` names the shares.
    """
    anchor = _anchor(row, position)
    window = row.window_s or ()
    return {
        "anchor": anchor,
        "status": weight(row, of),
        "size": size_text(row, of),
        "title": row.title or row.id,
        "id": row.id,
        "summary": row.summary,
        "gain": saving_text(row, of),
        "fix": fix_text(row, of),
        "parts": parts_text(row),
        "bridge": bridge_text(row),
        "saved": _saved(as_measured(row)),
        "cost": _cost(row, of),
        "gain_basis": GAIN_BASES[row.gain_basis] if row.gain_basis else "",
        "assumptions": row.assumptions[:MOST_LINES],
        "planned": planned_text(row.planned) if isinstance(row, FindingRow) else "",
        "is_judged": not (row.status.is_unmade or row.status is Status.NOT_APPLICABLE),
        "sureness": sureness(row),
        "ranks": rank_list(row.ranks) if row.ranks else "",
        "window_s": " ".join(map(str, window)),
        "window": " to ".join(map(seconds, window)),
        "doubt": doubt(row),
        "view": view_text(row, of),
        "next_step": next_step(row),
        "where": [place_of(frame) for frame in row.where[:MOST_PLACES]],
        "line": line_of(row),
        "evidence": Table(
            f"{anchor}-evidence",
            f"Evidence for: {shortened(row.title, 80)}",
            EVIDENCE,
            row.evidence[:MOST_LINES],
            has_caption=False,
        ),
        "actions": row.actions[:MOST_LINES],
        "references": [_reference(reference) for reference in row.references[:MOST_LINES]],
        "overlaps": row.overlaps[:MOST_LINES],
    }


def view_text(row: Outcome, of: Wholes, leader: Outcome | None = None) -> str:
    """What a finding saves, and why that is uncertain, in the block of the problem it is of."""
    idle, why = _idle(row, of), doubt(row)
    saving = _saving(as_measured(row), of.of_run)
    if idle is not None:
        saving = _saved(idle)
    why = "" if leader and why == doubt(leader) else why  # as is told of the problem already
    why = (why_behind(row, leader) if leader else "") or why
    is_there = leader is not None and bool(row.where) and row.where[:1] == leader.where[:1]
    told = f": {saving}, {SAME_LINE if is_there else OVERLAPPING}" if saving else ""
    return f"{told}{f' ({why})' if why else ''}"


def next_step(row: Outcome, leader: Outcome | None = None) -> str:
    """The first action; "" of what the problem in whose block it stands may explain, or is at."""
    is_explained = seen_with(row) and is_open(row)
    is_there = leader is not None and bool(row.where) and row.where[:1] == leader.where[:1]
    return "" if is_explained or is_there or not row.actions else first_step(row)


def is_placed(row: Outcome) -> bool:
    """Whether its title names the line to change."""
    frame = row.where[0] if row.where else None
    return frame is not None and place(frame.function, frame.file, frame.line) in row.title


def planned_text(planned: PlannedRun | None) -> str:
    """The gain over the planned run; "" where nobody asked."""
    if planned is None:
        return ""
    of = f"of {count(planned.steps)} planned steps"
    if planned.gain_s is not None:
        return f"{of}: {seconds(planned.gain_s)}"
    return f"{of}: not known, {planned.reason}"


def _reference(reference: str) -> Context:
    """A reference as text and link: an address, or a title with the address at its end."""
    title, _, address = reference.rpartition(" ")
    link = safe_link(address)
    return {"title": title if link else reference, "link": link}


def all_findings(rows: Sequence[Outcome], of: Wholes, top: Sequence[str] = ()) -> Context:
    """What the page shows of the findings of a run, or of a study.

    Those with the ids `top` stand above, with what they save: they have their numbers there. The
    saving of the first alone has the range of other programs, whose `record` stands with it.
    """
    # what was not found, or not looked for, shares its seconds with nothing
    told = {row.id for row in rows if row.status not in FOLDED_TITLES}
    views = [finding_view(_sharing(row, told), n, of) for n, row in enumerate(rows)]
    found = [(row.status, view) for row, view in zip(rows, views, strict=True)]
    unmade = next((one for one in FOLDED_TITLES if one.is_unmade and one in dict(found)), None)
    return {
        "open": [view for status, view in found if status not in FOLDED_TITLES],
        "folded": [
            {"title": title, "findings": views, "anchor": NOT_MADE if folded is unmade else ""}
            for folded, title in FOLDED_TITLES.items()
            if (views := [view for status, view in found if status is folded])
        ],
        "titles": {row.id: row.title or row.id for row in rows},
        "numbers": {name: number for number, name in enumerate(_leading(rows, top), start=1)},
        "anchors": {row.id: _anchor(row, n) for n, row in enumerate(rows)},
        "count": len(found),
        "line_meaning": LINE_MEANING,
        "unmade": sum(status.is_unmade for status, _ in found),
    }


def _leading(rows: Sequence[Outcome], top: Sequence[str]) -> list[str]:
    """Those of `top` that have a block of their own on the first screen."""
    led = {row.id for row in rows if isinstance(row, FindingRow) and row.seen_with}
    return [name for name in top if name not in led]


def _sharing(row: Outcome, told: Collection[str]) -> Outcome:
    """The finding with the overlaps alone that are told of."""
    return replace(row, overlaps=tuple(one for one in row.overlaps[:MOST_LINES] if one in told))


def _context(result: Analysis) -> Context:
    of, leading = wholes(result), result.verdict
    return all_findings(result.findings, of, leading.top)


SECTION = Section("findings", "All findings", "findings.html", _context)
