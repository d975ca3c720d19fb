"""All findings: what was looked for, what was found, what it costs, and what to do about it."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from perfscope.places import place
from perfscope.report.formats import count, evidence, seconds, whole_percent
from perfscope.report.labels import GAIN_BASES, MINOR_BELOW, StatusWord, status_word, weighed
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.text import shortened
from perfscope.report.views import place_of, rank_list, safe_link
from perfscope.savings import Wholes
from perfscope.schema.analysis import Analysis
from perfscope.schema.enums import Basis, Confidence, Status
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

LINE_MEANING = "A function, and the line of it in which it was seen most."

OTHER_CAUSE = "something else may explain it"
"""Why a problem is no more than possible whose cause was measured."""

MOST_PLACES = 8
ANCHOR = re.compile("[a-z][a-z0-9_]*")
MOST_LINES = 40
ONE_PERCENT = 0.01  # what an interval is told to; nobody needs it finer
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
    return Wholes(result.run.wall_s, whole.run_s if whole else end - start)


def saving_text(row: Outcome, of: Wholes) -> str:
    """What the first action of a finding saves, with its wholes and interval; "" if not known."""
    return _saving(_first(row), of)


def _first(row: Outcome) -> Outcome | FirstAction:
    """What saves first; a finding of several runs has one number alone, that of all its cost."""
    return (row.first_action if isinstance(row, FindingRow) else None) or row


def _saving(found: Outcome | FirstAction, of: Wholes) -> str:
    if found.gain_s is None:
        return ""
    return of.saving(
        found.gain_s,
        is_bound=_is_bound(found),
        interval=found.gain_interval_s,
        is_by_assumption=_is_by_assumption(found),
    )


def parts_text(row: Outcome) -> str:
    """How what ranks spend leads to a saving, and what that counts, in sentences."""
    first = row.first_action if isinstance(row, FindingRow) else None
    if first is None or first.gain_s is None:
        return ""
    counts = f"The saving {first.counts}." if first.counts and not first.counts_more else ""
    return " ".join(one for one in (first.bridge, counts) if one)


def bridge_text(row: Outcome) -> str:
    """How what its title says that it takes leads to the saving, in sentences; "" for nothing."""
    first = row.first_action if isinstance(row, FindingRow) else None
    return first.bridge if first else ""


def _is_by_assumption(found: Outcome | FirstAction) -> bool:
    """Whether it is told under several assumptions, as only what is done first is."""
    return isinstance(found, FirstAction) and found.is_by_assumption


def _saved(found: Outcome | FirstAction) -> str:
    """The seconds alone; "" if not known."""
    at_most = "up to " if _is_bound(found) else ""
    return "" if found.gain_s is None else f"{at_most}{seconds(found.gain_s)}"


def weight(row: Outcome) -> StatusWord:
    """Its status in words, a problem's by the share of the run that the first action saves."""
    first = _first(row)
    share = first.gain_run_share if isinstance(first, (FindingRow, FirstAction)) else None
    status = Status.WARN if _is_unsure(row) else row.status
    return weighed(status.value, share, is_doubted=bool(doubt(row)))


def is_varying(row: Outcome) -> bool:
    """Whether chance, and not an inferred cause, makes a finding less certain: more steps tell."""
    return _least(row) is not None and not _is_inferred(row)


def _is_unsure(row: Outcome) -> bool:
    """Whether a problem that costs enough to act on is one of which nobody can be sure.

    Its status says what it would cost, and gates look at that; to people it is a possible one.
    """
    return row.status is Status.FAIL and row.confidence is Confidence.LOW


