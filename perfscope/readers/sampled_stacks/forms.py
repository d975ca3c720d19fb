"""The three forms of sampled stacks: collapsed lines, speedscope, and py-spy's Chrome trace."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from perfscope.errors import UnreadableInputError
from perfscope.readers.common import texts
from perfscope.readers.common.amounts import LONGEST_NS, MAX_AMOUNT
from perfscope.readers.recording.stack_events import (
    LONGEST_FILE,
    LONGEST_NAME,
    Forest,
    decode_events,
)
from perfscope.structures import dataclass

Frame = tuple[str, str, int]
_COUNTED = re.compile(rb"[^\s;].* \d+\s*", re.DOTALL)
_REMARKS = (b"#", b"//")
_PLACED = re.compile(r"(.*) \(([^()]*?)(?::(\d+))?\)")
_PROCESS = re.compile(r"[Pp]rocess (\d{1,9})")
_THREAD_OR_PROCESS = re.compile(r"(?:process \d+|thread \()")
_NS = {"nanoseconds": 1, "microseconds": 1000, "milliseconds": 10**6, "seconds": 10**9}
COUNTS = ("", "none", "samples")
"""Units of profiles that count: samples, or nobody says what."""
LONGEST_UNIT = 30
SLACK = 0.01
"""Weights may add up to as much more than the time of their profile, by rounding."""
WHAT, ACTION = "sampled stacks", "Copy the file again, or record again: py-spy record -o FILE"
BOOTSTRAP = "_bootstrap"
"""The outermost function of each thread of Python that is not the main one."""

Profile = Mapping[str, Any]
Thread = tuple[int, int]
"""Process id, 0 unknown, and number."""
Row = tuple[float, float, int]
"""Begin and end, in whole ns where the file tells time, and the node in between."""
MOST_PID = 0x7FFFFFFF
Span = tuple[int, int, int, int, bool]
"""Begin and end in ns, node, process id, whether it is the main thread's: as SPAN_DTYPE."""


@dataclass
class Sampled:
    """What a file holds."""

    tool: str  # what wrote it
    unit: str = "s"  # "s" where the file tells time, else what it counts
    forest: Forest = field(default_factory=Forest)  # its stacks
    # of each node, in `unit`; of the innermost frame
    weights: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    # when each thread was in which stack, where the file tells an order
    spans: list[Span] = field(default_factory=list)
    hz: float = 0.0  # samples a second, 0 unknown
    is_wall: bool = False  # whether its times are those of one clock for all threads
    left_out: int = 0  # lines or stacks that say nothing
    notes: list[str] = field(default_factory=list)  # what was unusual


def is_collapsed(head: bytes) -> bool:
    """Whether text is of the raw form: lines of stacks, each with how often it was seen."""
    lines = head.split(b"\n")
    if len(lines) > 1:
        lines.pop()  # it may go on, where it is not empty
    told = [line for line in lines if line.strip() and not line.startswith(_REMARKS)]
    is_text = b"\0" not in head and any(b";" in line for line in told)
    return is_text and all(_COUNTED.fullmatch(line) for line in told)


def collapsed(path: Path) -> Sampled:
    """The raw form: a stack, outermost first, and how often it was seen, on each line.

    Many tools write it; frames have places where py-spy does.

    Raises:
        UnreadableInputError: no line is one.
    """
    # of samples, of events, of what else it may be, until frames tell that py-spy wrote them
    found = Sampled("Collapsed stacks", unit="counts")
    for line in texts.lines(path, found.notes.append):
        stack, _, number = line.rpartition(" ")
        if not stack or not number.isdecimal() or not 0 < int(number[:20]) < MAX_AMOUNT:
            found.left_out += bool(line.strip()) and not line.encode().startswith(_REMARKS)
            continue
        frames = [_placed(text) for text in stack.split(";")]
        if any(file and line for _, file, line in frames):
            found.tool, found.unit = "py-spy", "samples"
        node = _node(found.forest, iter(frames))
        found.weights[node] += int(number[:20])
    return found


def _node(forest: Forest, frames: Iterator[Frame]) -> int:
    node = 0
    for frame in frames:
        node = forest.child(node, frame)
    return node


