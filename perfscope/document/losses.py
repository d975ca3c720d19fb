"""The loss account in the document."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.document.breakdown import in_run_s
from perfscope.findings.core.finding import Finding, place_of
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.claims import claims
from perfscope.losses.entry import Entry, LossAccount, NoSaving, Saving, told
from perfscope.losses.words import label
from perfscope.savings import SHARED_HOST
from perfscope.schema.enums import LossKind
from perfscope.schema.losses import LossEntry, Losses, LossSaving
from perfscope.schema.whole_run import WholeRun
from perfscope.student_t import student_95
from perfscope.trace.model import Frame
from perfscope.trace.operations import LEFT_OUT, name_of
from perfscope.units import NS

MOST_RANKS = 16


def losses(run: Facts, findings: Sequence[Finding]) -> Losses:
    """The `losses` object of analysis.json."""
    account, explained = run.losses, claims(run, findings)
    whole, told_by = run.results.whole_run, {one.id: one for one in findings}
    entries = [
        _entry(entry, account, [told_by[one] for one in explained.get(entry.cause, ())], whole)
        for entry in account.entries
    ]
    ranks = max(len(run.results.trace.ranks), 1)
    entries = [replace(one, mean_s=in_run_s(one, one.own_ns or one.ns) / ranks) for one in entries]
    if run.on_free_cpus.load.edits:  # see `outside_load.of_any_run`
        entries = [replace(one, saving=_of_any_run(one.saving)) for one in entries]
    return Losses(
        life_ns=account.life_ns,
        window_ns=account.window_ns,
        training_ns=account.training_ns,
        lost_ns=account.lost_ns,
        lost_share=account.lost_share,
        unknown_share=account.unknown_share,
        entries=tuple(entries),
    )


def _of_any_run(saving: LossSaving) -> LossSaving:
    """The same on a host whose load the next run may not meet: without an interval, and why."""
    if saving.interval_s is None:
        return saving
    return replace(saving, interval_s=None, reason=SHARED_HOST)


def _saving(entry: Entry, run_s: float | None) -> Saving | NoSaving:
    """What the run would be shorter by: as many times more as it lost in all of its steps."""
    saving = entry.saving
    if run_s is None or not entry.ns or not isinstance(saving, Saving):
        return saving
    more, interval = run_s / (entry.ns * NS), saving.interval_s
    return replace(
        saving,
        seconds=more * saving.seconds,
        interval_s=interval and (more * interval[0], more * interval[1]),
    )


def _in_run(
    entry: Entry, whole: WholeRun | None
) -> tuple[float | None, tuple[float, float] | None]:
    """What was lost in all of a thinned run, with its interval; what lies outside is all there."""
    if whole is None:
        return None, None
    if entry.cause.operation == name_of(LEFT_OUT):
        return 0.0, None  # it stands between kept steps, and for none that were left out
    is_outside = entry.cause.kind is LossKind.OUTSIDE
    once_s = NS * (entry.ns if is_outside else min(entry.once_ns, entry.ns))
    steps_s = whole.stands_for * (NS * entry.ns - once_s)
    error = 0.0 if is_outside else entry.error
    if error is None:
        return once_s + steps_s, None
    margin = steps_s * student_95(whole.kept - 1) * error
    return once_s + steps_s, (once_s + max(0.0, steps_s - margin), once_s + steps_s + margin)


def _frame(entry: Entry, findings: Sequence[Finding]) -> Frame | None:
    """Where an entry is: what is no function's own is where the one finding about it says."""
    if entry.cause.function is None and len(findings) == 1 and findings[0].where:
        return findings[0].where[0]
    return entry.frame


def _entry(
    entry: Entry, account: LossAccount, findings: Sequence[Finding], whole: WholeRun | None
) -> LossEntry:
    cause, frame = entry.cause, _frame(entry, findings)
    run_s, run_interval_s = _in_run(entry, whole)
    is_inside = cause.kind is not LossKind.OUTSIDE and account.window_ns > 0
    return LossEntry(
        label=label(entry),
        kind=cause.kind,
        account=cause.account,
        activity=cause.activity,
        phase=cause.phase,
        operation=cause.operation,
        ns=entry.ns,
        own_ns=entry.own_ns,
        waiting_ns=entry.waiting_ns,
        share=entry.ns / account.window_ns if is_inside else None,
        ranks=tuple(entry.ranks[:MOST_RANKS]),
        ranks_left_out=max(0, len(entry.ranks) - MOST_RANKS),
        where=place_of(frame) if frame else None,
        pattern=entry.pattern,
        is_certain=entry.is_certain,
        steps=entry.steps,
        causes=entry.causes,
        saving=told(_saving(entry, run_s)),
        findings=tuple(one.id for one in findings),
        run_s=run_s,
        run_interval_s=run_interval_s,
    )
