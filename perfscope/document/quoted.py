"""The line that a finding names: its source, and how often samples saw it."""

import time
from pathlib import Path

from perfscope import own_files, places
from perfscope.document.source_text import code_at
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.few_looks import is_clear
from perfscope.judging import MAIN
from perfscope.record.redact import redact_value
from perfscope.schema.enums import LossKind
from perfscope.schema.findings import Seen
from perfscope.schema.losses import Losses
from perfscope.trace.metadata import noted_directory
from perfscope.trace.model import Format, Frame, Trace

LONGEST_FILE = 512 << 10
OF_CALLS = (LossKind.WAITING, LossKind.TRANSFER, LossKind.COMMUNICATION)
"""Losses that are time in calls between ranks."""

LONGEST_LINE = 160
"""Of a line, which is told with an ellipsis where it is longer."""


def source_line(finding: Finding, trace: Trace) -> str:
    """The line at which a finding has its first place, without literals and secrets.

    "" where nobody has it: a file that is younger than the run, or has another function there, is
    not the one that ran. A recording may come from anybody, and what it names may be another
    file: only one of the user's own is read, in the directory in which the run was.
    """
    frame = finding.where[0] if finding.where else None
    if frame is None or trace.format is not Format.PERFSCOPE or frame.line < 1:
        return ""
    path, began_ns = Path(frame.file), trace.origin_unix_ns
    directory = _directory(path, finding, trace)
    if path.suffix != ".py" or directory is None or began_ns > time.time_ns():
        return ""
    try:
        content = own_files.read_own(
            path, directory, most_bytes=LONGEST_FILE, written_by_ns=began_ns
        )
        code = code_at(content.decode("utf-8-sig"), frame.line)
    except (OSError, ValueError, SyntaxError):
        return ""
    if _own_name(frame) not in code.functions:
        return ""
    line = redact_value(" ".join(code.text.split()))
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def seen(run: Facts, finding: Finding) -> Seen | None:
    """In how many samples of its ranks a finding's line was seen; None where it has none."""
    frame = finding.where[0] if finding.where else None
    if frame is None:
        return None
    ranks = [one for one in run.results.trace.ranks if one.number in finding.ranks]
    counts = [run.line_samples.counts(rank, {frame}) for rank in ranks]
    inside, whole = (sum(one) for one in zip(*counts, strict=True)) if counts else (0, 0)
    if not inside:
        return None
    return Seen(inside, whole, *run.line_samples.mostly_in(ranks, frame))


def only_waits(run: Facts, finding: Finding, lost: Losses) -> bool:
    """Whether the line that a finding names only waits for threads that make the calls it is of.

    The main thread's stacks lie there while these are made, of which nothing tells the place.
    """
    mine = [one for one in lost.entries if finding.id in one.findings]
    if not finding.where or not mine or any(one.kind not in OF_CALLS for one in mine):
        return False
    handed = seen = 0
    for rank in run.results.trace.ranks:
        if rank.number in finding.ranks:
            seen += run.line_samples.counts(rank, finding.where[:1])[0]
            handed += run.line_samples.in_handed_calls(rank, finding.where[0])
    return is_clear(handed) and handed >= MAIN * seen


def _directory(path: Path, finding: Finding, trace: Trace) -> Path | None:
    """The directory in which a rank of the finding began that has the file below it."""
    ranks = [one for one in trace.ranks if not finding.ranks or one.number in finding.ranks]
    found = map(Path, sorted({noted_directory(one.metadata) for one in ranks}))
    return next((one for one in found if own_files.is_below(path, one)), None)


def _own_name(frame: Frame) -> str:
    """The name that the definition of its function has, "" of code in none."""
    return places.short_name(frame.function).rpartition(".")[2]