def _placed(text: str) -> Frame:
    """`function (file:line)`; names of threads and processes have no place."""
    found = _PLACED.fullmatch(text)
    if found is None or _THREAD_OR_PROCESS.match(text):
        head = _THREAD_OR_PROCESS.match(text)
        return ((text.partition(":")[0] if head else text)[:LONGEST_NAME], "", 0)
    line = int(found[3][:9]) if found[3] else 0
    return found[1][:LONGEST_NAME], found[2][:LONGEST_FILE], line


def chrome(path: Path) -> Sampled:
    """py-spy's Chrome trace: when the stack of each thread changed.

    Raises:
        UnreadableInputError: it cannot be read.
    """
    notes: list[str] = []
    text = texts.content_of(path, notes.append, ACTION).decode("utf-8", "replace")
    found = Sampled("py-spy", is_wall=True, notes=notes)
    decoded = decode_events(text, found.forest)
    if decoded.is_damaged:
        notes.append(f"{path.name} is cut off or damaged; it was read as far as it is whole.")
    rows: dict[Thread, list[Row]] = defaultdict(list)
    for pid, thread, begin_us, end_us, node in decoded.spans:
        rows[pid & MOST_PID, thread].append((begin_us * 1000, end_us * 1000, node))
    _take(found, rows)
    return found


def _take(found: Sampled, threads: Mapping[Thread, Sequence[Row]]) -> None:
    """Adds what the threads did; the first of them that threading did not start is the main one.

    What a file counts instead of time has no place in it.
    """
    per_unit = 1e9 if found.unit == "s" else 1

    def worth(thread: Thread) -> tuple[bool, float]:
        begun, _, node = threads[thread][0]
        return _outermost(found.forest, node).endswith(BOOTSTRAP), begun

    main = min((thread for thread in threads if threads[thread]), key=worth, default=None)
    for thread, rows in threads.items():
        for begin, end, node in rows:
            if found.unit == "s":
                found.spans.append((int(begin), int(end), node, thread[0], thread == main))
            found.weights[node] += (end - begin) / per_unit


def _outermost(forest: Forest, node: int) -> str:
    """The outermost function of a stack; names of threads and processes are none."""
    name = ""
    while node > 0:
        frame = forest.stacks.frames[forest.stacks.places[node]]
        name = frame[0] if frame[1] else name
        node = forest.parent(node)
    return name


def speedscope(path: Path) -> Sampled:
    """A file of speedscope's own format: threads with samples and weights, or with events.

    Raises:
        UnreadableInputError: it cannot be read, or holds no stacks.
    """
    document = texts.mapping(texts.read_document(path, WHAT, ACTION))
    shared = texts.mapping(document.get("shared"))
    frames = [_frame(row) for row in texts.rows(shared.get("frames"))]
    profiles = texts.rows(document.get("profiles"))
    if not profiles or not frames:
        why = "Neither `profiles` nor `shared.frames` holds anything."
        raise UnreadableInputError(f"{path} holds no stacks.", why=why, action=ACTION)
    exporter = texts.text(document, "exporter")[:60].replace("@", " ")
    found = Sampled(exporter or "speedscope")
    profiles = _of_one_unit(found, profiles)
    found.is_wall = all(texts.text(profile, "type") == "evented" for profile in profiles)
    rows: dict[Thread, list[Row]] = {}
    for number, profile in enumerate(profiles):
        process = _PROCESS.search(texts.text(profile, "name"))
        reader = _Profile(found, frames, _NS.get(texts.text(profile, "unit"), 0))
        is_sampled = texts.text(profile, "type") == "sampled"
        told = reader.samples(profile) if is_sampled else reader.events(profile)
        rows[int(process[1]) if process else 0, number] = list(told)
    _take(found, rows)
    if found.spans and _overlap(found, profiles):
        found.spans.clear()
    return found


def _of_one_unit(found: Sampled, profiles: Sequence[Profile]) -> list[Profile]:
    """The profiles that can be added up: those of time, else of counts, else of the first unit.

    Bytes and seconds are of different things: the others are named.
    """
    by_unit: dict[str, list[Profile]] = defaultdict(list)
    for profile in profiles:
        told = texts.text(profile, "unit")
        unit = "s" if told in _NS else "counts" if told in COUNTS else told[:LONGEST_UNIT]
        by_unit[unit] += [profile] if profile.get("samples") or profile.get("events") else []
    held = {unit: some for unit, some in by_unit.items() if some}
    chosen = next((unit for unit in ("s", "counts", *held) if unit in held), "counts")
    if others := sorted(held.keys() - {chosen}):
        found.notes.append(
            f"Profiles in {', '.join(others)} were left out: they measure something else."
        )
    profiles = held.get(chosen, [])
    is_of_samples = any(texts.text(one, "unit") == "samples" for one in profiles)
    found.unit = "samples" if is_of_samples else chosen
    return profiles


