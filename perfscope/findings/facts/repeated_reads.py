"""Files whose bytes a rank reads again and again, by what the kernel counts and they hold."""

from dataclasses import replace

from perfscope.findings.core.finding import Evidence
from perfscope.findings.core.thresholds import WARN_SHARE
from perfscope.judging import ALONE, FEWEST_SAMPLES, MAIN
from perfscope.metrics.results import Results
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Rank
from perfscope.trace.read_files import ReadFile, ReadFiles, read_files
from perfscope.units import capitalized, format_bytes, format_count

IN_MEMORY = "read the file once and keep what is needed of it in memory"


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


def read_again(results: Results, rank: Rank, calls: str) -> ReadAgain | None:
    """What a rank reads again; None where it does not, or that is not known.

    `calls` is what it reads through, "" unknown.
    """
    files, world = read_files(rank.metadata), len(results.trace.ranks)
    if files is None or not files.size_bytes or not _are_all(results, rank, files):
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
        calls=calls,
        steps=results.steps_of_run,
    )


def read_anew(results: Results, rank: Rank) -> tuple[ReadFile, int] | None:
    """The file that a rank opens and reads whole in each step, and how often in a step.

    None where none is seen: a file that comes and goes, almost alone, of whose bytes the rank reads
    as many as each step reads if it reads all of them once, or a few times.
    """
    files, steps = read_files(rank.metadata), results.steps_of_run
    if files is None or not files.is_whole or steps < FEWEST_SAMPLES:
        return None
    passing = [one for one in files.files if one.size_bytes and one.looks < MAIN * files.looks]
    if not passing:
        return None
    one = max(passing, key=lambda file: file.looks)
    is_seen = one.looks > max(FEWEST_SAMPLES, ALONE * sum(file.looks for file in passing))
    times = files.read_bytes / one.size_bytes / steps
    is_whole = round(times) >= 1 and abs(times - round(times)) < WARN_SHARE
    return (one, round(times)) if is_seen and is_whole else None


def _are_all(results: Results, rank: Rank, files: ReadFiles) -> bool:
    """Whether most of what was read came from files that were seen.

    A look comes into file access by chance as often as that takes time. Were other files read, most
    of these looks would have met a file that no other look has met (Good, 1953).
    """
    rows = results.activities.rows
    ns = sum(one.ns for one in rows if (one.rank, one.activity) == (rank.number, Activity.FILES))
    met = files.looks * ns / max(1, results.focus.length_ns)
    return files.is_whole and files.seen_once + FEWEST_SAMPLES <= MAIN * met


def change(again: ReadAgain, of_archive: str = "") -> str:
    """What was seen, and what to do instead: an index, where each step reads all of a file.

    `of_archive` is that for an archive, which no index helps; "" for other files.
    """
    if of_archive:
        return f"{of_archive} {capitalized(_seen(replace(again, calls='')))}."
    if not again.is_each_step:
        return keep(again)
    return (
        "Have lookups use an index instead of going through the whole file (in a database: CREATE "
        f"INDEX on the columns that WHERE compares), or {IN_MEMORY}: {_seen(again)}."
    )


def keep(again: ReadAgain) -> str:
    """The same, to read it once."""
    return f"{capitalized(IN_MEMORY)}, as far as memory suffices: {_seen(again)}."


def _seen(again: ReadAgain) -> str:
    through = f" through {again.calls.lstrip('.')}()" if again.calls else ""
    return (
        f"rank {again.rank} reads {format_bytes(again.read_bytes)}{through}, each byte of its "
        f"open files at least {format_count(again.times)} times on average"
    )


def once(rank: Rank, found: tuple[ReadFile, int]) -> str:
    """What was seen of a file that is read anew in each step, and what to do instead."""
    file, times = found
    often = "once" if times == 1 else f"{format_count(times)} times"
    return (
        f"Rank {rank.number} opens {file.name} ({format_bytes(file.size_bytes)}) and reads all of "
        f"it {often} in each step: read it before the first step, and keep what is made of it."
    )


def reads_many_files_once(rank: Rank) -> bool:
    """Whether a rank hardly ever comes back to a file that it reads: each holds one sample, say.

    Most looks then meet a file that no other look has met, or only files beyond those listed.
    """
    files = read_files(rank.metadata)
    if files is None or files.looks < FEWEST_SAMPLES:
        return False
    met = sum(one.looks for one in files.files)
    return files.seen_once > MAIN * met or (not files.is_whole and met < MAIN * files.looks)


def moved(rank: Rank) -> str:
    """How much more a rank has read than the files hold that were seen, as a clause; else ""."""
    files = read_files(rank.metadata)
    if files is None or not files.size_bytes or files.read_bytes * MAIN <= files.size_bytes:
        return ""
    return (
        f": rank {rank.number} reads {format_bytes(files.read_bytes)} while it has files of "
        f"{format_bytes(files.size_bytes)} open"
    )


def evidence(again: ReadAgain | None) -> tuple[Evidence, ...]:
    """What was counted, and against what."""
    if again is None:
        return ()
    return (
        Evidence(f"Rank {again.rank} reads", format_bytes(again.read_bytes)),
        Evidence("Files that it has open hold", format_bytes(again.size_bytes)),
    )
