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
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.errors import UnreadableInputError
from perfscope.readers.common import texts
from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.structures import dataclass

ACTION = "Copy it again from the directory of the experiment (profile.cubex, summary.cubex)."
INDEX, DATA, PACKED = b"CUBEX.INDEX", b"CUBEX.DATA", b"ZCUBEX.DATA"
MOST_VALUES = 1 << 25
MOST_MEMBERS = 10_000
MOST_DEPTH = 5000
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
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Region:
    """A function, or a construct of MPI or OpenMP."""

    name: str
    paradigm: str
    file: str
    line: int


@dataclass
class Path_:  # noqa: N801 - `Path` is a file
    """A call path: a region called from another call path, -1 none."""

    region: int
    parent: int
    children: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Metric:
    """What was measured: sums over subtrees of the call tree where it is inclusive."""

    number: int
    name: str
    key: str
    unit: str
    kind: str
    is_inclusive: bool
    parent: str


@dataclass(frozen=True)
class Location:
    """A thread or stream: the rank of its process, and its own number there."""

    rank: int
    number: int
    kind: str


class CubeArchive:
    """One archive, with its values on demand.

    Attributes:
        creator: which tool made it.
        metrics: all that are declared.
        regions: by place.
        paths: all call paths, by place; parents before children.
        locations: in the order of the values.
    """

    def __init__(self, path: Path) -> None:
        """Reads the declarations.

        Raises:
            UnreadableInputError: it is damaged.
        """
        self._path = path
        cut: list[str] = []
        content = texts.content_of(path, cut.append, ACTION)
        try:
            self._members = _members_of(content)
            root = _xml(self._members["anchor.xml"])
            self.creator = next(
                (one.get("value", "") for one in root.iter("attr") if one.get("key") == "Creator"),
                "",
            )
            self.metrics = list(_metrics(root))
            self.regions, self.paths = _program(root)
            self.locations = list(_locations(root))
            if len(self.paths) * len(self.locations) > MOST_VALUES:
                raise ValueError(f"a metric would have more than {MOST_VALUES:,} values")
        except (KeyError, ValueError, ET.ParseError, tarfile.TarError, zlib.error) as error:
            raise self._damaged(str(error) or type(error).__name__) from error
        self._deep, self._wide = _orders(self.paths)

    def _damaged(self, why: str) -> UnreadableInputError:
        return UnreadableInputError(
            f"{self._path} cannot be read as a CUBE profile.",
            why=f"It is cut off or damaged: {why[:200]}.",
            action=ACTION,
        )

    def values(self, metric: Metric) -> Values | None:
        """A metric by call path and location as it is stored; None where it has no values.

        Raises:
            UnreadableInputError: its values are damaged.
        """
        index = self._members.get(f"{metric.number}.index")
        data = self._members.get(f"{metric.number}.data")
        kind = NUMBERS.get(metric.kind.upper())
        if index is None or data is None or kind is None or not self.locations:
            return None
        try:
            order, numbers = _index(index)
            raw = _unpacked(data, order)
            found = np.frombuffer(raw, np.dtype(kind).newbyteorder(order))
            width = len(self.locations)
            if len(found) != len(numbers) * width:
                raise ValueError(f"metric {metric.number} has {len(found):,} values")
            if not (np.abs(found.astype(np.float64)) < MAX_AMOUNT).all():
                raise ValueError(f"metric {metric.number} has values that cannot be true")
            result = np.zeros((len(self.paths), width))
            places = (self._wide if metric.is_inclusive else self._deep)[numbers]
            result[places] = found.reshape(-1, width)
        except (ValueError, IndexError, struct.error, zlib.error) as error:
            raise self._damaged(str(error)) from error
        return result

    def exclusive(self, metric: Metric) -> Values | None:
        """A metric that adds up, without what a call path called."""
        found = self.values(metric)
        if found is None or not metric.is_inclusive:
            return found
        result = found.copy()
        for place, path in enumerate(self.paths):
            if path.parent >= 0:
                result[path.parent] -= found[place]
        return np.maximum(result, 0.0)