def _overlap(found: Sampled, profiles: Sequence[Profile]) -> bool:
    """Whether a profile holds more time than lies between its begin and end: of threads at once."""
    for profile in profiles:
        told, name = profile.get("weights"), texts.text(profile, "name")[:60]
        weights = [one for one in told if _is_number(one)] if isinstance(told, list) else []
        start, end = (texts.amount(profile, one) for one in ("startValue", "endValue"))
        if start is None or end is None or not weights:
            continue
        if sum(weights) - max(weights) > (end - start) * (1 + SLACK) > 0:
            found.notes.append(
                f"Profile {name!r} holds {sum(weights) / (end - start):.3g} times as much as lies "
                "between its begin and end, as of several threads: nothing is placed in time."
            )
            return True
    return False


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LONGEST_NS
    )


def _frame(row: Mapping[str, Any]) -> Frame:
    line = texts.whole(row, "line") or 0
    name, file = texts.text(row, "name"), texts.text(row, "file")
    return name[:LONGEST_NAME], file[:LONGEST_FILE], line if line < 1 << 31 else 0


@dataclass
class _Profile:
    """One thread of a speedscope file: its times in nanoseconds, anything else as it is.

    What is no time has no place in it: each weight stands by itself, from 0.
    """

    found: Sampled
    frames: Sequence[Frame]
    unit_ns: int  # the length of its unit, 0 where that is none of time

    def samples(self, profile: Mapping[str, Any]) -> Iterator[Row]:
        """Stacks end to end, each as long as its weight: what lies between is not told."""
        stacks, weights = profile.get("samples"), profile.get("weights")
        if not isinstance(stacks, list) or not isinstance(weights, list):
            self.found.left_out += 1
            return
        end: float = 0
        self.found.left_out += abs(len(stacks) - len(weights))
        for stack, weight in zip(stacks, weights, strict=False):
            length, node = self._amount(weight), self._node(stack)
            if not length or not node:
                self.found.left_out += 1
                continue
            if not self.found.hz and self.found.unit == "s":
                self.found.hz = float(round(1e9 / length))
            yield end, end + length, node
            if self.unit_ns:
                end += length

    def events(self, profile: Mapping[str, Any]) -> Iterator[Row]:
        """Frames that open and close."""
        node, since = 0, 0.0
        for event in texts.rows(profile.get("events")):
            moment, kind = self._amount(event.get("at")), event.get("type")
            frame = texts.whole(event, "frame")
            is_known = frame is not None and frame < len(self.frames) and kind in ("O", "C")
            if moment is None or moment < since or not is_known or frame is None:
                self.found.left_out += 1
                continue
            if node and moment > since:
                yield since, moment, node
            told = self.frames[frame]
            node = self.found.forest.child(node, told) if kind == "O" else self._left(node, told)
            since = moment

    def _left(self, node: int, frame: Frame) -> int:
        """The stack after a frame closed; one that closes before others in it closes them, too."""
        forest, inner = self.found.forest, node
        while node and forest.stacks.frames[forest.stacks.places[node]] != frame:
            node = forest.parent(node)
        self.found.left_out += node != inner or not node
        return forest.parent(node) if node else inner

    def _amount(self, value: object) -> float | None:
        """What a number stands for, None where that cannot be; of time whole nanoseconds."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        most = LONGEST_NS if self.unit_ns else MAX_AMOUNT
        if not 0 <= value < most:
            return None
        amount = round(value * self.unit_ns) if self.unit_ns else value
        return amount if amount < most else None

    def _node(self, stack: object) -> int:
        if not isinstance(stack, list) or not all(isinstance(one, int) for one in stack):
            return 0
        if not all(0 <= one < len(self.frames) for one in stack):
            return 0
        return _node(self.found.forest, (self.frames[one] for one in stack))