def doubt(row: Outcome) -> str:
    """Why a problem is no more than possible; "" where it is none, or certain, also of a bound."""
    if row.status.is_fault and _may_be_nothing(row):
        return "the saving may be nothing"
    if _is_unsure(row):
        return "its cause is inferred" if _is_inferred(row) else OTHER_CAUSE
    if row.status is not Status.WARN:
        return ""
    first = _first(row)
    if first.gain_s is None:
        return "its saving could not be estimated"
    if not _is_open(row):
        return ""
    if _seen_with(row):
        return "this may explain it"
    return "its cause is inferred" if _is_inferred(row) else OTHER_CAUSE


def _may_be_other(row: Outcome) -> bool:
    """Whether something else may explain a problem whose cause was measured."""
    is_unsure = _is_unsure(row) and not _may_be_nothing(row)
    return not _is_inferred(row) and (is_unsure or (_is_open(row) and not _seen_with(row)))


def _may_be_nothing(row: Outcome) -> bool:
    return row.confidence is Confidence.LOW and is_varying(row)


def _is_open(row: Outcome) -> bool:
    """Whether something else may explain a problem: it is not certain, and worth acting on."""
    is_priced = _first(row).gain_s is not None and not _may_be_nothing(row)
    is_large = isinstance(row, FindingRow) and (row.gain_share or 0.0) >= MINOR_BELOW
    return row.status is Status.WARN and is_priced and is_large


def _least(row: Outcome) -> float | None:
    """The least that may be saved, of all that the fault costs; None where no interval tells."""
    return row.gain_interval_s[0] if row.gain_interval_s else None


def sureness(row: Outcome, what: str = "the finding") -> str:
    """How sure a finding is, and what that follows from, in sentences.

    Two things have to be certain, and the less certain one decides: what causes the loss, and what
    a fix of it saves.
    """
    told = f"{row.confidence.value.capitalize()} confidence in {what}"
    saving = _how_sure_saving(row)
    if not saving:
        return f"{told}."
    if _is_inferred(row):
        return f"{told}: its cause is inferred, not measured. If it is the cause, {saving}."
    if _may_be_other(row):
        return f"{told}: {OTHER_CAUSE}. If nothing else does, {saving}."
    return f"{told}{';' if _is_bound(_first(row)) else ':'} {saving}."


def _is_inferred(row: Outcome) -> bool:
    return isinstance(row, FindingRow) and row.is_inferred


def _how_sure_saving(row: Outcome) -> str:
    """How sure the saving of a finding is, as a clause; "" where nobody asks."""
    first = _first(row)
    if first.gain_s is None or not row.status.is_fault:
        is_asked = row.status.is_fault and isinstance(row, FindingRow)
        return "its saving is not estimated" if is_asked else ""
    if _is_bound(first):
        # the interval that makes it less certain is not told of a bound
        varies = row.confidence is Confidence.MEDIUM and not (_is_inferred(row) or doubt(row))
        return f"its saving is an upper bound{' and varies from step to step' if varies else ''}"
    interval, whole_s = first.gain_interval_s, first.gain_s
    if interval is None:
        interval, whole_s = row.gain_interval_s, row.gain_s or 0.0
    if interval is None or whole_s <= 0:
        return f"simulating the fix predicts this saving{_why_no_interval(row)}"
    if row.confidence is Confidence.LOW and not _is_inferred(row):
        return "its saving may be nothing. A longer recording would tell"
    low_s, high_s = interval
    if _is_by_assumption(first):
        least, most = map(seconds, interval)
        return f"its saving is {least} to {most}, depending on what is assumed of the fix"
    if high_s - low_s > whole_s:
        least, most = (seconds(one * first.gain_s / whole_s) for one in interval)
        if low_s > whole_s - low_s:  # most of it is sure
            return f"its saving may be between {least} and {most}"
        return f"its saving may be as little as {least}. A longer recording would narrow that"
    half = (high_s - low_s) / 2 / whole_s
    off = whole_percent(half) if half >= ONE_PERCENT else f"less than {whole_percent(ONE_PERCENT)}"
    return f"simulating the fix predicts this saving, give or take {off}"


