"""Where the time went, for page and terminal: parts of the run, and what the verdict is about."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from string import ascii_uppercase

from perfscope.judging import MAJOR
from perfscope.report.formats import percent, seconds
from perfscope.report.palette import ACCOUNT_ROLES, LOST_FILLS
from perfscope.report.sections.sureness import as_measured
from perfscope.report.table import Column, Kind, Table
from perfscope.report.views import Shown
from perfscope.savings import ROUGHLY, SAME_FROM
from perfscope.schema.analysis import Analysis
from perfscope.schema.enums import COMMUNICATION_ACCOUNTS, Absence, Account, LossKind
from perfscope.schema.findings import FindingRow, FirstAction
from perfscope.schema.losses import LossEntry
from perfscope.schema.time import SMALLER_CAUSE, TimePart
from perfscope.structures import dataclass
from perfscope.units import NS, counted, format_seconds, inside, listed

OF_VERDICT, OF_WORK, LOST = "of_verdict", "of_work", "lost"
TOTAL = "Whole run"
MUCH = 0.2  # of a loss: less waiting does not make waiting what it is about
NEARLY = 0.99  # of seconds that are printed with three digits
IN_CALLS = {
    LossKind.WAITING: Account.COMMUNICATION_WAIT,
    LossKind.TRANSFER: Account.COMMUNICATION_TRANSFER,
    LossKind.COMMUNICATION: Account.COMMUNICATION_OTHER,
}
ONCE = (Account.START_UP.value, Account.SHUTDOWN.value, Absence.OUTSIDE.value)
"""Parts of a run that do not grow with its steps."""

ABSENCES = {one.value for one in Absence}
COMMUNICATION_ROLES = {one.value for one in COMMUNICATION_ACCOUNTS}


@dataclass(frozen=True)
class Row:
    """A row of the table; `role` is "" where it has no part of the bar."""

    role: str
    label: str
    meaning: str
    seconds: float
    share: float
    key: str = ""  # the letter of its part of the bar


def rows(result: Analysis) -> list[Row]:
    """The parts of the run, and the run that these add up to."""
    parts = [one for one in result.breakdown if one.id not in (OF_VERDICT, OF_WORK)]
    if not parts:
        return []
    own = [
        Row(_role(one), one.label, one.meaning, one.seconds, one.share, key or "")
        for one, key in zip_longest(parts, ascii_uppercase[: len(parts)])
    ]
    return [*own, Row("", TOTAL, "", result.run.wall_s, 1.0)]


def _role(part: TimePart) -> str:
    """What colors it: what was lost to one cause looks alike on every page."""
    if part.id == LOST:
        return LOST_FILLS.get(part.cause, LOST_FILLS[SMALLER_CAUSE]).role
    if part.id in ABSENCES:
        return "outside"
    return part.id if part.id in ACCOUNT_ROLES else "others"


def cause_role(entry: LossEntry) -> str:
    """What colors a cause of lost time, as the parts of the run are colored that it is in."""
    if entry.kind in IN_CALLS:
        return str(IN_CALLS[entry.kind].value)
    if entry.activity is None and entry.account is not None:
        return str(entry.account.value)
    cause = entry.kind.value if entry.activity is None else entry.activity.value
    return LOST_FILLS[cause].role


def of_verdict(result: Analysis) -> str:
    """What the cause that the verdict is about takes, where no row has its name; "" otherwise.

    Waiting for a rank is time of those who wait, so that it may be more than each part of the run;
    where it is as good as all waiting, the row has its figure.
    """
    each = " per rank" if result.run.recorded_ranks > 1 else ""
    whole = f" of the {seconds(result.run.wall_s)} run"
    said: list[str] = []
    told: list[str] = []
    rows = {one.label.split(": ", 1)[-1] for one in result.breakdown if one.id == LOST}
    # in which rows its saving is says that already
    for one in () if saved_in_rows(result) or not result.verdict.top else result.breakdown:
        if one.id == OF_VERDICT and (held := _all_waiting(result, one)):
            row = called([held])
            said.append(f"Nearly all waiting in {row} is due to the problem above")
        elif one.id == OF_VERDICT and inside(one.label) not in rows:
            spent = f"{seconds(one.seconds)}{each} ({percent(one.share)}{'' if told else whole})"
            told.append(f"{inside(one.label)}, {spent}{_waited(one)}")
    work = work_of_verdict(result)
    said += [f"Already counted in the rows above: {'; '.join(told)}"] if told else []
    return ". ".join([*said, *([f"Counted as work in the rows above: {work}"] if work else [])])


def _all_waiting(result: Analysis, part: TimePart) -> Row | None:
    """The row of waiting, where a part that only waits is as good as all of it."""
    waits = Account.COMMUNICATION_WAIT.value
    held = next((one for one in rows(result) if one.role == waits), None)
    is_all = held is not None and part.waiting_s >= part.seconds >= SAME_FROM * held.seconds
    return held if is_all else None


def work_of_verdict(result: Analysis) -> str:
    """What the verdict would save of work that counts as needed everywhere else; "" for nothing."""
    found = next((one for one in result.breakdown if one.id == OF_WORK), None)
    if found is None:
        return ""
    amount = f"{ROUGHLY}{seconds(found.seconds)}"
    of = f" ({percent(found.share)} of the {seconds(result.run.wall_s)} run)"
    first = _first(result)
    saving = as_measured(first).gain_s if first and first.first_action else None
    if saving is not None and seconds(saving) != seconds(found.seconds):
        # the rest of it is known to be lost, and told of as that
        return f"{amount}{of} of the {seconds(saving)} that the first action would save"
    return f"what the first action would save, {amount}{of}"


def saved_in_rows(result: Analysis) -> str:
    """In which rows the saving is that the verdict tells; "" where no rows hold it.

    How much of it is in which of them the verdict says, once.
    """
    first = _first(result)
    saving = as_measured(first) if first else None
    if first is None or not isinstance(saving, FirstAction) or saving.gain_s is None:
        return ""
    mine = _rows_of(result, first.id)
    own = [row for row in mine if row.role not in COMMUNICATION_ROLES]
    if saving.own_s is None:
        is_held = not saving.counts_more and _hold(mine, saving.gain_s)
        is_held = is_held and _explains(result, first.id, saving.gain_s)
    else:
        shared = [row for row in rows(result) if row.role in COMMUNICATION_ROLES]
        mine, is_held = [*own, *shared], _hold(own, saving.own_s) and _hold(shared, 0.0)
    return f"What the fix saves is in {called(mine)}" if is_held else ""


def of_others(result: Analysis) -> str:
    """Which part of what processes outside the job cost is in rows of its own; "" not known.

    Nothing attributes the rest to rows.
    """
    cost_s, role = result.verdict.others_s, LOST_FILLS[LossKind.OTHER_PROCESSES.value].role
    mine = [row for row in rows(result) if row.role == role]
    if cost_s is None or not mine:
        return ""
    spent_s = sum(row.seconds for row in mine)
    spent, cost = seconds(spent_s), seconds(cost_s)
    as_it_was = f"The {seconds(result.run.wall_s)} run as it was, on the busy host"
    if spent == cost:
        return as_it_was
    where = called(mine)
    if spent_s > cost_s:
        return (
            f"{as_it_was}: of the {spent} in {where}, it is {cost} longer, and the rest passes "
            "while other ranks are busy anyway"
        )
    return f"Of what the busy host cost, {spent} are in {where}; the rest makes other rows longer"


def _first(result: Analysis) -> FindingRow | None:
    """The finding that the verdict leads with."""
    return next((one for one in result.findings if one.id in result.verdict.top[:1]), None)


def _hold(found: Sequence[Row], spent_s: float) -> bool:
    """Whether rows have so many seconds, as these are printed."""
    return bool(found) and sum(row.seconds for row in found) >= spent_s * NEARLY


def _explained_by(result: Analysis, finding: str) -> list[LossEntry]:
    """What a finding explains of what was lost; what other processes took is none of it."""
    return [
        one
        for one in result.losses.entries
        if finding in one.findings and one.kind is not LossKind.OTHER_PROCESSES
    ]


def _explains(result: Analysis, finding: str, spent_s: float) -> bool:
    """Whether a finding explains so many seconds a rank, of a run that is known as a whole."""
    ns = sum(one.ns for one in _explained_by(result, finding))
    mean_s = ns * NS / max(result.run.recorded_ranks, 1)
    return result.whole_run is not None or mean_s >= spent_s * NEARLY


def _rows_of(result: Analysis, finding: str) -> list[Row]:
    """The rows that hold what a finding explains, with what others wait because of it."""
    entries = _explained_by(result, finding)
    roles = {IN_CALLS[one.kind].value for one in entries if one.kind in IN_CALLS}
    if sum(one.waiting_ns for one in entries) >= MUCH * sum(one.ns for one in entries) > 0:
        roles.add(Account.COMMUNICATION_WAIT.value)
    labels = {inside(one.label) for one in entries}
    return [
        row
        for row in rows(result)
        if row.key and (row.role in roles or inside(row.label.split(": ", 1)[-1]) in labels)
    ]


def called(found: Sequence[Row]) -> str:
    """The names of rows, as the table has them."""
    return listed([f"“{row.label}”" for row in found])


def _waited(part: TimePart) -> str:
    if not part.waiting_s or part.waiting_s >= part.seconds:  # the label says of all that it waits
        return ""
    return f", including {seconds(part.waiting_s)} that other ranks spent waiting because of it"


def useful_sentence(result: Analysis) -> str:
    """What was lost while computing, which parallel efficiency counts as work; "" for nothing."""
    losses = [one for one in result.breakdown if one.id == LOST]
    work = work_of_verdict(result)
    if result.metrics.parallel_efficiency.value is None or not (losses or work):
        return ""
    if work:
        also = ", and losses inside computation" if losses else ""
        return f"Parallel efficiency counts as work {work}{also}"
    each = " per rank" if result.run.recorded_ranks > 1 else ""
    by_cause: defaultdict[str, float] = defaultdict(float)  # in all accounts
    for one in [one for one in losses if one.cause != SMALLER_CAUSE] or losses:
        by_cause[one.label.split(": ", 1)[-1]] += one.seconds
    name, spent_s = max(by_cause.items(), key=lambda one: one[1])
    spent_s = max(spent_s, _own_s(result, name))
    causes = {one.cause for one in losses}
    more = ", and more" if len(causes) > 1 else ""
    lost = f"{name} {seconds(spent_s)}{each}{more}"
    return f"Parallel efficiency counts as work what is lost inside computation: {lost}"


def _own_s(result: Analysis, name: str) -> float:
    """What a rank lost to a cause by itself, also where that has no row; 0.0 of a thinned run."""
    own_ns = [one.own_ns for one in result.losses.entries if inside(one.label) == name]
    known = result.whole_run is None
    return sum(own_ns) * NS / max(result.run.recorded_ranks, 1) if known else 0.0


def heads(ranks: int) -> tuple[str, str]:
    """What the columns of seconds and of shares are called."""
    return "Time" if ranks == 1 else "Mean time", "Of the run"


def table(found: Sequence[Row], ranks: int) -> Table:
    """The rows as a table."""
    spent, share = heads(ranks)
    columns = (
        Column(
            "Category",
            lambda row: Shown(row.role, row.label, row.key),
            kind=Kind.KEYED,
            longest=160,
            hint=lambda row: row.meaning,
        ),
        Column(spent, "seconds", seconds),
        Column(share, "share", percent),
    )
    caption = "Where the run went"
    return Table("overview-ledger", caption, columns, found, has_caption=False, is_fixed=True)


def _once(result: Analysis) -> str:
    """That much of the run comes once, however many steps it has, as a sentence; "" of little."""
    parts = [one for one in result.breakdown if one.id in ONCE]
    if sum(one.share for one in parts) < MAJOR:
        return ""
    spent = seconds(sum(one.seconds for one in parts))
    come = "comes" if len(parts) == 1 else "come"
    return f"{listed([one.label for one in parts])} ({spent}) {come} once."


def explained(result: Analysis) -> str:
    """Of how many ranks, and of which steps, the means are, and what is of a part of the run."""
    run, ranks, (start, end) = result.run, result.run.recorded_ranks, result.run.focus_of_analysis_s
    said = [once] if (once := _once(result)) else []
    if ranks > 1:
        of = counted(ranks, "rank" if ranks == run.ranks else "recorded rank")
        said.append(f"Mean over {of}.")
    if result.whole_run is not None:
        said.append("Steps that were left out are taken to be like those that were kept.")
    elif end > start and format_seconds(end - start) != format_seconds(run.wall_s):
        window = f"{format_seconds(end - start)} of the run: {run.focus_reason}".rstrip(": ")
        said.append(f"Efficiencies and details are of the analyzed window, {window}.")
    return " ".join(said)
