"""The loss account in the document."""

from collections.abc import Sequence

from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.unclaimed import claims
from perfscope.losses.entry import Entry, LossAccount, told
from perfscope.losses.words import label
from perfscope.schema.common import Place
from perfscope.schema.enums import LossKind
from perfscope.schema.losses import LossEntry, Losses

MOST_RANKS = 16


def losses(run: Facts, findings: Sequence[Finding]) -> Losses:
    """The `losses` object of analysis.json."""
    account, explained = run.losses, claims(run, findings)
    return Losses(
        life_ns=account.life_ns,
        window_ns=account.window_ns,
        training_ns=account.training_ns,
        lost_ns=account.lost_ns,
        lost_share=account.lost_share,
        unknown_share=account.unknown_share,
        entries=tuple(
            _entry(entry, account, explained.get(entry.cause, ())) for entry in account.entries
        ),
    )


def _entry(entry: Entry, account: LossAccount, findings: tuple[str, ...]) -> LossEntry:
    cause, frame = entry.cause, entry.frame
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
        where=Place(frame.file, frame.line, frame.function) if frame else None,
        pattern=entry.pattern,
        is_certain=entry.is_certain,
        steps=entry.steps,
        causes=entry.causes,
        saving=told(entry.saving),
        findings=findings,
    )
