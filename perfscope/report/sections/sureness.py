"""How sure a finding is, what makes it less sure, and what would make it surer."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.report.formats import seconds, whole_percent
from perfscope.report.labels import MINOR_BELOW
from perfscope.savings import UNDER_ASSUMPTIONS
from perfscope.schema.enums import Basis, Confidence, NoInterval, Status
from perfscope.schema.findings import FindingRow, FirstAction, Outcome
from perfscope.units import listed

SIMULATED = "from a replay of the recording with the fix applied"
"""What savings come from that are no bounds."""

OTHER_CAUSE = "something else may explain it"
"""Why a problem is no more than possible whose cause was measured."""

ONE_PERCENT = 0.01  # what an interval is told to; nobody needs it finer

OWN = "this run does not tell how much it varies"
NO_INTERVAL = {
    None: f"{OWN}: too few of its stretches compare",
    NoInterval.LOAD: f"{OWN}, because the load of other processes differs between runs",
    NoInterval.UNSEEN: (
        "it may be more, as not all of what this costs inside libraries was measured: compare with "
        "a run of as many steps without it"
    ),
    NoInterval.PARTS: f"{OWN}, because part of it was timed separately, after the run",
}
"""What is said in place of an interval."""

CONFIRM = (
    "Record the same run with the change: `perfscope compare` shows what it saves and whether "
    "this was the cause."
)
RECORD_AGAIN = "Record a longer run before you change anything."
FIX = "Record again after the change: `perfscope compare` shows what it saved."
BOTH_ON_IDLE = "Record this version and the changed one on an idle host"
FIX_ON_IDLE = f"{BOTH_ON_IDLE}: `perfscope compare` shows what it saved."
CONFIRM_ON_IDLE = (
    f"{BOTH_ON_IDLE}, and let `perfscope compare` show what it saves and whether this was the "
    "cause."
)
"""What to do about a finding after its first action, by how sure it is; see `advice_on`."""


_BY_RANK = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)

OF_HOST = "the busy host may be its cause"
"""The same of ranks that differ by less than other work on the host costs."""


def first_of(row: Outcome) -> Outcome | FirstAction:
    """What saves first; a finding of several runs has one number alone, that of all its cost."""
    return (row.first_action if isinstance(row, FindingRow) else None) or row


def as_measured(row: Outcome) -> Outcome | FirstAction:
    """The same of this run, with the load that others put on its host, as pages tell of it."""
    first = first_of(row)
    if not isinstance(first, FirstAction) or not first.gain_s or first.under_load_s is None:
        return first
    more, interval = first.under_load_s / first.gain_s, first.gain_interval_s
    share, own_s = first.gain_run_share, first.own_s
    return replace(
        first,
        gain_s=first.under_load_s,
        gain_interval_s=interval and (more * interval[0], more * interval[1]),
        gain_run_share=None if share is None else more * share,
        own_s=None if own_s is None else more * own_s,
    )


def is_by_assumption(found: Outcome | FirstAction) -> bool:
    """Whether it is told under several assumptions, as only what is done first is."""
    return isinstance(found, FirstAction) and found.is_by_assumption


def is_varying(row: Outcome) -> bool:
    """Whether chance, and not an inferred cause, makes a finding less certain: more steps tell."""
    return _least(row) is not None and not is_inferred(row)


def is_unsure(row: Outcome) -> bool:
    """Whether a problem that costs enough to act on is one of which nobody can be sure.

    Its status says what it would cost, and gates look at that; to people it is a possible one.
    """
    is_doubted = row.confidence is Confidence.LOW or is_inferred(row) or may_be_host(row)
    return row.status is Status.FAIL and is_doubted


def may_be_host(row: Outcome) -> bool:
    """Whether what other processes took may explain it, as it costs more."""
    return isinstance(row, FindingRow) and row.may_be_host


def doubt(row: Outcome) -> str:
    """Why a problem is no more than possible; "" where it is none, or certain, also of a bound."""
    if row.status.is_fault and _may_be_nothing(row):
        return "the saving may be nothing"
    if may_be_host(row):
        return OF_HOST
    if is_unsure(row):
        return "its cause is inferred" if is_inferred(row) else OTHER_CAUSE
    if row.status is not Status.WARN:
        return ""
    first = first_of(row)
    if first.gain_s is None:
        return "its saving could not be estimated"
    if not is_open(row):
        return ""
    if seen_with(row):
        return "this may explain it"
    return "its cause is inferred" if is_inferred(row) else OTHER_CAUSE


def _may_be_other(row: Outcome) -> bool:
    """Whether something else may explain a problem whose cause was measured."""
    is_at_most_possible = is_unsure(row) and not _may_be_nothing(row)
    return not is_inferred(row) and (is_at_most_possible or (is_open(row) and not seen_with(row)))


def _may_be_nothing(row: Outcome) -> bool:
    return row.confidence is Confidence.LOW and is_varying(row)


def is_open(row: Outcome) -> bool:
    """Whether something else may explain a problem: it is not certain, and worth acting on."""
    is_priced = first_of(row).gain_s is not None and not _may_be_nothing(row)
    is_large = isinstance(row, FindingRow) and (row.gain_share or 0.0) >= MINOR_BELOW
    return row.status is Status.WARN and is_priced and is_large


def _least(row: Outcome) -> float | None:
    """The least that may be saved, of all that the fault costs; None where no interval tells."""
    return row.gain_interval_s[0] if row.gain_interval_s else None


def why_behind(row: Outcome, leader: Outcome) -> str:
    """Why a finding comes behind one that saves less, as a clause.

    "" of one that does not, and where nothing that is told here is why.
    """
    mine, first = as_measured(row), as_measured(leader)
    if mine.gain_s is None or first.gain_s is None or mine.gain_s <= first.gain_s:
        return ""
    if (why := doubt(row)) and not doubt(leader):
        return f"its saving is larger, but {why}"
    if is_bound(mine) and not is_bound(first):
        return (
            "its saving is larger, but not from a replay: it is the time of what the fix replaces, "
            "and new code may take a part of that"
        )
    if _BY_RANK.index(row.confidence) < _BY_RANK.index(leader.confidence):
        return "its saving is larger, but less sure"
    is_less_idle = (first_of(row).gain_s or 0.0) < (first_of(leader).gain_s or 0.0)
    if row.status is leader.status and is_less_idle:
        return "its saving is smaller on an idle host"
    return ""


def sureness(row: Outcome, what: str = "") -> str:
    """How sure a finding is, and what that follows from, in sentences.

    Two things have to be certain, each by itself: what causes the loss, and what a fix of it saves.
    `what` is what the cause is said to be of, where there are several.
    """
    saving, ends = _how_sure_saving(row)
    saving += f". Range: {ends}" if ends else ""
    if not saving:
        return f"{row.confidence.value.capitalize()} confidence in the finding."
    cause = f"Cause of {what}" if what else "Cause"
    if is_inferred(row):
        inferred = f"{cause}: inferred, from time that was measured"
        return f"{inferred}. Saving, if the cause is right: {saving}."
    if _may_be_other(row):
        return f"{cause}: measured, but {OTHER_CAUSE}. Saving, if nothing else does: {saving}."
    return f"{cause}: measured. Saving: {saving}."


def is_up_to_checks(row: Outcome) -> bool:
    """Whether nothing makes a finding uncertain but what checks of the recording found."""
    is_open = is_inferred(row) or may_be_host(row) or _may_be_nothing(row) or _may_be_other(row)
    return row.status.is_fault and not is_open


def answer(row: Outcome, what: str = "", *, seen: str = "", doubts: Sequence[str] = ()) -> str:
    """Whether to trust a finding, as a sentence that answers just that; "" of what is no fault.

    `what` is what the cause is said to be of, where there are several; `seen` is how much was
    measured that it rests on, as a clause, and `doubts` are what checks of the recording found.
    """
    if not row.status.is_fault:
        return ""
    cause = f"cause of {what}" if what else "cause"
    on = f" ({seen})" if seen else ""
    if is_inferred(row):
        its = f"the {cause}" if what else "its cause"
        return f"Partly: the lost time was measured{on}, {its} is inferred: test the fix."
    if may_be_host(row):
        return f"Partly: the lost time was measured{on}, and the busy host may be its cause."
    if _may_be_nothing(row):
        return f"Not yet: the {cause} was measured{on}, and the saving may be nothing."
    if _may_be_other(row):
        other = f"something else than the {cause} may explain it"
        return f"Partly: the lost time was measured{on}, and {other}."
    but = ["its saving was not estimated"] if first_of(row).gain_s is None else []
    but = [*but, *doubts]
    told = f"the {cause} was measured{on}{f', but {listed(but)}' if but else ''}."
    return f"{'Mostly' if doubts else 'Yes'}: {told}"


def saving_sentence(row: Outcome, record: str = "") -> str:
    """Where the saving of a finding comes from, and its range, in sentences; "" where nobody asks.

    `record` tells where its range comes from, where that is other programs, and "" otherwise.
    """
    is_told = first_of(row).gain_s is not None
    saving, ends = _how_sure_saving(row, has_range=bool(record)) if is_told else ("", "")
    if not saving:
        return ""
    condition = ", if the cause is right" if is_inferred(row) else ""
    first = first_of(row)
    bridge = first.bridge if isinstance(first, FirstAction) else ""
    said = [f"Saving{condition}: {saving}.", bridge, f"Range: {ends}." if ends else "", record]
    return " ".join(one for one in said if one)


def is_inferred(row: Outcome) -> bool:
    """Whether its cause is less certain than its saving."""
    return isinstance(row, FindingRow) and row.is_inferred


def _how_sure_saving(row: Outcome, *, has_range: bool = False) -> tuple[str, str]:
    """Where the saving of a finding comes from, and its range, as clauses; "" where nobody asks."""
    first = as_measured(row)
    if first.gain_s is None or not row.status.is_fault:
        is_asked = row.status.is_fault and isinstance(row, FindingRow)
        return ("not estimated" if is_asked else "", "")
    if is_bound(first):
        # the interval that makes it less certain is not told of a bound
        varies = row.confidence is Confidence.MEDIUM and not (is_inferred(row) or doubt(row))
        told = ", and it varies from step to step" if varies else ""
        new = "" if has_range else "; what its new code takes is not taken off"
        return f"the measured time of what the fix replaces{new}{told}", ""
    interval, whole_s = first.gain_interval_s, first.gain_s
    if interval is None:
        interval, whole_s = row.gain_interval_s, row.gain_s or 0.0
    if interval is None or whole_s <= 0:
        return f"{SIMULATED}{_why_no_interval(row, has_range=has_range)}", ""
    if row.confidence is Confidence.LOW and not is_inferred(row):
        return "may be nothing. A longer recording would tell", ""
    if is_by_assumption(first):
        return SIMULATED, _assumed(first)
    low_s, high_s = interval
    if high_s - low_s > whole_s:
        least, most = (seconds(one * first.gain_s / whole_s) for one in interval)
        if low_s > whole_s - low_s:  # most of it is sure
            return f"may be between {least} and {most}", ""
        return f"may be as little as {least}. A longer recording would narrow that", ""
    half = (high_s - low_s) / 2 / whole_s
    off = whole_percent(half) if half >= ONE_PERCENT else f"less than {whole_percent(ONE_PERCENT)}"
    return SIMULATED, "" if has_range else f"give or take {off} as its steps vary"


def _assumed(found: Outcome | FirstAction) -> str:
    """What is assumed at the two ends of a range, as a clause; "" where the derivation says it."""
    if not isinstance(found, FirstAction):
        return UNDER_ASSUMPTIONS
    return found.assumed or ("" if found.bridge else UNDER_ASSUMPTIONS)


def _why_no_interval(row: Outcome, *, has_range: bool) -> str:
    """Why no interval is told; of what has one, which the load of others spoils, if it is wide."""
    first = first_of(row)
    why = first.no_interval if isinstance(first, FirstAction) else None
    is_wide = row.confidence is Confidence.MEDIUM and not is_inferred(row)
    varies = ", but it varies from step to step" if why is NoInterval.LOAD and is_wide else ""
    if has_range and why is not NoInterval.UNSEEN:
        return varies
    return f"{varies}; {NO_INTERVAL[why]}"


def is_bound(found: Outcome | FirstAction) -> bool:
    """Whether no change need save as much."""
    return found.gain_basis is Basis.UPPER_BOUND


def seen_with(row: Outcome) -> str | None:
    """The finding of which it is another view; None where it is one of its own."""
    return row.seen_with if isinstance(row, FindingRow) else None


def is_loaded(row: FindingRow) -> bool:
    """Whether its saving is another one on an idle host, of a run on one that was not."""
    return row.first_action is not None and row.first_action.under_load_s is not None


def rather_idle(row: FindingRow, command: str) -> str:
    """To record on an idle host first, where what else its CPUs do may be the cause.

    Ranks that are unevenly fast may be so by that. "" of any other finding. `command` is what
    records the run again; "" not known.
    """
    if not row.may_be_host:
        return ""
    how = f": `{command}`" if command else ""
    return (
        f"Record this version on an idle host{how}. The ranks may no longer differ, as other "
        "processes may hold up one rank the most."
    )


def is_too_short(row: FindingRow) -> bool:
    """Whether a longer recording has to come before any change, as chance may make all of it."""
    saving = row.first_action
    is_bound_or_none = saving is None or is_bound(saving)
    return row.confidence is Confidence.LOW and is_varying(row) and not is_bound_or_none


def advice_on(row: FindingRow, *, is_busy: bool) -> str:
    """How to make sure of what the first action saves, by what makes it uncertain.

    More steps tell what chance does. Whether it is the cause, and how much of a bound is saved, a
    short run with the change tells, and no longer recording. `is_busy` tells that others used the
    host's CPUs. "" of what is no fault.
    """
    if not row.status.is_fault:
        return ""
    if is_too_short(row):
        return RECORD_AGAIN
    is_low = row.confidence is Confidence.LOW
    is_unpriced = first_of(row).gain_s is None
    is_open = is_unpriced or is_low or row.is_inferred or bool(doubt(row))
    if not (is_busy or is_loaded(row)) or row.may_be_host:
        return CONFIRM if is_open else FIX
    return CONFIRM_ON_IDLE if is_open else FIX_ON_IDLE
