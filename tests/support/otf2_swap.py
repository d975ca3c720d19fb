"""Turns an OTF2 archive into the same one in the other byte order."""

import ctypes
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support.otf2_archives import TYPE_OF, fields_of

LITTLE, BIG = 0x42, 0x23
SINGLE = frozenset({12, 13, 16, 17, 20, 21, 24, 28, 29, 30})
EVENTS = {
    number: "".join(
        {ctypes.c_uint8: "b", ctypes.c_uint32: "c", ctypes.c_uint64: "c"}[kind]
        for kind in fields_of(name)
    )
    for name, number in TYPE_OF.items()
    if name not in {"Metric", "ProgramBegin", "BufferFlush"}
} | {10: "8", 31: "cM", 83: "cS"}
"""b one byte, c a number behind its size, 2, 4 and 8 full numbers, s a text, a a typed value,
M metric values, S ids of texts, N 64-bit numbers behind a 32-bit count, B numbers behind a byte,
O properties behind a byte, I an id table."""
LOCAL = {5: "bI", 6: "8c8"}
GLOBAL = {
    5: "cccc",
    6: "bcb",
    7: "bba",
    8: "bccbcO",
    10: "cs",
    11: "ccbc",
    12: "cccc",
    13: "ccbcc",
    14: "ccbcc",
    15: "cccbccccbbc",
    16: "ccccc",
    17: "ccc",
    18: "ccbNbbc",
    19: "cccbbbbcc",
    20: "cBbb",
    21: "cccbc",
    22: "ccccc",
    23: "ccb",
    24: "cccc",
    25: "cc",
    26: "ccca",
    27: "cb",
    28: "ccca",
    29: "ccca",
    30: "cccb",
    31: "cccB",
    32: "ccB",
    33: "ccc",
    34: "cccc",
    35: "cca",
    36: "ccbbcc",
    37: "cca",
    38: "ccc",
    39: "ccc",
    40: "cccbccc",
    41: "cbc",
    42: "cca",
    43: "cccccc",
}
_VALUE_BYTES = {1: 1, 5: 1, 2: -2, 6: -2, 9: -4, 10: -8}
"""Width of values that have no size before them; negative: in the order of the machine."""


class Swapper:
    """Reverses the numbers of a file in place, walking over its little-endian records."""

    def __init__(self, content: bytes) -> None:
        self.bytes = bytearray(content)
        self.at = 0

    def full(self, width: int) -> int:
        """A number of full width."""
        piece = self.bytes[self.at : self.at + width]
        self.bytes[self.at : self.at + width] = piece[::-1]
        self.at += width
        return int.from_bytes(piece, "little")

    def byte(self) -> int:
        """One byte."""
        self.at += 1
        return self.bytes[self.at - 1]

    def compressed(self) -> int:
        """A number behind its size."""
        width = self.byte()
        return self.full(width) if width != 0xFF else 0xFFFFFFFF

    def text(self) -> None:
        """A text up to its null byte."""
        self.at = self.bytes.index(0, self.at) + 1

    def value(self) -> None:
        """A value behind its type."""
        width = _VALUE_BYTES.get(self.byte(), 0)
        if width == 0:
            self.compressed()
        elif width > 0:
            self.at += width
        else:
            self.full(-width)

    def many(self, count: int, read: Callable[[], object]) -> None:
        """Some items."""
        for _ in range(count):
            read()

    def fields(self, layout: str, end: int) -> None:
        """The fields of a record that ends at `end`; older records have fewer."""
        actions: dict[str, Callable[[], object]] = {
            "b": self.byte,
            "c": self.compressed,
            "8": lambda: self.full(8),
            "s": self.text,
            "a": self.value,
            "M": lambda: self.many(self.byte(), self._metric),
            "S": lambda: self.many(self.compressed(), self.compressed),
            "N": lambda: self.many(self.compressed(), self.compressed),
            "B": lambda: self.many(self.byte(), self.compressed),
            "O": lambda: self.many(self.byte(), self._property),
            "I": self._table,
        }
        for letter in layout:
            if self.at >= end:
                return
            actions[letter]()

    def _metric(self) -> None:
        self.byte()
        self.compressed()

    def _property(self) -> None:
        self.byte()
        self.value()

    def _attribute(self) -> None:
        self.compressed()
        self.value()

    def _table(self) -> None:
        count = self.compressed()
        self.many(count * (1 + self.byte()), self.compressed)

    def record(self, layout: str | None) -> None:
        """A record behind its type; without a layout its attributes."""
        length = self.byte()
        if length == 0xFF:
            length = self.full(8)
        end = self.at + length
        if layout is None:
            self.many(self.compressed(), self._attribute)
        else:
            self.fields(layout, end)
        assert self.at == end

    def chunked(self, chunk_bytes: int, layouts: dict[int, str], *, has_events: bool) -> bytes:
        """A file of definitions or events."""
        for start in range(0, len(self.bytes), chunk_bytes):
            self.at = start
            assert self.byte() == 3
            assert self.byte() == LITTLE
            self.bytes[self.at - 1] = BIG
            self.full(8)
            self.full(8)
            while (kind := self.byte()) not in {0, 2}:
                if kind == 5 and has_events:
                    self.full(8)
                elif kind == 6 and has_events:
                    self.record(None)
                elif kind in SINGLE and has_events:
                    self.compressed()
                else:
                    self.record(layouts[kind])
        return bytes(self.bytes)

    def anchor(self) -> tuple[bytes, int, int]:
        """An anchor file, and the chunk sizes that it tells."""
        assert self.byte() == 3
        assert self.byte() == LITTLE
        self.bytes[1] = BIG
        self.text()
        self.at += 5
        events, definitions = self.full(8), self.full(8)
        self.at += 2
        self.full(8)
        self.full(8)
        self.many(3, self.text)
        self.many(2 * self.full(4), self.text)
        self.full(8)
        self.full(4)
        self.full(4)
        return bytes(self.bytes), events, definitions


def swap_archive(anchor: Path, into: Path) -> Path:
    """Writes the archive in big-endian order; returns the new anchor file."""
    content, event_bytes, definition_bytes = Swapper(anchor.read_bytes()).anchor()
    into.mkdir(parents=True)
    swapped = into / anchor.name
    swapped.write_bytes(content)
    definitions = anchor.with_suffix(".def")
    made = Swapper(definitions.read_bytes()).chunked(definition_bytes, GLOBAL, has_events=False)
    (into / definitions.name).write_bytes(made)
    parts = into / anchor.stem
    parts.mkdir()
    for file in anchor.with_suffix("").iterdir():
        is_events = file.suffix == ".evt"
        layouts = EVENTS if is_events else {**GLOBAL, **LOCAL}
        size = event_bytes if is_events else definition_bytes
        made = Swapper(file.read_bytes()).chunked(size, layouts, has_events=is_events)
        (parts / file.name).write_bytes(made)
    return swapped


def copy_archive(anchor: Path, into: Path) -> Path:
    """Copies an archive; returns the new anchor file."""
    into.mkdir(parents=True)
    shutil.copy(anchor, into)
    shutil.copy(anchor.with_suffix(".def"), into)
    parts = into / anchor.stem
    parts.mkdir()
    for file in anchor.with_suffix("").iterdir():
        shutil.copy(file, parts)
        (parts / file.name).chmod(0o644)
    for file in (into / anchor.name, into / anchor.with_suffix(".def").name):
        file.chmod(0o644)
    return into / anchor.name
