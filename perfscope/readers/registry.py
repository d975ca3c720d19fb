"""Which reader opens a path, decided by what lies there and never by its name."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import overload

from perfscope.errors import UnreadableInputError
from perfscope.memory import ROW_BYTES
from perfscope.progress import stage
from perfscope.readers.common.amounts import LONGEST_NS
from perfscope.readers.common.blocks import MOST_BOMBS, GrowthError, not_tried
from perfscope.readers.detect import Detection, Reader, ReadOptions, Source
from perfscope.readers.merge import Part, merge
from perfscope.readers.recording import reader as recording
from perfscope.readers.secrets import without_secrets
from perfscope.registry import members
from perfscope.scratch import expect
from perfscope.trace.model import Trace


@cache
def readers() -> tuple[Reader, ...]:
    """All readers, the most special first."""
    found: list[Reader] = members("perfscope.readers", "READER")
    return tuple(sorted(found, key=lambda reader: (reader.is_generic, reader.format.value)))


class _OwnFirst(Sequence[Reader]):
    """All readers, perfscope's own first: those of other tools are loaded where it is none."""

    def __iter__(self) -> Iterator[Reader]:
        yield recording.READER
        yield from (reader for reader in readers() if reader is not recording.READER)

    def __len__(self) -> int:
        return len(readers())

    @overload
    def __getitem__(self, place: int) -> Reader: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Reader]: ...

    def __getitem__(self, place: int | slice) -> Reader | Sequence[Reader]:
        return tuple(self)[place]


def open_trace(path: Path, options: ReadOptions | None = None) -> Trace:
    """The trace stored at `path`, whatever its format.

    Raises:
        UnreadableInputError: nothing is there, or no reader knows it.
    """
    return open_traces([path], options)


def open_traces(paths: Sequence[Path], options: ReadOptions | None = None) -> Trace:
    """The run stored at some paths: files and directories, of one or several formats.

    What does not belong to the run of the first one is left aside and said in `Trace.notes`.

    Raises:
        UnreadableInputError: nothing is at one of them, or no reader knows it.
    """
    stage("reading")
    detection = Detection(_OwnFirst())
    for path in paths:
        detection.add(path)
    options = options or ReadOptions()
    opened = list(_opened(_joined(detection.sources), options))
    parts = [part for part in opened if isinstance(part, Part)]
    failures = [error for error in opened if isinstance(error, UnreadableInputError)]
    if not parts:
        raise failures[0]
    trace = merge(parts, [error.what.rstrip(".") for error in failures])
    trace.choices = [*detection.choices, *trace.choices]
    trace.notes += [
        *detection.choices,
        *detection.notes,
        *(f"{error.what} {error.why}" for error in failures),
    ]
    without_secrets(trace)
    calls = sum(len(rank.operations) for rank in trace.ranks)
    expect(ROW_BYTES * calls, f"The tables of these {calls:,} calls")
    return trace


def _joined(sources: Sequence[Source]) -> list[Source]:
    """The sources; files of a format that has one for each rank are one source."""
    alone = [source for source in sources if not source.reader.joins]
    ranks: dict[str, Source] = {}
    for source in sources:
        if source.reader.joins:
            before = ranks.get(source.reader.format.value)
            paths = (*(before.paths if before else ()), *source.paths)
            is_named = source.is_named or (before is not None and before.is_named)
            ranks[source.reader.format.value] = Source(
                source.reader, tuple(dict.fromkeys(paths)), is_named
            )
    return [*alone, *ranks.values()]


def _opened(
    sources: Sequence[Source], options: ReadOptions
) -> Iterator[Part | UnreadableInputError]:
    """What each source gives; a directory full of bombs is left after the first few."""
    bombs = 0
    for source in sources:
        if bombs >= MOST_BOMBS and not source.is_named:
            yield not_tried(source.text, bombs)
            continue
        found = _open(source, options)
        bombs += isinstance(found, GrowthError)
        yield found


def _plausible(source: Source, trace: Trace) -> Trace:
    """The trace, if a job can take as long: one damaged number can make it last for years."""
    lives = [rank.end_ns - rank.start_ns for rank in trace.ranks]
    longest_ns = max([trace.wall_ns, *lives])
    if longest_ns > LONGEST_NS:
        raise UnreadableInputError(
            f"The times in {source.text} make no sense.",
            why=f"From its first to its last event pass {longest_ns / 86400e9:,.0f} days.",
            action="The file may be damaged: copy it again, or record again.",
        )
    return trace


def _open(source: Source, options: ReadOptions) -> Part | UnreadableInputError:
    """The trace of a source; why not, where the user did not ask for this very one."""
    try:
        return Part(source, _plausible(source, source.reader.open(source.paths, options)))
    except UnreadableInputError as error:
        if source.is_named:
            raise
        return error
