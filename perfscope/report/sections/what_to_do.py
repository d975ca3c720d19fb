"""What to do about a finding: one change first, how to make sure of it, and what is folded."""

from collections.abc import Sequence

from perfscope.output import record_again
from perfscope.places import place
from perfscope.report.sections.quality import OTHER_WORK, doubted
from perfscope.report.sections.sureness import advice_on, is_too_short, rather_idle, why_behind
from perfscope.report.text import sentences
from perfscope.schema.analysis import Analysis
from perfscope.schema.findings import FindingRow, Outcome
from perfscope.units import capitalized

DETAILS = "Details"
"""What is called what a first action says behind its first sentence: why, and what else helps."""

NOT_FIRST = "Why not first"


def first_step(row: Outcome) -> str:
    """What to change and to what: one sentence, without what else may help; "" of no action.

    Where the line to open stands beside it, it does not name that again.
    """
    told = _split(row.actions[0])[0] if row.actions else ""
    frames = [*row.where[:1]]
    if isinstance(row, FindingRow) and row.set_at is not None:
        frames.insert(0, row.set_at)
    for one in frames:
        at = f"In {place(one.function, one.file, one.line)}: "
        if told.startswith(at):
            return capitalized(told.removeprefix(at))
    return told


def details(row: Outcome) -> str:
    """What the first action says beyond that: why, and what else may help; "" for nothing."""
    return _split(row.actions[0])[1] if row.actions else ""


def _split(action: str) -> tuple[str, str]:
    """The first sentence of an action, and the rest of what it says."""
    first, *more = sentences(action)
    return first, " ".join(more)


def what_to_do(
    result: Analysis, row: FindingRow, *, is_folded: bool = True
) -> list[tuple[str, str]]:
    """What to do about a finding, in order, each with its label.

    About the one that leads also how to make sure of its saving: before anything is changed, where
    that may be nothing, and after it otherwise. `is_folded` tells that what else its first action
    says stands elsewhere, to be opened.
    """
    leader = next((one for one in result.findings if one.id in result.verdict.top[:1]), None)
    told = [first_step(row)] if row.actions else []
    is_leading = leader is not None and row.id == leader.id
    if is_leading and not result.run.damage:
        told = _with_proof(result, row, told)
    steps = list(zip(("First action", "Then"), told, strict=False))
    if not is_folded and details(row):
        steps.append((DETAILS, details(row)))
    if is_leading:
        return steps
    behind = why_behind(row, leader) if leader is not None else ""
    return [*steps, (NOT_FIRST, f"{capitalized(behind)}.")] if behind else steps


def _with_proof(result: Analysis, row: FindingRow, told: Sequence[str]) -> list[str]:
    """What to change, with the recordings that show whether it is the cause, and what it saves."""
    is_busy = any(one.id == OTHER_WORK for one in doubted(result.quality))
    first = rather_idle(row, record_again(result.run.command))
    sure = advice_on(row, is_busy=is_busy)
    after = [sure] if sure else []
    steps = [*after, *told] if is_too_short(row) else [*told, *after]
    return [first, " ".join(steps)] if first else steps
