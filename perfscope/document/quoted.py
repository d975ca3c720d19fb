"""The line that a finding names: its source, and how often samples saw it."""

import ast
import re
from pathlib import Path

from perfscope import files, places
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.record.redact import redact_value
from perfscope.schema.findings import Seen
from perfscope.trace.model import Format, Frame, Trace
from perfscope.units import NS

LONGEST_FILE = 2 << 20
LONGEST_LINE = 160
"""Of a line, which is told with an ellipsis where it is longer."""

_ENDS = re.compile("\r\n|\r|\n")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def source_line(finding: Finding, trace: Trace) -> str:
    """The line at which a finding has its first place, without secrets; "" where nobody has it.

    A file that is younger than the run, or has another function there, is not the one that ran.
    """
    frame = finding.where[0] if finding.where else None
    if frame is None or trace.format is not Format.PERFSCOPE or frame.line < 1:
        return ""
    path = Path(frame.file)
    if path.suffix != ".py" or not path.is_absolute():
        return ""
    try:
        if path.stat().st_mtime > trace.origin_unix_ns * NS:
            return ""
        text = files.read_bytes(path, LONGEST_FILE).decode("utf-8")
        is_there = _function_at(text, frame.line) == _own_name(frame)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return ""
    lines = _ENDS.split(text)
    if not is_there or frame.line > len(lines):
        return ""
    line = redact_value(" ".join(lines[frame.line - 1].split()))
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def seen(run: Facts, finding: Finding) -> Seen | None:
    """In how many samples of its ranks a finding's line was seen; None where it has none."""
    frame = finding.where[0] if finding.where else None
    if frame is None:
        return None
    ranks = [one for one in run.results.trace.ranks if one.number in finding.ranks]
    counts = [run.line_samples.counts(rank, {frame}) for rank in ranks]
    inside, whole = (sum(one) for one in zip(*counts, strict=True)) if counts else (0, 0)
    return Seen(inside, whole) if inside else None


def _own_name(frame: Frame) -> str:
    """The name that the definition of its function has, "" of code in none."""
    return places.short_name(frame.function).rpartition(".")[2]


def _function_at(text: str, line: int) -> str:
    """The name of the innermost function whose lines hold that one; "" of code in none."""
    name = ""
    nodes: list[ast.AST] = [ast.parse(text)]
    while nodes:
        inner = [
            one
            for one in ast.iter_child_nodes(nodes.pop())
            if getattr(one, "lineno", line) <= line <= (getattr(one, "end_lineno", None) or line)
        ]
        name = next((one.name for one in inner if isinstance(one, _FUNCTIONS)), name)
        nodes += inner
    return name
