"""Reads what HOROVOD_TIMELINE wrote: readiness, negotiation and execution of every tensor."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perfscope.engine import engine
from perfscope.readers.common.blocks import as_text, blocks, damaged
from perfscope.readers.detect import Place, Reader, Tells
from perfscope.schema.enums import EndKind
from perfscope.trace.model import Communicator, Ending, Format, Rank, Trace
from perfscope.trace.tensors import (
    NEGOTIATION_DTYPE,
    TENSOR_ACTIVITY_DTYPE,
    TICK_DTYPE,
    TensorTimeline,
)

US = 1000
MOST_UNNAMED_RANKS = 4096
_SIGNS = re.compile(rb'"name"\s*:\s*"(NEGOTIATE_|CYCLE_START)')
"""Every tensor is negotiated first. Other tools write the header with the epoch, too."""
_WHY = "a Horovod timeline tells when tensors were ready and what was done with them, and no more"
_ACTION = "Copy the file again from the job; a file that only ends too early can be read."
NOT_RECORDED = {
    **dict.fromkeys(("memory", "threads", "io", "devices", "messages", "environment"), _WHY),
    "steps": "a Horovod timeline has no steps",
    "communication": (
        "a Horovod timeline holds the work of Horovod's thread on one rank; how long the ranks "
        "themselves waited in calls is not in it"
    ),
}


def _recognizes(place: Place) -> bool:
    head = place.head.lstrip()
    return head.startswith(b"[") and _SIGNS.search(head) is not None


def read_timeline(path: Path) -> tuple[TensorTimeline, dict[str, Any], list[str]]:
    """The tables of a timeline file, what is known of it, and what was unusual.

    Raises:
        UnreadableInputError: the file is damaged.
    """
    notes: list[str] = []
    decoder = engine.HorovodTimeline(as_text(path))
    try:
        for block in blocks(path, notes.append):
            decoder.feed(block)
        decoder.finish()
    except engine.FormatError as error:
        raise damaged(error, _ACTION) from error
    facts = decoder.facts()
    timeline = TensorTimeline(
        tensors=_texts(decoder.tensors()),
        names=_texts(decoder.names()),
        negotiations=decoder.negotiations().view(NEGOTIATION_DTYPE),
        ticks=decoder.ticks().view(TICK_DTYPE),
        activities=decoder.activities().view(TENSOR_ACTIVITY_DTYPE),
        ranks=tuple(decoder.ranks()),
        cycles=facts["cycles"],
        start_ns=facts["first_ns"] or 0,
        end_ns=facts["last_ns"] or 0,
    )
    return timeline, facts, [*notes, *_oddities(path, facts)]


def _texts(texts: Sequence[bytes]) -> list[str]:
    return [text.decode("utf-8", "replace") for text in texts]


def _oddities(path: Path, facts: dict[str, Any]) -> list[str]:
    said = {
        "is cut off inside an event; what came before it counts": facts["is_cut"],
        "does not close its list: Horovod was still writing or the job was killed": (
            not facts["is_terminated"] and not facts["is_cut"]
        ),
        f"leaves {facts['unclosed_begins']:,} activities open; they count to its last event": (
            facts["unclosed_begins"]
        ),
        f"ends {facts['unmatched_ends']:,} activities that never began": facts["unmatched_ends"],
        f"names {facts['ticks_outside']:,} ranks outside of a negotiation; they are not counted": (
            facts["ticks_outside"]
        ),
        f"has {facts['backwards']:,} activities that end before they begin; they have no length": (
            facts["backwards"]
        ),
    }
    return [f"{path.name} {text}." for text, holds in said.items() if holds]


def open_horovod_timeline(path: Path) -> Trace:
    """A run as Horovod's coordinator saw it: ranks without operations, and `Trace.tensors`.

    Raises:
        UnreadableInputError: the file is damaged, or nothing happened in it.
    """
    timeline, facts, notes = read_timeline(path)
    if facts["first_ns"] is None:
        raise damaged(
            ValueError(str(path), 0, "it holds no event with a time"),
            "Record again: Horovod writes the file when the first tensor is ready.",
        )
    epoch_ns = facts["epoch_us"] * US if facts["epoch_us"] is not None else 0
    if not epoch_ns:
        notes.append(f"{path.name} does not say when it began: its times have no wall clock.")
    start_ns, end_ns = timeline.start_ns, timeline.end_ns
    timeline.shift(-start_ns)
    numbers = _numbers(timeline.ranks)
    ending = Ending(EndKind.EXITED, None, "the end of the timeline; how the rank ended is unknown")
    ranks = [
        Rank(number, "", 0, 0, end_ns - start_ns, main_tid=0, ending=ending) for number in numbers
    ]
    notes.append(
        f"{len(timeline.ranks)} ranks are named in {path.name}; ranks that it does not name, as "
        "happens when responses are cached, are not known."
    )
    return Trace(
        origin_unix_ns=epoch_ns + start_ns if epoch_ns else 0,
        wall_ns=end_ns - start_ns,
        world_size=numbers[-1] + 1,
        ranks=ranks,
        communicators=[Communicator(1, tuple(numbers), -1)],
        notes=notes,
        source=str(path),
        format=Format.HOROVOD_TIMELINE,
        not_recorded=NOT_RECORDED,
        tensors=timeline,
    )


def _numbers(named: Sequence[int]) -> Sequence[int]:
    """The ranks of the job as far as they are known: with the one that writes the timeline."""
    most = named[-1] if named else 0
    return range(most + 1) if most < MOST_UNNAMED_RANKS else named


READER = Reader(
    Format.HOROVOD_TIMELINE,
    "a timeline that HOROVOD_TIMELINE wrote",
    _recognizes,
    lambda paths, _: open_horovod_timeline(paths[0]),
    Tells(waits="tensors, by the coordinator's account", clock="from Horovod 0.19 on"),
)
