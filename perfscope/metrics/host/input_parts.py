"""What getting batches ready consists of, as far as stack samples show it."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

import numpy as np

from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.focus import Focus
from perfscope.attribution.own_places import stacks_inside, usual_place
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.stack_rules import is_user_file, words_of
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.schema.enums import Account, Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank, Table, Trace


class InputPart(Enum):
    """What a function does on the way of a batch to the training."""

    READ = "reading"
    DECODE = "decoding and transforming"
    COPY = "copying and putting together"
    WAIT = "waiting"
    OTHER = "other work"


@dataclass(frozen=True)
class InputParts:
    """Stack samples by part: of the training thread while it gets a batch, and of its producers.

    Producers are threads that fill the input queue from which the training thread takes batches;
    where there are none, the processes that work for the rank (`by_processes`), but for the time in
    which they load modules: that is their start, and makes no batch. `place` is the
    user's function in which they were seen most beside waiting for room in it, at the line seen
    most; None where there are none. `unpacks` is the library's function that decompresses an item
    each time that the user's code looks it up, or reads it whole from an archive, where that is
    most of the work, and `unpacked` the number of samples of it; `is_read` tells that it mostly
    reads. `own` is the user's function in which the training thread mostly is
    while it gets a batch, at the line seen most; None where none is.
    """

    rank: int
    getting: Mapping[InputPart, int]
    producing: Mapping[InputPart, int]
    place: Frame | None = None
    unpacks: Frame | None = None
    unpacked: int = 0
    is_read: bool = False
    by_processes: bool = False
    own: Frame | None = None


_FILES = (
    (InputPart.COPY, r"/_utils/(collate|pin_memory)\.py$|/re(ductions?|source_sharer)\.py$"),
    (InputPart.DECODE, r"/(PIL|torchvision|torchaudio|cv2|skimage|albumentations|imageio|av)/"),
    (InputPart.DECODE, r"/(json|csv|gzip|zlib|bz2|lzma|tokenizers|transformers)[/.]"),
    (InputPart.READ, r"/(h5py|zarr|lmdb|tarfile|zipfile|netCDF4|fsspec|s3fs)[/.]"),
    (InputPart.READ, r"/numpy/lib/_?(npyio|format)|/pandas/io/|/pyarrow/"),
    (InputPart.WAIT, r"/(queue|queues|selectors)\.py$|/multiprocessing/connection\.py$"),
)
_WORDS = {
    InputPart.COPY: "collate stack concatenate rebuild deepcopy pin pickle unpickle",
    InputPart.DECODE: (
        "decode decompress inflate parse resize crop augment transform normalize normalize "
        "preprocess tokenize rotate flip jpeg png"
    ),
    InputPart.READ: "read readline readinto open imread download seek",
    InputPart.WAIT: "poll wait acquire",
}
"""What the words of a function's name tell, in libraries as in the user's own files."""

_UNPACKING = {"decompress", "inflate"}
_LOOK_UP = "__getitem__"
_OF_ARCHIVE = "NpzFile.__getitem__"
"""What opens, reads and checks an item of an archive whole on each access, compressed or not."""

_OF_FILES = tuple((part, re.compile(pattern)) for part, pattern in _FILES)
_OF_WORDS = {word: part for part, words in _WORDS.items() for word in words.split()}


def part_of_frame(frame: Frame) -> InputPart | None:
    """What a function tells of the part that it belongs to; None: nothing."""
    for word in words_of(frame.function.rpartition(".")[2]):
        if word in _OF_WORDS:
            return _OF_WORDS[word]
    if is_user_file(frame.file):
        return None
    return next((part for part, pattern in _OF_FILES if pattern.search(frame.file)), None)


def part_of_stack(
    frames: Sequence[InputPart | None], is_own: Sequence[bool], stack: Iterable[int]
) -> InputPart:
    """The part of the innermost function that tells one, up to the user's own innermost function.

    What calls that function, a trainer or the start of a thread, tells nothing of it.
    """
    for place in reversed(tuple(stack)):
        if (part := frames[place]) is not None:
            return part
        if is_own[place]:
            break
    return InputPart.OTHER


def unpacked_by(frames: Sequence[Frame], stack: Iterable[int]) -> tuple[Frame, bool] | None:
    """The look-up in a library that unpacks, below the user's own innermost function.

    With whether it decompresses; else it only reads the item whole.
    """
    unpacks = False
    for place in reversed(tuple(stack)):
        frame = frames[place]
        if is_user_file(frame.file):
            return None
        name = frame.function.rpartition(".")[2]
        unpacks = unpacks or not _UNPACKING.isdisjoint(words_of(name))
        if (unpacks and name == _LOOK_UP) or frame.function == _OF_ARCHIVE:
            return frame, unpacks
    return None


def _unpacks(
    trace: Trace, parts: Sequence[InputPart], rows: Table
) -> tuple[Frame | None, int, bool]:
    """The look-up that unpacks in most samples of work on batches, in how many, and if it reads."""
    seen = [stack for stack in rows["stack"].tolist() if stack >= 0]
    busy = [trace.stacks[stack] for stack in seen if parts[stack] is not InputPart.WAIT]
    found = [frame for frame in (unpacked_by(trace.frames, stack) for stack in busy) if frame]
    if len(found) < FEWEST_SAMPLES or len(found) <= MAIN * len(busy):
        return None, 0, False
    frame = Counter(one for one, _ in found).most_common(1)[0][0]
    return frame, len(found), sum(unpacks for _, unpacks in found) <= MAIN * len(found)


def input_parts(prepared: Prepared) -> tuple[InputParts, ...]:
    """What each rank was seen doing for its batches in the focus; nothing of ranks without any."""
    trace = prepared.trace
    if not trace.stacks:
        return ()
    frames = [part_of_frame(frame) for frame in trace.frames]
    is_own = [is_user_file(frame.file) for frame in trace.frames]
    parts = [part_of_stack(frames, is_own, stack) for stack in trace.stacks]
    loads = stack_activities(trace) == ACTIVITIES.index(Activity.IMPORTING)
    found = []
    for rank, timeline in zip(trace.ranks, prepared.timelines, strict=True):
        rows = prepared.focus.within(rank.stacks)
        own = rows[rows["tid"] == rank.main_tid]
        mine = timeline.samples_in(own, Account.INPUT_WAIT)
        getting = _counted(parts, mine)
        made = of_producers(rank, rows)
        is_apart = not len(made)
        if is_apart:
            made = of_processes(rank, prepared.focus)
            made = made[~loads[made["stack"]]]
        producing = _counted(parts, made)
        if getting or producing:
            place = _place(trace, parts, made)
            unpacks = _unpacks(trace, parts, made if producing else mine)
            by_processes = is_apart and bool(producing)
            told = rank.number, getting, producing, place, *unpacks, by_processes
            found.append(InputParts(*told, _mostly_at(trace, parts, mine)))
    return tuple(found)


def of_processes(rank: Rank, focus: Focus) -> Table:
    """Samples of the main threads of the processes that work for a rank."""
    return in_main_threads(focus.within(rank.worker_stacks))


def in_main_threads(rows: Table) -> Table:
    """Of samples of worker processes those of their main threads."""
    main: Table = rows[rows["tid"] == rows["pid"]]
    return main


def of_producers(rank: Rank, rows: Table) -> Table:
    """Samples of the threads that fill the queue from which the training takes its batches."""
    number = main_queue(rank)
    mine = rank.queues[~rank.queues["is_get"] & (rank.queues["queue"] == number)]
    here: Table = rows[np.isin(rows["tid"], mine["tid"]) & (rows["tid"] != rank.main_tid)]
    return here


def _place(trace: Trace, parts: Sequence[InputPart], rows: Table) -> Frame | None:
    """Where samples were taken most, but for those of waiting for room in the queue."""
    seen = [stack for stack in rows["stack"].tolist() if stack >= 0]
    busy = (trace.stacks[stack] for stack in seen if parts[stack] is not InputPart.WAIT)
    return usual_place(busy, trace.frames)


def _mostly_at(trace: Trace, parts: Sequence[InputPart], rows: Table) -> Frame | None:
    """The function that most samples are in, where these are enough to tell."""
    place = _place(trace, parts, rows)
    inside = stacks_inside(trace, place)[rows["stack"]] & (rows["stack"] >= 0)
    count = int(np.count_nonzero(inside))
    return place if count >= FEWEST_SAMPLES and count > MAIN * len(rows) else None


def main_queue(rank: Rank) -> int:
    """The queue from which the training thread takes most batches, -1 none."""
    gets = rank.queues["queue"][rank.queues["is_get"]]
    return int(np.bincount(gets).argmax()) if len(gets) else -1


def _counted(parts: Sequence[InputPart], rows: Table) -> Mapping[InputPart, int]:
    return dict(Counter(parts[stack] for stack in rows["stack"].tolist() if stack >= 0))