def _why_no_interval(row: Outcome) -> str:
    """Why no interval is told; of what has one, which the load of others spoils, if it is wide."""
    first = _first(row)
    if not (isinstance(first, FirstAction) and first.has_untold_interval):
        return "; there are too few repeats for an interval"
    is_wide = row.confidence is Confidence.MEDIUM and not _is_inferred(row)
    varies = ", but it varies from step to step" if is_wide else ""
    return (
        f"{varies}; no interval is given, because the load of other processes varies between runs"
    )


def _is_bound(found: Outcome | FirstAction) -> bool:
    return found.gain_basis is Basis.UPPER_BOUND


def which_ranks(row: Outcome, world: int) -> str:
    """Which of so many ranks a finding is about; "" where nobody knows."""
    holder = row.holder if isinstance(row, FindingRow) else None
    is_there = holder is not None and holder.where is not None and holder.where in row.where[:1]
    if holder is not None and is_there and holder.rank not in row.ranks:
        return f"rank {holder.rank}"  # the others wait for what it does there
    if world > 1 and len(set(row.ranks)) == world:
        return "all ranks"
    return rank_list(row.ranks) if row.ranks else ""


def where_text(row: Outcome, world: int) -> str:
    """The line to change and on which of so many ranks, as far as they are known."""
    frame = row.where[0] if row.where else None
    told = place(frame.function, frame.file, frame.line) if frame else ""
    ranks = which_ranks(row, world)
    return " on ".join(part for part in (told, ranks) if part)


def verdict_word(result: Analysis) -> StatusWord:
    """The status of the verdict: a problem's weight is that of the finding that it leads with."""
    status, top = result.verdict.status.value, result.verdict.top
    leading = next((row for row in result.findings if row.id in top[:1]), None)
    if leading is None or result.run.damage or leading.status.value != status:
        return status_word(status)
    return weight(leading)


def _cost(row: Outcome, of: Wholes) -> str:
    """What the whole fault costs, where its first action saves something else; else ""."""
    return "" if _first(row).gain_s in (None, row.gain_s) else _saving(row, of)


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
        "status": weight(row),
        "title": row.title or row.id,
        "id": row.id,
        "summary": row.summary,
        "gain": saving_text(row, of),
        "gain_of_run": saving_text(row, of.of_run),
        "parts": parts_text(row),
        "bridge": bridge_text(row),
        "saved": _saved(_first(row)),
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
        "is_placed": _is_placed(row),
        "view": view_text(row, of),
        "next_step": next_step(row),
        "where": [place_of(frame) for frame in row.where[:MOST_PLACES]],
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


def _seen_with(row: Outcome) -> str | None:
    return row.seen_with if isinstance(row, FindingRow) else None


def view_text(row: Outcome, of: Wholes) -> str:
    """What a finding saves, and why that is uncertain, in the block of the problem it is of."""
    first, why = _first(row), doubt(row)
    saving = ""
    if first.gain_s is not None:
        saving = _saving(first, of.of_run)
    return f"{f': estimated saving {saving}' if saving else ''}{f' ({why})' if why else ''}"


def next_step(row: Outcome, leader: Outcome | None = None) -> str:
    """The first action; "" of what the problem in whose block it stands may explain, or is at."""
    is_explained = _seen_with(row) and _is_open(row)
    is_there = leader is not None and bool(row.where) and row.where[:1] == leader.where[:1]
    return "" if is_explained or is_there or not row.actions else row.actions[0]


def _is_placed(row: Outcome) -> bool:
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

    Those with the ids `top` stand above, with what they save: they have their numbers there.
    """
    # what was not found, or not looked for, shares its seconds with nothing
    told = {row.id for row in rows if row.status not in FOLDED_TITLES}
    found = [(row.status, finding_view(_sharing(row, told), n, of)) for n, row in enumerate(rows)]
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
    return all_findings(result.findings, wholes(result), result.verdict.top)


SECTION = Section("findings", "All findings", "findings.html", _context)
