"""Reads what libraries wrote into the log of a job, which holds the lines of many."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from perfscope.errors import UnreadableInputError
from perfscope.readers.common import texts
from perfscope.readers.common.tool_reports import MOST_RANKS, reporting_trace
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.joblog import deepspeed, nccl, onednn, records
from perfscope.schema.other_tools import ToolReport
from perfscope.trace.model import Format, Trace


class Part(Protocol):
    """One library's lines: fed line by line, and reduced at the end."""

    def take(self, line: str) -> bool:
        """Whether the line is this library's."""

    def report(self, path: Path) -> ToolReport | None:
        """What its lines come to; None where they tell nothing."""


SIGNS = (onednn.SIGN, nccl.SIGN, deepspeed.SIGN, records.SIGN)
_DOCUMENT = re.compile(rb"\s*(?:\{|\[\s*[\[\]{]|<)")
"""How JSON and XML begin, which may hold lines of a log as texts."""
WHY = "the log of a job tells what libraries did, and not how ranks spent their time"


def _recognizes(place: Place) -> bool:
    head = place.head
    is_text = b"\0" not in head and _DOCUMENT.match(head) is None
    return not place.is_directory and is_text and any(sign.search(head) for sign in SIGNS)


def _open(paths: Sequence[Path], _: ReadOptions) -> Trace:
    """A run of which nothing is known but what its libraries said.

    Raises:
        UnreadableInputError: no library says anything that can be counted.
    """
    path = paths[0]
    notes: list[str] = []
    of_nccl = nccl.Nccl()
    parts: tuple[Part, ...] = (
        onednn.Onednn(),
        of_nccl,
        deepspeed.Deepspeed(),
        records.Records(),
    )
    for line in texts.lines(path, notes.append):
        any(part.take(line) for part in parts)
    reports = [told for part in parts if (told := part.report(path)) is not None]
    if not reports:
        raise UnreadableInputError(
            f"{path} is a log in which no library tells anything.",
            why="Lines of oneDNN, NCCL, DeepSpeed, Horovod's autotuner or sacct hold no figures.",
            action="Log again: ONEDNN_VERBOSE=1, NCCL_DEBUG=INFO, or DeepSpeed's comms_logger.",
        )
    ranks = range(min(of_nccl.ranks(), MOST_RANKS))
    trace = reporting_trace(path, Format.LOG, reports[0], why=WHY, ranks=ranks, notes=notes)
    trace.tool_reports += reports[1:]
    return trace


READER = Reader(
    format=Format.LOG,
    description="the log of a job with lines of oneDNN, NCCL, DeepSpeed (comms logger), Horovod's "
    "autotuner or sacct",
    recognizes=_recognizes,
    open=_open,
    tells=Tells(
        waits="ranks that never made a communicator",
        resources="time by primitive and by collective, as the libraries measured it",
        known_from="lines of the tools; NCCL's host code without a device; four logs of it by hand",
    ),
)
