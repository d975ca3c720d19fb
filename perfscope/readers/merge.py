"""Several recordings of one run, by different tools, as one trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfscope.readers.detect import Source
from perfscope.trace.model import Trace


@dataclass(frozen=True)
class Part:
    """One trace and where it was read from."""

    source: Source
    trace: Trace


def merge(parts: Sequence[Part]) -> Trace:
    """The trace of the run of the first part; what cannot be joined is said in its notes."""
    trace = parts[0].trace
    for part in parts[1:]:
        trace.notes.append(
            f"{part.source.text} ({part.source.reader.format.value}) was left aside."
        )
    return trace
