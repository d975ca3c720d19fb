"""Stacks that py-spy saw: how long each thread of a rank and its workers spent in each."""

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
    """

    # node that called it, by node; -1 of node 0
    parents: list[int] = field(default_factory=lambda: [-1])
    # index in `frames`, by node; -1 of node 0
    places: list[int] = field(default_factory=lambda: [-1])
    # (function, file, line being executed), each once
    frames: list[tuple[str, str, int]] = field(default_factory=list)


@dataclass
class StackSampling:
    """What a run's stack sampling (`--stacks`) gave; the spans themselves lie with the ranks."""

    hz: float  # samples per second that were asked for
    forest: StackForest  # the stacks
    reasons: Mapping[int, str]  # why a rank has no stacks, or not all of them, by rank
    # seconds between segments in which a rank was not sampled, by rank
    paused_s: Mapping[int, float]
    other_processes: int = 0  # processes with samples that belong to no rank


@dataclass(frozen=True)
class KeptPlace:
    """Memory that one place allocated in a window and had not given back by its end."""

    kept_bytes: int  # bytes still there
    count: int  # allocations still there
    # (function, file, line), innermost first; the function is "" where unknown
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
    """What `--memory-detail` gave for one rank."""

    rank: int
    engine: str  # what recorded it, with its version
    windows: Sequence[MemoryWindow]  # in order of time
    reason: str  # why there are none, or no more; "" without one
    # places have what the process grew by there, and not what they allocated
    is_growth: bool = False
