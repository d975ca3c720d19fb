"""A CUBE archive (.cubex): a tar file of anchor.xml and, for each metric, an index and its values.

Source of the layout: the Cube 4 format as pycubexr documents it (docs/cube_file_format.md). Values
stand call path by call path in the order of the index, each with one value for every location. The
index counts call paths in depth-first order where the metric is exclusive; where it is inclusive
all children of a call path are counted before theirs.
"""

import io
import re
import struct
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers.expat import ExpatError

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.errors import UnreadableInputError
from perfscope.files import head_of, open_input
from perfscope.readers.common import texts
from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.readers.cube.anchor import Anchor, Metric
from perfscope.readers.detect import GZIP
from perfscope.structures import dataclass

ACTION = "Copy it again from the directory of the experiment (profile.cubex, summary.cubex)."
INDEX, DATA, PACKED = b"CUBEX.INDEX", b"CUBEX.DATA", b"ZCUBEX.DATA"
SUM = slice(148, 156)
"""Where a header of tar has its sum."""
MOST_VALUES = 1 << 25
MOST_MEMBERS = 10_000
PIECE_BYTES = 1 << 20
LONGEST_PART_BYTES = 256 << 20
NUMBERS = {
    **dict.fromkeys(("DOUBLE", "FLOAT", "MINDOUBLE", "MAXDOUBLE"), "f8"),
    **{f"{sign}INT{bits}": f"{sign[:1].lower() or 'i'}{bits // 8}"
       for sign in ("", "U") for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("INTEGER", "SIGNED INTEGER"), "i8"),
    **dict.fromkeys(("INT", "SIGNED INT"), "i4"),
    "UNSIGNED INTEGER": "u8",
    "UNSIGNED INT": "u4",
}  # fmt: skip
"""How numbers of a metric are stored, by its declared type; others (histograms) are left out."""
_OWN = re.compile(r"anchor\.xml|\d{1,6}\.(?:index|data)")
Values = Floats
Places = Ints


class ImpossibleError(ValueError):
    """The values of a metric are whole, and cannot be true: counters that went wrong."""


class _Header(tarfile.TarInfo):
    """Cube 4.8 counts seven of the eight blanks that stand for the sum while it is summed."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Header":
        """A header, whose sum is that of tar or of Cube 4.8."""
        told, blank = bytes(buf[SUM]).rstrip(b" \0"), ord(" ")
        summed = sum(buf[: SUM.start]) + sum(buf[SUM.stop :])
        if told.isdigit() and told == b"%06o" % (summed + 7 * blank):
            fields = buf[: SUM.start], b"%06o\0 " % (summed + 8 * blank), buf[SUM.stop :]
            buf = b"".join(fields)
        return super().frombuf(buf, encoding, errors)


@dataclass(frozen=True)
class _Member:
    """Where a file of the archive lies in it."""

    offset: int
    size: int


class CubeArchive:
    """One archive, with its values on demand, which are read in blocks.

    Attributes:
        creator: which tool made it.
        metrics: all that are declared.
        regions: by place.
        callees: the region of each call path; parents come before their children.
        locations: in the order of the values.
        impossible: names of metrics, by number, whose values were read and cannot be true.
    """

    def __init__(self, path: Path) -> None:
        """Reads the declarations.

        Raises:
            UnreadableInputError: it is damaged.
        """
        self._path = path
        self.impossible: dict[int, str] = {}
        self._unpacked: bytes | None = None
        if head_of(path, len(GZIP)) == GZIP:
            self._unpacked = texts.content_of(path, lambda _: None, ACTION)
        try:
            with self._file() as file:
                self._members = _members_of(file)
                anchor = Anchor(_text_of(_pieces(file, self._members["anchor.xml"])))
            self.creator, self.callees = anchor.creator, anchor.callees
            self.metrics, self.regions = anchor.metrics(), anchor.regions
            self.locations = anchor.locations()
            if len(self.callees) * len(self.locations) > MOST_VALUES:
                raise ValueError(f"a metric would have more than {MOST_VALUES:,} values")
        except (LookupError, ValueError, ExpatError, tarfile.TarError, zlib.error) as error:
            raise self._damaged(str(error) or type(error).__name__) from error
        except OSError as error:
            raise self._damaged(error.strerror or str(error)) from error
        self._parents = np.array(anchor.parents, np.int64)
        self._deep, self._wide = np.arange(len(self.callees)), _wide_order(anchor.parents)

    def _file(self) -> BinaryIO:
        return open_input(self._path) if self._unpacked is None else io.BytesIO(self._unpacked)

    def _damaged(self, why: str) -> UnreadableInputError:
        return UnreadableInputError(
            f"{self._path} cannot be read as a CUBE profile.",
            why=f"It is cut off or damaged: {why[:200]}.",
            action=ACTION,
        )

    def values(self, metric: Metric) -> Values | None:
        """A metric by call path and location as it is stored; None where it has none to be used.

        Raises:
            UnreadableInputError: its values are damaged.
        """
        index = self._members.get(f"{metric.number}.index")
        data = self._members.get(f"{metric.number}.data")
        kind = NUMBERS.get(metric.kind.upper())
        if index is None or data is None or kind is None or not self.locations:
            return None
        result = np.zeros((len(self.callees), len(self.locations)))
        try:
            with self._file() as file:
                if index.size > 8 * MOST_VALUES:
                    raise ValueError("its index is too long")
                order, numbers = _index(b"".join(_pieces(file, index)), len(self.callees))
                places = (self._wide if metric.is_inclusive else self._deep)[numbers]
                parts = _unpacked(_pieces(file, data), order)
                _fill(result, places, parts, np.dtype(kind).newbyteorder(order))
        except ImpossibleError:
            self.impossible[metric.number] = metric.name
            return None
        except (ValueError, IndexError, struct.error, zlib.error, OSError) as error:
            raise self._damaged(f"metric {metric.number}: {error}") from error
        return result

    def exclusive(self, metric: Metric) -> Values | None:
        """A metric that adds up, without what a call path called."""
        found = self.values(metric)
        if found is None or not metric.is_inclusive:
            return found
        result = found.copy()
        inner = self._parents >= 0
        np.subtract.at(result, self._parents[inner], found[inner])
        return np.maximum(result, 0.0)


def _members_of(file: BinaryIO) -> dict[str, _Member]:
    found: dict[str, _Member] = {}
    for count, member in enumerate(tarfile.TarFile(fileobj=file, tarinfo=_Header)):
        if count > MOST_MEMBERS:
            raise ValueError("it holds too many files")
        if member.issparse():
            raise ValueError("a file in it has holes")
        name = member.name.removeprefix("./")
        if member.isreg() and _OWN.fullmatch(name):
            found[name] = _Member(member.offset_data, member.size)
    if "anchor.xml" not in found:
        raise ValueError("anchor.xml is missing")
    return found


def _pieces(file: BinaryIO, member: _Member) -> Iterator[bytes]:
    """What a file of the archive holds, piece by piece."""
    left = member.size
    file.seek(member.offset)
    while left:
        piece = file.read(min(PIECE_BYTES, left))
        if not piece:
            raise ValueError("a file in it ends early")
        left -= len(piece)
        yield piece


def _text_of(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Text that may be packed with gzip."""
    unpacker = None
    for count, piece in enumerate(pieces):
        if not count and piece.startswith(GZIP):
            unpacker = zlib.decompressobj(wbits=31)
        if unpacker is None:
            yield piece
            continue
        rest = piece
        while rest and not unpacker.eof:
            yield unpacker.decompress(rest, PIECE_BYTES)
            rest = unpacker.unconsumed_tail


