"""The anchor of a CUBE archive: what its metrics, call paths and locations are.

Read as it comes, without a tree of the XML: what is kept of a call path are two numbers.
"""

import xml.parsers.expat
from array import array
from collections.abc import Iterable
from dataclasses import field

import numpy as np

from perfscope.arrays import Ints
from perfscope.memory import rows_that_fit
from perfscope.structures import dataclass

MOST_DEPTH = 5000
LONGEST_TEXT = 300
LONGEST_PLACE = 1000
ENTRY_BYTES, PATH_BYTES = 1500, 200
"""What a metric, region or location takes, and a call path, with some room."""
LONGEST_TOKEN_BYTES = 64 << 20
GROUPS = ("locationgroup", "process")
LOCATIONS = ("location", "thread")
"""Since release 4.3, and before."""
TOLD = {
    "metric": ("uniq_name", "disp_name", "dtype", "uom"),
    "region": ("name", "paradigm"),
    **dict.fromkeys(GROUPS, ("rank",)),
    **dict.fromkeys(LOCATIONS, ("rank", "type")),
}
"""Elements with texts that count, by the element that they are told of."""
Numbers = Ints


@dataclass(frozen=True)
class Region:
    """A function, or a construct of MPI or OpenMP."""

    name: str
    paradigm: str
    file: str
    line: int


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


@dataclass
class _Element:
    """An element that is kept until all is known of it."""

    tag: str
    attributes: dict[str, str]
    above: "_Element | None"
    told: dict[str, str] = field(default_factory=dict)
    inner: "list[_Element]" = field(default_factory=list)

    def text(self, name: str) -> str:
        """What one of its elements says, "" where there is none."""
        return self.told.get(name, "").strip()[:LONGEST_TEXT]

    def number(self, name: str, digits: int) -> int:
        """The same as a number of at most so many digits, else 0."""
        text = self.text(name)
        return int(text) if text.isdecimal() and len(text) <= digits else 0


