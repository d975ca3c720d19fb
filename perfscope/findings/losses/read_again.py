"""Files whose bytes are read again and again: by lookups that go through all of a file, mostly."""

from perfscope.findings.core.finding import Evidence
from perfscope.findings.core.wording import place
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.groups import Group
from perfscope.judging import ALONE, FEWEST_SAMPLES, MAIN
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Rank
from perfscope.trace.read_files import ReadFile, ReadFiles, read_files
from perfscope.units import capitalized, format_bytes, format_count


@dataclass(frozen=True)
class ReadAgain:
    """What one rank read of files that hold far less."""

    rank: int
    read_bytes: int  # by its main thread
    least_bytes: int  # of that from files, whatever its messages came through
    size_bytes: int  # of all files that it had open to read
    largest: ReadFile
    calls: str  # the function of a library or of C that reads, "" unknown
    steps: int

    @property
    def times(self) -> float:
        """How often each byte was read at least, on average."""
        return self.least_bytes / self.size_bytes

    @property
    def is_each_step(self) -> bool:
        """Whether a step reads most of what the files hold, or more."""
        return self.steps > 1 and self.times >= MAIN * self.steps

    @property
    def what(self) -> str:
        """The file that holds most of it by its name, or what all files hold."""
        if self.largest.name and self.largest.size_bytes > ALONE * self.size_bytes:
            return f"{self.largest.name} ({format_bytes(self.largest.size_bytes)})"
        return f"the same {format_bytes(self.size_bytes)}"


def seen(run: Facts, group: Group) -> ReadAgain | None:
    """Whether the ranks that read and write files most read the same bytes again and again."""
    first = group.entries[0]
    if first.cause.activity is not Activity.FILES:
        return None
    ranks = [one for one in run.results.trace.ranks if one.number in first.ranks]
    found = [_of_rank(run, group, one) for one in ranks]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    return min(known, key=lambda one: one.times)


def _of_rank(run: Facts, group: Group, rank: Rank) -> ReadAgain | None:
    files, world = read_files(rank.metadata), len(run.results.trace.ranks)
    if files is None or not files.size_bytes or not _are_all(run, rank, files):
        return None
    # An exchange among P ranks brings each at most 2 (P - 1) / P of its buffer in (Patarasuk and
    # Yuan, 2009); through sockets, the kernel counts that as read.
    received = sum(row[3] for row in rank.totals.values())
    least_bytes = files.read_bytes - round(received * 2 * (world - 1) / world)
    is_reading = files.read_bytes > ALONE * (files.read_bytes + files.written_bytes)
    # More than half of it was read before: all but the first time.
    is_again = least_bytes > max(MAIN * files.read_bytes, files.size_bytes / MAIN)
    if not is_reading or not is_again:
        return None
    return ReadAgain(
        rank=rank.number,
        read_bytes=files.read_bytes,
        least_bytes=least_bytes,
        size_bytes=files.size_bytes,
        largest=max(files.files, key=lambda one: one.size_bytes),
        calls=_calls(run, group),
        steps=run.results.steps_of_run,
    )


def _are_all(run: Facts, rank: Rank, files: ReadFiles) -> bool:
    """Whether most of what was read came from files that were seen.

    A look comes into file access by chance as often as that takes time. Were other files read, most
    of these looks would have met a file that no other look has met (Good, 1953).
    """
    rows = run.results.activities.rows
    ns = sum(one.ns for one in rows if (one.rank, one.activity) == (rank.number, Activity.FILES))
    met = files.looks * ns / max(1, run.results.focus.length_ns)
    return files.is_whole and files.seen_once + FEWEST_SAMPLES <= MAIN * met


def _calls(run: Facts, group: Group) -> str:
    """The function of a library or of C that most time of the first place is spent in."""
    frame = group.entries[0].frame
    rows = [
        one
        for one in run.results.activities.rows
        if one.activity is Activity.FILES and one.where is not None and frame is not None
        if one.where.key == frame.key
    ]
    return max(rows, key=lambda one: one.ns).calls if rows else ""


def title(again: ReadAgain, group: Group) -> str:
    """What is read over and over, and where."""
    where = place(group.entries[0].frame)
    inside = f", mainly in {where}" if where else ""
    return f"Reading {again.what} over and over is slowing the run{inside}"


def change(again: ReadAgain) -> str:
    """What was seen, and what to do instead."""
    through = f" through {again.calls.lstrip('.')}()" if again.calls else ""
    seen = (
        f"rank {again.rank} reads {format_bytes(again.read_bytes)}{through}, each byte of the "
        f"{format_bytes(again.size_bytes)} in its open files at least {format_count(again.times)} "
        "times on average"
    )
    in_memory = "read the file once and keep what is needed of it in memory"
    if not again.is_each_step:
        return f"{capitalized(in_memory)}, as far as memory suffices: {seen}."
    return (
        "Have lookups use an index instead of going through the whole file (in a database: CREATE "
        f"INDEX on the columns that WHERE compares), or {in_memory}: {seen}."
    )


def evidence(again: ReadAgain | None) -> tuple[Evidence, ...]:
    """What was counted, and against what."""
    if again is None:
        return ()
    return (
        Evidence(f"Rank {again.rank} reads", format_bytes(again.read_bytes)),
        Evidence("Files that it has open hold", format_bytes(again.size_bytes)),
    )
