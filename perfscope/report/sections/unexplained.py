"""Large losses that no finding claims: why each is no problem, or where to look."""

from collections import Counter, defaultdict

from perfscope.judging import MAJOR
from perfscope.places import file_name, place
from perfscope.report.formats import percent, seconds
from perfscope.report.palette import LOST_FILLS
from perfscope.report.sections import breakdown
from perfscope.schema.analysis import Analysis
from perfscope.schema.common import Place
from perfscope.schema.enums import Account, LossKind, LossPattern, Status
from perfscope.schema.findings import FindingRow
from perfscope.schema.time import SMALLER_CAUSE
from perfscope.structures import dataclass

BY_NOTE = {
    Account.COMMUNICATION_TRANSFER.value: "network_bound",
    Account.COMMUNICATION_WAIT.value: "transient_imbalance",
}
"""Which finding, that is no problem, tells more of a part of the run, by its role."""

OF_HOST = "part of that may be due to the busy host; record again to see the rest"
NEEDED = "needed, as far as was checked"
ONCE = "most of it comes at a few moments of the run, not in every step"
OPEN = "why is not known"


@dataclass(frozen=True)
class Unexplained:
    """A part of the run, and what is said of it."""

    text: str
    why: str
    where: Place | None  # where to look
    note: str = ""  # id of the finding that it tells of, which need not be told again


def unexplained(result: Analysis) -> list[Unexplained]:
    """Parts of the run that are as large as a major problem, where no finding leads.

    What other processes took is told before all else. What a note says is due to something else,
    or is waited by turns, is told there.
    """
    verdict, wall_s = result.verdict, result.run.wall_s
    if verdict.top or not wall_s or verdict.efficiency.value is None:
        return []
    spent: defaultdict[str, list[breakdown.Row]] = defaultdict(list)
    for row in breakdown.rows(result):
        if row.role in _lost_roles():
            spent[row.role].append(row)
    large = [rows for rows in spent.values() if _share(rows) >= MAJOR]
    return [one for rows in large if (one := _told(result, rows)) is not None]


def text(found: list[Unexplained]) -> str:
    """All of them in a row of the first screen, those of one reason together; "" for none."""
    whys = dict.fromkeys(one.why for one in found)
    told = ["; ".join(one.text for one in found if one.why == why) for why in whys]
    return " ".join(f"{what}: {why}." for what, why in zip(told, whys, strict=True))


def lines(found: list[Unexplained]) -> str:
    """The lines to look at; "" where none is known."""
    places = [one.where for one in found if one.where and one.where.file and one.where.line]
    return ", ".join(dict.fromkeys(f"{file_name(one.file)}:{one.line}" for one in places))


def _lost_roles() -> set[str]:
    own = {LossKind.OTHER_PROCESSES.value, SMALLER_CAUSE}
    lost = {fill.role for cause, fill in LOST_FILLS.items() if cause not in own}
    return lost | breakdown.COMMUNICATION_ROLES


def _share(rows: list[breakdown.Row]) -> float:
    return sum(row.share for row in rows)


def _told(result: Analysis, rows: list[breakdown.Row]) -> Unexplained | None:
    role, name = rows[0].role, BY_NOTE.get(rows[0].role, "")
    note = next((one for one in result.findings if one.id == name), None)
    is_noted = note is not None and note.status is Status.INFO
    is_of_other = note is not None and bool(note.overlaps)
    if is_noted and (is_of_other or role == Account.COMMUNICATION_WAIT.value):
        return None  # the note says why
    many = result.run.recorded_ranks > 1
    amount = f"{seconds(sum(row.seconds for row in rows))}{' per rank' if many else ''}"
    what = f"{breakdown.called(rows)} takes {amount}"
    where = _where(result, role)
    if note is not None and is_noted and note.where:
        where, what = note.where[0], note.title
    elif where is not None:
        what += f", mainly in {place(where.function, where.file, where.line)}"
    why = OPEN
    # a rank without a CPU holds up the others; that it lengthens other losses nothing shows
    if result.verdict.others_s is not None and role in breakdown.COMMUNICATION_ROLES:
        why = OF_HOST
    elif role == Account.COMMUNICATION_TRANSFER.value and _was_checked(note):
        why = NEEDED
    elif _is_once(result, role):
        why = ONCE
    share = f"{percent(_share(rows))} of the {seconds(result.run.wall_s)} run"
    return Unexplained(f"{what} ({share})", why, where, name if is_noted else "")


def _is_once(result: Analysis, role: str) -> bool:
    """Whether more than half of it is in losses that came once."""
    mine = [one for one in result.losses.entries if breakdown.cause_role(one) == role]
    once_ns = sum(one.ns for one in mine if one.pattern is LossPattern.ONCE)
    return 2 * once_ns > sum(one.ns for one in mine)


def _where(result: Analysis, role: str) -> Place | None:
    """Where more than half of it is, if that is one place; None of what is in many, or unknown."""
    mine = [one for one in result.losses.entries if breakdown.cause_role(one) == role]
    spent: Counter[Place | None] = Counter()
    for one in mine:
        spent[one.where] += one.ns
    where, most_ns = max(spent.items(), key=lambda one: one[1], default=(None, 0))
    return where if 2 * most_ns > spent.total() else None


def _was_checked(note: FindingRow | None) -> bool:
    """Whether it was looked for what makes transfer more than need be."""
    return note is not None and note.status in (Status.INFO, Status.PASS)