class Anchor:
    """What an anchor declares.

    Attributes:
        creator: which tool made the archive.
        callees: the region of each call path, in depth-first order.
        parents: the call path that called it, -1 none.
    """

    def __init__(self, blocks: Iterable[bytes]) -> None:
        """Reads it.

        Raises:
            ValueError: it is damaged, too deep, or declares more than memory holds.
            xml.parsers.expat.ExpatError: it is no XML.
        """
        self.creator = ""
        self.parents: array[int] = array("q")
        self._callees: array[int] = array("q")  # by the number of their id
        self._ids: dict[str, int] = {}
        self._elements: list[_Element] = []  # metrics, regions and groups in the order of the file
        self._tags: list[str] = []
        self._open: list[_Element | int] = []  # with call paths, by their place
        self._texts: list[str] | None = None
        self._left_bytes = rows_that_fit(row_bytes=1)
        self._unheard_bytes = 0
        parser = xml.parsers.expat.ParserCreate()
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._say
        parser.StartDoctypeDeclHandler = _refuse
        parser.buffer_text = True
        for block in blocks:
            self._unheard_bytes += len(block)
            if self._unheard_bytes > LONGEST_TOKEN_BYTES:
                raise ValueError("one tag or text of its XML is longer than 64 MiB")
            parser.Parse(block, False)
        parser.Parse(b"", True)
        self.regions = [_region(one) for one in self._elements if one.tag == "region"]
        self.callees = self._resolved()

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        self._unheard_bytes = 0
        above = self._tags[-1] if self._tags else ""
        self._tags.append(tag)
        if tag == "attr" and attributes.get("key") == "Creator":
            self.creator = self.creator or attributes.get("value", "")
        if len(self._tags) > MOST_DEPTH:
            raise ValueError("its call tree is too deep")
        if tag == "cnode" and self._tags[1:2] == ["program"] and above in ("program", "cnode"):
            self._take_path(attributes.get("calleeId", ""))
        elif self._is_kept(tag, above):
            self._take(ENTRY_BYTES + sum(map(len, attributes.values())))
            self._keep(tag, attributes)
        elif self._open and isinstance(self._open[-1], _Element):
            element = self._open[-1]
            if tag in TOLD[element.tag] and above == element.tag and tag not in element.told:
                self._texts = []

    def _is_kept(self, tag: str, above: str) -> bool:
        if tag == "metric":
            return self._tags[1:2] == ["metrics"] and above in ("metrics", "metric")
        if tag == "region":
            return self._tags[1:] == ["program", "region"]
        return tag in GROUPS or (tag in LOCATIONS and above in GROUPS)

    def _take(self, size: int) -> None:
        self._left_bytes -= size
        if self._left_bytes < 0:
            raise ValueError("it declares more than fits into half of the memory")

    def _take_path(self, callee: str) -> None:
        self._take(PATH_BYTES)
        above = self._open[-1] if self._open and isinstance(self._open[-1], int) else -1
        self._open.append(len(self.parents))
        self.parents.append(above)
        self._callees.append(self._ids.setdefault(callee, len(self._ids)))

    def _keep(self, tag: str, attributes: dict[str, str]) -> None:
        last = self._open[-1] if self._open else None
        above = last if isinstance(last, _Element) else None
        element = _Element(tag, attributes, above)
        if tag in LOCATIONS and above is not None:
            above.inner.append(element)
        else:
            self._elements.append(element)
        self._open.append(element)

    def _say(self, text: str) -> None:
        self._unheard_bytes = 0
        if self._texts is not None and sum(map(len, self._texts)) < LONGEST_PLACE:
            self._texts.append(text[:LONGEST_PLACE])

    def _end(self, tag: str) -> None:
        self._tags.pop()
        last = self._open[-1] if self._open else None
        if self._texts is not None and isinstance(last, _Element) and tag in TOLD[last.tag]:
            last.told[tag] = "".join(self._texts)
            self._texts = None
        elif tag == ("cnode" if isinstance(last, int) else last.tag if last else ""):
            self._open.pop()

    def _resolved(self) -> Numbers:
        """The region of each call path."""
        regions = [one.attributes.get("id", "") for one in self._elements if one.tag == "region"]
        places = {name: place for place, name in enumerate(regions)}
        found = [places.get(name, -1) for name in self._ids]
        if -1 in found:
            raise ValueError("a call path is of a region that is not declared")
        return np.array(found, np.int64)[np.array(self._callees, np.int64)]

    def metrics(self) -> list[Metric]:
        """All metrics that are declared."""
        return [_metric(one) for one in self._elements if one.tag == "metric"]

    def locations(self) -> list[Location]:
        """Locations in the order of the file, in releases before 4.3 threads of processes."""
        return [
            Location(
                group.number("rank", 7),
                one.number("rank", 9),
                one.text("type") or "thread",
            )
            for group in self._elements
            if group.tag in GROUPS
            for kind in LOCATIONS
            for one in group.inner
            if one.tag == kind
        ]


def _refuse(*_: object) -> None:
    raise ValueError("its XML declares entities")


def _region(element: _Element) -> Region:
    line = element.attributes.get("begin", "")
    return Region(
        element.text("name"),
        element.text("paradigm"),
        element.attributes.get("mod", "")[:LONGEST_PLACE],
        int(line) if line.isdecimal() and len(line) < 9 else 0,
    )


def _metric(element: _Element) -> Metric:
    return Metric(
        number=int(element.attributes.get("id", "-1")),
        name=element.text("disp_name"),
        key=element.text("uniq_name"),
        unit=element.text("uom"),
        kind=element.text("dtype"),
        is_inclusive=element.attributes.get("type", "").upper() == "INCLUSIVE",
        parent=element.above.text("uniq_name") if element.above else "",
    )
