"""Where the run went: parts that add up to its length, and what the verdict is about.

What is computed is told apart from what was lost meanwhile: a rank that waits for a CPU or a lock
communicates with nobody, and so counts as computing.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from perfscope.attribution.not_training import TRAINING_ACCOUNTS
from perfscope.document.account_labels import account_labels
from perfscope.document.headline import mean_spent_s, outside_s
from perfscope.losses.entry import NO_LOSS
from perfscope.metrics.results import Results
from perfscope.schema.enums import Account, LossKind
from perfscope.schema.losses import SLOWED, LossEntry, Losses
from perfscope.schema.time import SMALLER_CAUSE, TimePart
from perfscope.structures import dataclass
from perfscope.units import NS, format_seconds, inside

LEAST_SHARE = 0.0005
"""Of the run: less than this outside of the processes is how clocks are read."""

SMALL = 0.02
"""Of the run: several parts that are smaller are told together."""

SMALLER = "smaller categories"
SMALLER_MEANING = "Waits and other work that have no row of their own."

MOST_CAUSES = 3

WORKING = tuple(one for one in TRAINING_ACCOUNTS if one is not Account.DEVICE_WAIT)
"""Accounts in which something may be lost that is no part of them: a lock, a CPU, Python code."""

LOST = "lost"
OF_VERDICT = "of_verdict"
OF_WORK = "of_work"
WORK = TimePart(
    OF_WORK, "Work", "Work that takes longer than it need, as far as the verdict tells.", 0.0, 0.0
)


@dataclass(frozen=True)
class LostInAccount:
    """What was lost in an account, mean of the ranks."""

    label: str
    meaning: str
    seconds: float
    cause: str
    smaller: int = 0  # losses that are told together

    @property
    def is_small(self) -> bool:
        """Whether it stands for losses that have no row of their own."""
        return self.smaller > 0

    def with_another(self, seconds: float) -> "LostInAccount":
        """The same with one more loss in it, which makes it so many seconds."""
        number = self.smaller + 1
        return LostInAccount(f"{number} {SMALLER}", SMALLER_MEANING, seconds, SMALLER_CAUSE, number)


def breakdown(
    results: Results,
    lost: Losses,
    in_accounts: Mapping[Account, Sequence[LostInAccount]],
    first: str | None,
    *,
    is_lost: bool,
    work_s: float | None = None,
) -> tuple[TimePart, ...]:
    """The `breakdown` of analysis.json.

    Args:
        results: the run.
        lost: what its time was lost to.
        in_accounts: what `lost_in_accounts` tells of that.
        first: the id of the finding that the verdict leads with.
        is_lost: without one, has the rows tell what most was lost to.
        work_s: what that finding saves of work which the loss account takes for needed; None of any
            other finding.
    """
    run_s, ranks = results.run_s, len(results.trace.ranks)
    # files that tell sums do not tell when a rank did anything
    if run_s <= 0 or not ranks or results.trace.format.is_report:
        return ()
    means, labels = mean_spent_s(results), account_labels(results.trace)
    parts = [
        part
        for one, seconds in means.items()
        if seconds > 0
        for part in _account(one, seconds, in_accounts.get(one, ()), run_s, labels[one])
        if part.seconds > 0
    ]
    parts += [
        TimePart(one.value, one.label, one.meaning, seconds, seconds / run_s)
        for one, seconds in outside_s(results, means)
        if seconds > LEAST_SHARE * run_s
    ]
    parts = _small_together(parts)
    # a cause in two accounts has a sum of its own
    of_causes = Counter(one.cause for one in parts if one.id == LOST)
    named = {one.label for one in parts if one.id != LOST}
    named |= {cause for cause, rows in of_causes.items() if rows == 1}
    entries = _of_finding(lost, first) if first else _most(lost) if is_lost else []
    parts.extend(_causes(entries, named, run_s=run_s, ranks=ranks))
    if work_s is not None:
        # what the finding is about may be known to be lost
        work_s -= _lost_s(lost, first, parts, run_ranks=ranks)
    if work_s is not None and work_s >= SMALL * run_s:
        parts.append(replace(WORK, seconds=work_s, share=work_s / run_s))
    return tuple(parts)


def lost_in_accounts(results: Results, lost: Losses) -> dict[Account, list[LostInAccount]]:
    """What was lost in each account of work that has a row of its own, and what has none."""
    means, ranks = mean_spent_s(results), len(results.trace.ranks)
    return _inside(lost, means, run_s=results.run_s, ranks=ranks) if ranks else {}


def _inside(
    lost: Losses, means: Mapping[Account, float], *, run_s: float, ranks: int
) -> dict[Account, list[LostInAccount]]:
    """What was lost in each account of work, most first; small losses together, as the last.

    What held work up is known of all work. Each account has as much of it as it has of the time
    that no other loss takes, so that no account loses more than it has: none where nothing is left.
    """
    left_s = _left_s(lost, means, ranks)
    all_left_s = sum(left_s.values())
    found: dict[Account, dict[str | None, LostInAccount]] = {one: {} for one in WORKING}
    for entry in [one for one in lost.entries if one.own_ns]:
        own_s = in_run_s(entry, entry.own_ns) / ranks
        is_held_up = entry.kind in SLOWED
        for account in [one for one in WORKING if is_held_up or one is entry.account]:
            share = left_s[account] / all_left_s if all_left_s else 0.0
            part_s = own_s * share if is_held_up else own_s
            if not part_s:
                continue
            rows = found[account]
            has_room = part_s >= SMALL * run_s and len(rows.keys() - {None}) < MOST_CAUSES
            is_small = not has_room and entry.label not in rows
            key = None if is_small else entry.label
            before = rows.get(key)
            part_s += before.seconds if before else 0.0
            if is_small and before:
                rows[key] = before.with_another(part_s)
                continue
            cause = SMALLER_CAUSE if is_small else cause_of(entry)
            told = inside(entry.label), _meaning(entry)
            rows[key] = LostInAccount(*told, part_s, cause, smaller=int(is_small))
    return {
        account: sorted(_fitting(told.values(), means[account]), key=_in_order)
        for account, told in found.items()
        if not all(one.is_small for one in told.values())
    }


def _in_order(one: LostInAccount) -> tuple[bool, float]:
    return one.is_small, -one.seconds


def _fitting(losses: Collection[LostInAccount], most_s: float) -> list[LostInAccount]:
    """The losses, together no more than their account: of a thinned run both are estimates."""
    all_s = sum(one.seconds for one in losses)
    scale = min(1.0, most_s / all_s) if all_s else 0.0
    return [replace(one, seconds=one.seconds * scale) for one in losses]


def _left_s(lost: Losses, means: Mapping[Account, float], ranks: int) -> dict[Account, float]:
    """Seconds of each account of work that no other work takes, mean of the ranks."""
    left_s = {one: means[one] for one in WORKING}
    for entry in lost.entries:
        if entry.kind not in SLOWED and entry.account in left_s:
            left_s[entry.account] -= in_run_s(entry, entry.own_ns) / ranks
    return {one: max(seconds, 0.0) for one, seconds in left_s.items()}


def _account(
    account: Account, seconds: float, losses: Sequence[LostInAccount], run_s: float, label: str
) -> list[TimePart]:
    """An account as one part, or as what was work in it and what was lost."""
    if not losses:
        return [TimePart(account.value, label, account.meaning, seconds, seconds / run_s)]
    rest_s = max(seconds - sum(one.seconds for one in losses), 0.0)
    return [
        TimePart(account.value, useful_label(label), account.meaning, rest_s, rest_s / run_s),
        *(
            TimePart(
                LOST,
                loss_label(label, one),
                one.meaning,
                one.seconds,
                one.seconds / run_s,
                cause=one.cause,
            )
            for one in losses
        ),
    ]


def useful_label(account: str) -> str:
    """What is called of an account of work of which something was lost what was not.

    It is what the verdict and POP call useful computation.
    """
    return f"{account}: useful"


def loss_label(account: str, loss: LostInAccount) -> str:
    """What a loss in an account is called."""
    return f"{account}: {loss.label}"


def _meaning(entry: LossEntry) -> str:
    return entry.kind.meaning if entry.activity is None else entry.activity.meaning


def cause_of(entry: LossEntry) -> str:
    """What rows name as the cause of a loss."""
    return str(entry.kind.value if entry.activity is None else entry.activity.value)


def _small_together(parts: Sequence[TimePart]) -> list[TimePart]:
    """The parts, those that hardly count as one, which names them, or tells their number."""
    small = [one for one in parts if one.share < SMALL]
    if len(small) < 2:
        return list(parts)
    names = ", ".join(one.label for one in small)
    label = names if len(small) <= MOST_CAUSES else f"{len(small)} smaller parts"
    meaning = " ".join(f"{one.label}: {format_seconds(one.seconds)}." for one in small)
    seconds, share = sum(one.seconds for one in small), sum(one.share for one in small)
    kept = [one for one in parts if one not in small]
    return [*kept, TimePart("others", label, meaning, seconds, share)]


def _of_finding(lost: Losses, first: str) -> list[LossEntry]:
    """The entries that a finding explains; of transfer also what others waited for."""
    mine = [one for one in lost.entries if first in one.findings]
    if any(one.kind is LossKind.TRANSFER for one in mine):
        mine += [
            one
            for one in lost.entries
            if one.kind is LossKind.TRANSFER and not one.own_ns and one not in mine
        ]
    return mine


def _lost_s(lost: Losses, first: str | None, parts: Sequence[TimePart], *, run_ranks: int) -> float:
    """Seconds that a rank of a finding loses by itself, as the losses tell them already."""
    mine = [one for one in lost.entries if first in one.findings]
    if not mine:
        return sum(one.seconds for one in parts if one.id == LOST and one.cause == first)
    return sum(
        in_run_s(one, one.own_ns) / (len(one.ranks) + one.ranks_left_out or run_ranks)
        for one in mine
    )


def _most(lost: Losses) -> list[LossEntry]:
    """What most was lost to in the analyzed window, as far as that is known."""
    return [one for one in lost.entries if one.kind not in NO_LOSS][:1]


def _causes(
    entries: Sequence[LossEntry], named: set[str], *, run_s: float, ranks: int
) -> Iterator[TimePart]:
    """Rows of causes that no account is called by; none where the largest one is."""
    together: defaultdict[tuple[LossKind, str], list[LossEntry]] = defaultdict(list)
    largest = max(entries, key=lambda one: one.ns, default=None)
    if largest is not None and _has_row(largest, named):
        return
    for one in entries:
        if not _has_row(one, named):
            together[one.kind, "" if one.kind is LossKind.TRANSFER else one.label].append(one)
    for (kind, label), members in [*together.items()][:MOST_CAUSES]:
        seconds = sum(in_run_s(one, one.ns) for one in members) / ranks
        if seconds < SMALL * run_s:
            continue
        waiting_s = sum(in_run_s(one, one.waiting_ns) for one in members) / ranks
        name = label or (members[0].label if len(members) == 1 else kind.label)
        share, meaning = seconds / run_s, _meaning(members[0])
        yield TimePart(OF_VERDICT, name, meaning, seconds, share, waiting_s)


def _has_row(entry: LossEntry, named: set[str]) -> bool:
    """Whether the row of an account says it already."""
    return entry.waiting_ns == 0 and not named.isdisjoint((entry.label, cause_of(entry)))


def in_run_s(entry: LossEntry, ns: int) -> float:
    """A part of what is lost, in all of the run: steps that were left out lose as kept ones do."""
    if entry.run_s is None or not entry.ns:
        return ns * NS
    return entry.run_s * ns / entry.ns