def _fill(result: Values, places: Places, parts: Iterator[bytes], kind: np.dtype[Any]) -> None:
    """Puts values into their rows as they come.

    Raises:
        ImpossibleError: some cannot be true.
        ValueError: they are not as many as the rows.
    """
    width = result.shape[1] * kind.itemsize
    row, rest = 0, b""
    for part in parts:
        rest += part
        count = len(rest) // width
        if not count:
            continue
        if row + count > len(places):
            raise ValueError("it has more values than call paths")
        found = np.frombuffer(rest, kind, count * result.shape[1]).astype(np.float64)
        if not (np.abs(found) < MAX_AMOUNT).all():
            raise ImpossibleError
        result[places[row : row + count]] = found.reshape(count, -1)
        row, rest = row + count, rest[count * width :]
    if row != len(places) or rest:
        raise ValueError(f"it has values of {row:,} call paths, not of {len(places):,}")


def _wide_order(parents: Sequence[int]) -> Places:
    """The place of the n-th call path of inclusive metrics."""
    children: dict[int, list[int]] = {}
    for place, parent in enumerate(parents):
        children.setdefault(parent, []).append(place)
    wide: list[int] = []
    for root in children.get(-1, ()):
        wide.append(root)
        waiting = [root]
        while waiting:
            inner = children.get(waiting.pop(), [])
            wide += inner
            waiting += reversed(inner)
    return np.array(wide, np.int64)


def _index(content: bytes, paths: int) -> tuple[Any, Ints]:
    """The byte order and the numbers of the call paths that have values: of a dense one all."""
    if not content.startswith(INDEX):
        raise ValueError("an index has another header")
    (one,) = struct.unpack_from("<i", content, len(INDEX))
    order = "<" if one == 1 else ">"
    if len(content) == len(INDEX) + 7:
        return order, np.arange(paths)
    (count,) = struct.unpack_from(f"{order}i", content, len(INDEX) + 7)
    begin = len(INDEX) + 11
    if count < 0 or len(content) - begin != 4 * count:
        raise ValueError("an index is not as long as it says")
    return order, np.frombuffer(content[begin:], f"{order}u4").astype(np.int64)


def _unpacked(pieces: Iterator[bytes], order: str) -> Iterator[bytes]:
    """Values as they are counted; packed ones are one stream of zlib for each call path."""
    first = next(pieces, b"")
    if first.startswith(DATA):
        yield from chain([first[len(DATA) :]], pieces)
        return
    if not first.startswith(PACKED):
        raise ValueError("values have another header")
    stream = _Stream(chain([first[len(PACKED) :]], pieces))
    (count,) = struct.unpack(f"{order}q", stream.take(8))
    if not 0 <= count <= MOST_VALUES:
        raise ValueError("there are more packed parts than the file can hold")
    heads = np.frombuffer(stream.take(24 * count), f"{order}i8")
    left = 8 * MOST_VALUES
    for length in heads[2::3].tolist():
        if not 0 <= length <= LONGEST_PART_BYTES:
            raise ValueError("a packed part is longer than what is left")
        part = zlib.decompressobj().decompress(stream.take(length), left)
        left -= len(part)
        if left <= 0:
            raise ValueError("it becomes too large when it is unpacked")
        yield part


class _Stream:
    """Bytes that come in pieces, taken in any number."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""
        self._at = 0

    def take(self, count: int) -> bytes:
        """The next bytes.

        Raises:
            ValueError: there are not as many.
        """
        parts, left = [], count
        while left:
            if self._at == len(self._held):
                self._held, self._at = next(self._pieces, b""), 0
                if not self._held:
                    raise ValueError("a packed part is longer than what is left")
            part = self._held[self._at : self._at + left]
            self._at += len(part)
            left -= len(part)
            parts.append(part)
        return b"".join(parts)