def _members_of(content: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    archive = tarfile.TarFile(fileobj=io.BytesIO(content))
    for count, member in enumerate(archive):
        if count > MOST_MEMBERS:
            raise ValueError("it holds too many files")
        name = member.name.removeprefix("./")
        if member.issparse():
            raise ValueError("a file in it has holes")
        if member.isreg() and _OWN.fullmatch(name):
            file = archive.extractfile(member)
            found[name] = file.read() if file else b""
    if "anchor.xml" not in found:
        raise ValueError("anchor.xml is missing")
    return found


def _xml(content: bytes) -> ET.Element:
    if content.startswith(b"\x1f\x8b"):
        content = zlib.decompressobj(wbits=31).decompress(content, 1 << 28)
    if b"<!DOCTYPE" in content[:4096] or b"<!ENTITY" in content:
        raise ValueError("its XML declares entities")
    return ET.fromstring(content)


def _told(element: ET.Element, name: str) -> str:
    return (element.findtext(name) or "").strip()[:300]


def _metrics(root: ET.Element) -> Iterator[Metric]:
    waiting = [(one, "") for one in reversed(root.findall("metrics/metric"))]
    while waiting:
        element, parent = waiting.pop()
        key = _told(element, "uniq_name")
        yield Metric(
            number=int(element.get("id", "-1")),
            name=_told(element, "disp_name"),
            key=key,
            unit=_told(element, "uom"),
            kind=_told(element, "dtype"),
            is_inclusive=element.get("type", "").upper() == "INCLUSIVE",
            parent=parent,
        )
        waiting += [(one, key) for one in reversed(element.findall("metric"))]


def _program(root: ET.Element) -> tuple[list[Region], list[Path_]]:
    places: dict[str, int] = {}
    regions: list[Region] = []
    for element in root.findall("program/region"):
        places[element.get("id", "")] = len(regions)
        line = element.get("begin", "")
        regions.append(
            Region(
                _told(element, "name"),
                _told(element, "paradigm"),
                element.get("mod", "")[:1000],
                int(line) if line.isdecimal() and len(line) < 9 else 0,
            )
        )
    paths: list[Path_] = []
    waiting = [(one, -1, 0) for one in reversed(root.findall("program/cnode"))]
    while waiting:
        element, parent, depth = waiting.pop()
        if depth > MOST_DEPTH:
            raise ValueError("its call tree is too deep")
        place = len(paths)
        paths.append(Path_(places[element.get("calleeId", "")], parent))
        if parent >= 0:
            paths[parent].children.append(place)
        waiting += [(one, place, depth + 1) for one in reversed(element.findall("cnode"))]
    return regions, paths


def _locations(root: ET.Element) -> Iterator[Location]:
    """Locations in the order of the file, in releases before 4.3 called threads of processes."""
    for group in root.iter():
        if group.tag not in ("locationgroup", "process"):
            continue
        rank = _told(group, "rank")
        for one in (*group.findall("location"), *group.findall("thread")):
            number = _told(one, "rank")
            yield Location(
                int(rank) if rank.isdecimal() and len(rank) < 8 else 0,
                int(number) if number.isdecimal() and len(number) < 10 else 0,
                _told(one, "type") or "thread",
            )


def _orders(paths: list[Path_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The place of the n-th call path of exclusive and of inclusive metrics."""
    wide: list[int] = []
    for root in (place for place, path in enumerate(paths) if path.parent < 0):
        wide.append(root)
        waiting = [root]
        while waiting:
            children = paths[waiting.pop()].children
            wide += children
            waiting += reversed(children)
    return np.arange(len(paths)), np.array(wide, np.int64)


def _index(content: bytes) -> tuple[Any, npt.NDArray[np.int64]]:
    """The byte order and the numbers of the call paths that have values."""
    if not content.startswith(INDEX):
        raise ValueError("an index has another header")
    (one,) = struct.unpack_from("<i", content, len(INDEX))
    order = "<" if one == 1 else ">"
    (count,) = struct.unpack_from(f"{order}i", content, len(INDEX) + 7)
    begin = len(INDEX) + 11
    if count < 0 or len(content) - begin != 4 * count:
        raise ValueError("an index is not as long as it says")
    return order, np.frombuffer(content[begin:], f"{order}u4").astype(np.int64)


def _unpacked(content: bytes, order: str) -> bytes:
    """Values as they are counted; packed ones are one stream of zlib for each call path."""
    if content.startswith(DATA):
        return content[len(DATA) :]
    if not content.startswith(PACKED):
        raise ValueError("values have another header")
    (count,) = struct.unpack_from(f"{order}q", content, len(PACKED))
    if not 0 <= 24 * count <= len(content):
        raise ValueError("there are more packed parts than the file can hold")
    heads = struct.unpack_from(f"{order}{3 * count}q", content, len(PACKED) + 8)
    place = len(PACKED) + 8 + 24 * count
    parts, size = [], 0
    for length in heads[2::3]:
        if not 0 <= length <= len(content) - place:
            raise ValueError("a packed part is longer than what is left")
        unpacker = zlib.decompressobj()
        parts.append(unpacker.decompress(content[place : place + length], 8 * MOST_VALUES - size))
        size += len(parts[-1])
        if size >= 8 * MOST_VALUES:
            raise ValueError("it becomes too large when it is unpacked")
        place += length
    return b"".join(parts)
