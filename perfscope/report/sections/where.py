"""Where a finding is: on which ranks, and which line to open in an editor."""

from collections import Counter

from perfscope.judging import MAIN
from perfscope.places import called, file_name
from perfscope.report.formats import seconds
from perfscope.report.text import shortened
from perfscope.report.views import rank_list
from perfscope.savings import is_more
from perfscope.schema.analysis import Analysis
from perfscope.schema.common import Place
from perfscope.schema.enums import LossKind
from perfscope.schema.findings import FindingRow, Outcome
from perfscope.structures import dataclass
from perfscope.units import NS, format_share

RANKS = "Ranks"
TO_OPEN = "Line to open"
"""What rows are called that tell the ranks, and the line: the same of every finding."""

NOT_TO_CHANGE = "the time goes here, the line to change is another: see the first action"
NOT_TO_EDIT = "the time goes here, nothing to edit: see the first action"
"""What is told of a line where the first action sets variables of the environment."""

PROBABLY_SPLITS = "probably: it sets the split"

NO_LINE = "not known: see the first action"
ONLY_WAITS = (
    "only waits for a thread that makes these calls: open the function whose result it reads"
)
"""What is told of a line at which the main thread waits for what another one was given to do."""


@dataclass(frozen=True)
class Line:
    """The line that a finding names, in the parts that a page shows differently."""

    label: str
    at: str  # the file and line; "" where nobody knows it
    path: str = ""  # the same with the whole path
    function: str = ""  # that it is in
    source: str = ""  # its text
    note: str = ""  # what takes most of its time, or why it is not the one to change

    @property
    def text(self) -> str:
        """All of it: `p6.py:38 in converged() (98 % of its samples ...): change = norm(h)`."""
        told = " in ".join(part for part in (self.at, self.function) if part)
        told += f" ({self.note})" if told and self.note else self.note
        return f"{told}: {self.source}" if self.source else told


def bridge_text(row: Outcome) -> str:
    """How what its title says that it takes leads to the saving, in sentences; "" for nothing."""
    first = row.first_action if isinstance(row, FindingRow) else None
    return first.bridge if first else ""


def which_ranks(row: Outcome, world: int) -> str:
    """Which of so many ranks a finding is about; "" of one process, and where nobody knows."""
    if world == 1:
        return ""
    holder = row.holder if isinstance(row, FindingRow) else None
    is_there = holder is not None and holder.where is not None and holder.where in row.where[:1]
    if holder is not None and is_there and holder.rank not in row.ranks:
        return f"rank {holder.rank}"  # the others wait for what it does there
    if world > 1 and len(set(row.ranks)) == world:
        return "all ranks"
    return rank_list(row.ranks) if row.ranks else ""


def who(result: Analysis, row: Outcome) -> str:
    """Which ranks a finding is about, and who waits for them: `rank 0; rank 1 waits 6.63 s for it`.

    Of several that wait it is the mean, which compares with what the run is shorter by.
    """
    named = which_ranks(row, result.run.recorded_ranks)
    waited = row.waited if isinstance(row, FindingRow) else None
    if not named or waited is None:
        return named
    many = len(waited.ranks)
    each = f" {seconds(waited.each_s)}{' each on average' if many > 1 else ''}"
    whom = "it" if len(row.ranks) == 1 else "them"
    wait = f"{'wait' if many > 1 else 'waits'}{each} for {whom}{_of_places(result, row, many)}"
    return f"{named}; {rank_list(waited.ranks)} {wait}"


def _of_places(result: Analysis, row: Outcome, waiting: int) -> str:
    """How much of the wait is for the place that a finding names, and for another that is as large.

    Why ranks may wait longer than the others work longer there.
    """
    of = [one for one in result.losses.entries if row.id in one.findings]
    of = [one for one in of if one.kind is LossKind.WAITING]
    waited = row.waited if isinstance(row, FindingRow) else None
    if waited is None or is_more(sum(one.waiting_ns for one in of) * NS, waited.seconds):
        return ""  # late ranks wait for each other as well, of which this is no part
    there = [one for one in of if one.where is not None and one.where in row.where[:1]]
    if not there or len(there) == len(of):
        return ""
    spent: Counter[str] = Counter()
    for one in of:
        frame = one.where
        name = called(frame.function, frame.file, frame.line) if frame is not None else ""
        spent[name] += one.waiting_ns
    mine = called(row.where[0].function, row.where[0].file, row.where[0].line)
    others = [one for one in spent.most_common() if one[0] not in ("", mine)][:1]
    mine_s = seconds(spent[mine] * NS / waiting)
    if not others or others[0][1] <= MAIN * spent[mine]:
        return f", {mine_s} of that for {mine}"
    name, ns = others[0]
    return f": {mine_s} in {mine}, {seconds(ns * NS / waiting)} in {name}"


def line_of(row: Outcome) -> Line:
    """The line to open, or that none is known.

    What takes most of the time of a line is told where its text does not name that.
    """
    frame = row.where[0] if row.where else None
    if frame is None:
        return Line(TO_OPEN, "", note=NO_LINE)
    is_elsewhere = isinstance(row, FindingRow) and row.is_elsewhere
    is_setting = isinstance(row, FindingRow) and row.is_setting
    name = called(frame.function, frame.file, frame.line)
    if not frame.file or not frame.line:
        return Line(TO_OPEN, "", function=name, note="its line is not known")
    at = f"{file_name(frame.file)}:{frame.line}"
    if isinstance(row, FindingRow) and row.set_at is not None and row.set_at.file:
        return _setting(row, row.set_at, at)
    if isinstance(row, FindingRow) and row.only_waits:
        return Line(TO_OPEN, "", note=f"not known: {at} {ONLY_WAITS}")
    return Line(
        TO_OPEN,
        at,
        f"{frame.file}:{frame.line}",
        "" if name == at else name,
        row.source_line or "" if isinstance(row, FindingRow) else "",
        NOT_TO_CHANGE if is_elsewhere else _noted(row, is_setting=is_setting),
    )


def _setting(row: FindingRow, line: Place, costs: str) -> Line:
    """The line to change where that is another than the one that takes the time, with that one."""
    at, own = f"{file_name(line.file)}:{line.line}", called(line.function, line.file, line.line)
    path, function = f"{line.file}:{line.line}", "" if own == at else own
    note = f"{PROBABLY_SPLITS}; the time goes to {costs}"
    if row.is_loop:
        note = f"the loop around line {row.where[0].line}, where the time goes"
    return Line(TO_OPEN, at, path, function, row.set_at_line, note)


def _noted(row: Outcome, *, is_setting: bool) -> str:
    """That nothing is to be edited in a line, or what takes most of its time."""
    return NOT_TO_EDIT if is_setting else _mostly(row)


def _mostly(row: Outcome) -> str:
    """What takes most of the time of the line, where its text does not name that; else ""."""
    source = row.source_line or "" if isinstance(row, FindingRow) else ""
    seen = row.seen if isinstance(row, FindingRow) and source else None
    if seen is None or not seen.calls or not 0 < seen.calls_samples <= seen.samples:
        return ""
    if seen.calls.rpartition(".")[2] in source:
        return ""
    share = format_share(seen.calls_samples / seen.samples)
    return f"{share} of its samples are in {shortened(seen.calls, 60)}"
