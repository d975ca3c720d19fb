"""Stacks that py-spy saw: how long each thread of a rank and of its workers was in which one."""

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from perfscope.structures import dataclass

SPAN_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("node", "i4"),  # index in StackForest.parents, never 0
        ("process", "i4"),  # process id
        ("is_main", "?"),  # the rank's own main thread
    ]
)
"""A stretch in which a thread was in one stack, as far as samples tell; sorted by t0."""

MEMORY_WINDOW_DTYPE = np.dtype([("t0", "i8"), ("t1", "i8")])


@dataclass
class StackForest:
    """All stacks of a run as one tree: a node is a place together with the places that called it.

    Node 0 is the empty stack. A parent comes before its children.

    Attributes:
        parents: node that called it, by node; -1 of node 0.
        places: index in `frames`, by node; -1 of node 0.
        frames: (function, file, line being executed), each once.
    """

    parents: list[int] = field(default_factory=lambda: [-1])
    places: list[int] = field(default_factory=lambda: [-1])
    frames: list[tuple[str, str, int]] = field(default_factory=list)


@dataclass
class StackSampling:
    """What a run's stack sampling (`--stacks`) gave; the spans themselves lie with the ranks.

    Attributes:
        hz: samples per second that were asked for.
        forest: the stacks.
        reasons: why a rank has no stacks, or not all of them, by rank.
        paused_s: seconds between segments in which a rank was not sampled, by rank.
        other_processes: processes with samples that belong to no rank.
    """

    hz: float
    forest: StackForest
    reasons: Mapping[int, str]
    paused_s: Mapping[int, float]
    other_processes: int = 0


@dataclass(frozen=True)
class KeptPlace:
    """Memory that one place allocated in a window and had not given back by its end.

    Attributes:
        kept_bytes: bytes still there.
        count: allocations still there.
        stack: (function, file, line), innermost first; the function is "" where unknown.
    """

    kept_bytes: int
    count: int
    stack: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class MemoryWindow:
    """What was kept of one window; its times are the row of the same index in the rank's table."""

    kept_bytes: int
    count: int
    places: Sequence[KeptPlace]
    is_last: bool  # the end of the program closed it: most was given back by then


@dataclass(frozen=True)
class MemoryRecording:
    """What `--memory-detail` gave for one rank.

    Attributes:
        rank: the rank.
        engine: what recorded it, with its version.
        windows: in order of time.
        reason: why there are none, or no more; "" without one.
        is_growth: places have what the process grew by there, and not what they allocated.
    """

    rank: int
    engine: str
    windows: Sequence[MemoryWindow]
    reason: str
    is_growth: bool = False
