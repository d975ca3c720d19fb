"""Which buffers a data-parallel model sent in its forward passes, read defensively."""

from collections.abc import Iterator, Mapping
from typing import Any

from perfscope.structures import dataclass
from perfscope.trace.counts import count_under
from perfscope.trace.model import Frame, Rank
from perfscope.trace.operands import frame_of

_MOST_MODELS = 64
_MOST_BUFFERS = 64


@dataclass(frozen=True)
class SentBuffer:
    """One buffer of a model, as a rank saw it."""

    name: str  # as PyTorch names it, with the modules that it lies in
    bytes: int
    written: int  # times that the program wrote it between two broadcasts
    looks: int  # comparisons of what the rank held with what it was sent; 0 on the rank that sends
    same: int  # looks in which it held that already
    revisits: int  # comparisons, in places that stay, with what the rank held at the look before
    kept: int  # those in which it was the same


@dataclass(frozen=True)
class SentBuffers:
    """The buffers of one model on one rank; the largest of them, where there are many."""

    model: int  # its number among those that the rank wraps
    argument: str  # of DistributedDataParallel, that has them sent
    made_at: Frame | None  # the line that makes it; None unknown
    syncs: int  # broadcasts of all of them
    bytes: int  # of all of them
    buffers: tuple[SentBuffer, ...]  # the largest first


def sent_buffers(rank: Rank) -> Iterator[SentBuffers]:
    """Those of each model of a rank, in the order in which they were first sent."""
    rows = rank.framework("torch.distributed").get("sent_buffers")
    for row in rows[:_MOST_MODELS] if isinstance(rows, list) else ():
        if not isinstance(row, Mapping):
            continue
        yield SentBuffers(
            model=count_under(row, "model"),
            argument=str(row.get("argument")),
            made_at=frame_of(row.get("made_at")),
            syncs=count_under(row, "syncs"),
            bytes=count_under(row, "bytes"),
            buffers=tuple(_buffers(row.get("buffers"))),
        )


def _buffers(rows: Any) -> Iterator[SentBuffer]:
    for row in rows[:_MOST_BUFFERS] if isinstance(rows, list) else ():
        if isinstance(row, Mapping) and isinstance(row.get("name"), str):
            looks, revisits = count_under(row, "looks"), count_under(row, "revisits")
            yield SentBuffer(
                name=str(row["name"]),
                bytes=count_under(row, "bytes"),
                written=count_under(row, "written"),
                looks=looks,
                same=min(count_under(row, "same"), looks),
                revisits=revisits,
                kept=min(count_under(row, "kept"), revisits),
            )
