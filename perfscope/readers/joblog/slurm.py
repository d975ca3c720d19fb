"""What Slurm's accounting counted of jobs and their steps, as sacct prints it.

Values are told from what they are: sacct has some 130 fields. Sources: Slurm's manual of sacct
(22.05), and what that release prints of a job that is known.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from perfscope.readers.common.tool_reports import report, table
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import Cell, ToolReport
from perfscope.units import counted, format_bytes, format_seconds, format_share

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)([KMGTP]?)")
_TIME = re.compile(r"(?:(?:(\d{1,6})-)?(\d{1,6}):)?(\d\d?):(\d\d(?:\.\d{1,9})?)")
"""`[DD-][HH:]MM:SS[.mmm]`, as Elapsed and TotalCPU have it."""
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_IS_SIZE = re.compile(r"(?:RSS|VMSize|Disk(?:Read|Write)|ReqMem)$", re.IGNORECASE)
_GOOD = re.compile(r"COMPLETED|RUNNING|PENDING|COMPLETING|SUSPENDED", re.IGNORECASE)
_POWERS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
MOST_SAID = 5
Row = Sequence[str]


def size(text: str) -> float | None:
    """A number with a power of 1,024 behind it; None where it is something else."""
    found = _SIZE.fullmatch(text.strip())
    return float(found[1]) * _POWERS[found[2]] if found else None


def seconds(text: str) -> float | None:
    """A time; None where it is something else."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return None
    days, hours, minutes = (int(part or 0) for part in found.groups()[:3])
    return days * 86400 + hours * 3600 + minutes * 60 + float(found[4])


def _number(text: str) -> float | None:
    found = _NUMBER.fullmatch(text.strip())
    return float(text) if found else None


class _Fields:
    """Rows of values with the names of their columns, in whatever case."""

    def __init__(self, head: Row, rows: Sequence[Row]) -> None:
        self.head, self.rows = head, rows
        self._places = {name.lower(): place for place, name in reversed([*enumerate(head)])}

    def text(self, row: Row, *names: str) -> str:
        """The first of these fields that a row tells; "" for none."""
        places = [self._places[name] for name in names if name in self._places]
        return next((row[place].strip() for place in places if row[place].strip()), "")

    @property
    def tell_steps(self) -> bool:
        """Whether a row says of what it is, so that steps are told from their jobs."""
        return "jobid" in self._places or "jobidraw" in self._places

    def called(self, row: Row) -> str:
        """The job or step."""
        number, name = self.text(row, "jobid", "jobidraw"), self.text(row, "jobname")
        return f"{number} ({name})" if name else number


def jobs(head: Row, rows: Sequence[Row], path: Path) -> ToolReport:
    """The table of jobs and steps, and what of it is worth a sentence."""
    kinds = [_kind(name, [row[place] for row in rows]) for place, name in enumerate(head)]
    cells: list[list[Cell]] = [
        [_cell(text, read) for text, (_, read) in zip(row, kinds, strict=True)] for row in rows
    ]
    columns = {name: quantity for name, (quantity, _) in zip(head, kinds, strict=True)}
    fields = _Fields(head, rows)
    said = [*_failed(fields), *_memory(fields), *_processors(fields), *_energy(fields)]
    return report("Slurm (sacct)", path, said, [table("Jobs and steps", columns, cells)])


_Read = Callable[[str], float | None]


def _kind(name: str, values: Sequence[str]) -> tuple[Quantity, _Read | None]:
    """What a column holds, by its name where that says so, else by all of its values."""
    told = [text for text in values if text.strip()]
    if _IS_SIZE.search(name) and all(size(text) is not None for text in told):
        return Quantity.BYTES, size
    ways: tuple[tuple[Quantity, _Read], ...] = (
        (Quantity.SECONDS, seconds),
        (Quantity.NUMBER, _number),
    )
    for quantity, read in ways:
        is_number = told and all(read(text) is not None for text in told)
        if is_number and not name.lower().startswith("jobid"):
            return quantity, read
    return Quantity.TEXT, None


def _cell(text: str, read: _Read | None) -> Cell:
    return text or None if read is None else read(text)


def _failed(fields: _Fields) -> list[str]:
    """Which did not end as they should, with how they did."""
    bad = [
        row
        for row in fields.rows
        if (state := fields.text(row, "state")) and not _GOOD.match(state)
    ]
    if not bad:
        return []
    of = counted(len(fields.rows), "job or step", "jobs and steps")
    told = f"{len(bad):,} of {of} did not complete: "
    if not fields.tell_steps:
        states = Counter(fields.text(row, "state").split()[0] for row in bad).most_common()
        return [told + ", ".join(f"{count:,} {state}" for state, count in states) + "."]
    shown = [
        f"{fields.called(row)} {fields.text(row, 'state')}"
        + (
            f", exit code {code}"
            if (code := fields.text(row, "exitcode", "derivedexitcode"))
            else ""
        )
        for row in bad[:MOST_SAID]
    ]
    more = f"; and {len(bad) - MOST_SAID:,} more" if len(bad) > MOST_SAID else ""
    return [f"{told}{'; '.join(shown)}{more}."]


def _memory(fields: _Fields) -> list[str]:
    """The largest step; beside it the mean of its tasks, which tells whether one stands out."""
    told = [(size(fields.text(row, "maxrss")), row) for row in fields.rows]
    most, row = max(((most or 0, row) for most, row in told), key=lambda pair: pair[0])
    if not most:
        return []
    task, node = fields.text(row, "maxrsstask"), fields.text(row, "maxrssnode")
    where = f", in task {task}" + (f" on {node}" if node else "") if task else ""
    mean = size(fields.text(row, "averss"))
    beside = f"; its tasks hold {format_bytes(mean)} on average" if mean else ""
    return [f"MaxRSS is {format_bytes(most)} at most{_of(fields, row)}{where}{beside}."]


def _processors(fields: _Fields) -> list[str]:
    """How much of the processors that whole jobs held was used, as far as Slurm sampled it."""
    used = held = 0.0
    for row in fields.rows if fields.tell_steps else ():
        if "." in fields.text(row, "jobid", "jobidraw"):
            continue  # a step, whose time its job holds, too
        cpus = _number(fields.text(row, "alloccpus", "ncpus"))
        spent, elapsed = (seconds(fields.text(row, name)) for name in ("totalcpu", "elapsed"))
        if cpus and elapsed and spent is not None:
            used, held = used + spent, held + cpus * elapsed
    if not held:
        return []
    share = format_share(used / held)
    return [
        f"Jobs used {format_seconds(used)} of {format_seconds(held)} of held processors ({share})."
    ]


def _energy(fields: _Fields) -> list[str]:
    """What was consumed; 0 is what Slurm tells where it measures no energy."""
    for name in ("consumedenergyraw", "consumedenergy"):
        told = [size(fields.text(row, name)) or 0 for row in fields.rows]
        if any(told):
            most = fields.rows[told.index(max(told))]
            shown = fields.text(most, name)
            return [f"ConsumedEnergy is {shown} J at most{_of(fields, most)}."]
    return []


def _of(fields: _Fields, row: Row) -> str:
    called = fields.called(row)
    return f": of {called}" if called else ""
