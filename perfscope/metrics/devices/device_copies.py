"""Copies between host and device, and how much of them no kernel hides."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfscope.matching.intervals import Cumulative, union
from perfscope.schema.devices import HostCopies
from perfscope.schema.enums import Direction
from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import Table
from perfscope.units import NS_PER_S

_DIRECTIONS = (
    (Direction.TO_DEVICE, re.compile(r"HtoD|HostToDevice|h2d", re.IGNORECASE)),
    (Direction.TO_HOST, re.compile(r"DtoH|DeviceToHost|d2h", re.IGNORECASE)),
)
_BETWEEN_DEVICES = re.compile(r"DtoD|PtoP|DeviceToDevice|PeerToPeer|d2d|p2p|HtoH", re.IGNORECASE)
_PAGEABLE, _PINNED = re.compile("pageable", re.IGNORECASE), re.compile("pinned", re.IGNORECASE)


class Exposed(NamedTuple):
    """Seconds in which copies ran and no kernel did; what ran side by side counts once."""

    known_s: float  # from or to the host
    unknown_s: float  # of copies of which nothing tells from where to where they go, beyond that


def copies(
    rows: Table, names: Sequence[str], window: tuple[int, int]
) -> tuple[tuple[HostCopies, ...], Exposed]:
    """Copies between host and device, and those that may be such, most exposed first.

    The rows are what one device did, sorted by t0; only what lies in the window counts.
    """
    start, end = window
    rows = rows[(rows["t1"] > start) & (rows["t0"] < end)]
    moves = rows[rows["kind"] == DeviceKind.MEMCPY]
    used = [place for place in np.unique(moves["name"]).tolist() if 0 <= place < len(names)]
    kinds = {place: _kind(names[place]) for place in used}
    kernels = np.isin(rows["kind"], (DeviceKind.COMPUTE, DeviceKind.COMMUNICATION))
    hidden = _cumulative(rows[kernels], window)
    found, places = [], dict[bool, list[int]]({True: [], False: []})
    for kind in dict.fromkeys(kind for kind in kinds.values() if kind is not None):
        numbers = [place for place, its in kinds.items() if its == kind]
        places[kind[0] is not Direction.UNKNOWN] += numbers
        chosen = moves[np.isin(moves["name"], numbers)]
        whole, exposed = _lengths(chosen, hidden, window)
        sizes = chosen["bytes"][chosen["bytes"] > 0]
        begun = int(np.count_nonzero(chosen["t0"] >= start))
        found.append(
            HostCopies(*kind, begun, int(sizes.sum()), whole / NS_PER_S, exposed / NS_PER_S)
        )
    known, every = (
        _lengths(moves[np.isin(moves["name"], numbers)], hidden, window)[1]
        for numbers in (places[True], places[True] + places[False])
    )
    exposed_s = Exposed(known / NS_PER_S, (every - known) / NS_PER_S)
    return tuple(sorted(found, key=lambda use: (-use.exposed_s, use.direction.value))), exposed_s


def _lengths(rows: Table, hidden: Cumulative, window: tuple[int, int]) -> tuple[int, int]:
    """For how long any of them ran in the window, and how much of that no kernel hides."""
    starts, ends = union(np.clip(rows["t0"], *window), np.clip(rows["t1"], *window))
    whole = int((ends - starts).sum())
    return whole, whole - int(hidden.between(starts, ends).sum())


def _kind(name: str) -> tuple[Direction, bool | None] | None:
    """Direction and kind of memory of a copy; None for one that stays on devices."""
    for direction, pattern in _DIRECTIONS:
        if pattern.search(name):
            is_pageable = True if _PAGEABLE.search(name) else None
            return direction, False if _PINNED.search(name) else is_pageable
    return None if _BETWEEN_DEVICES.search(name) else (Direction.UNKNOWN, None)


def _cumulative(rows: Table, window: tuple[int, int]) -> Cumulative:
    starts, ends = union(np.clip(rows["t0"], *window), np.clip(rows["t1"], *window))
    edges = np.stack([starts, ends], 1).ravel()
    inside = np.zeros(max(len(edges) - 1, 0), np.bool_)
    inside[::2] = True
    return Cumulative.of(edges, inside)
