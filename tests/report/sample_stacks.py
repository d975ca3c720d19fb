"""Sampled stacks and lines that keep memory of a made-up run, as analysis.json holds them."""

from perfscope.schema.common import Place
from perfscope.schema.resources import (
    MemoryLine,
    MemoryLines,
    MemoryLinesOfRank,
    MissingStacks,
    StackNode,
    Stacks,
    StacksOfPhase,
    TopFunction,
)

CALLS = (
    (-1, "<module>", "examples/train.py", 300, True, 1.0, 0.0),
    (0, "train", "examples/train.py", 120, True, 0.9, 0.05),
    (1, "forward", "examples/train.py", 148, True, 0.5, 0.2),
    (2, "dot", "/usr/lib/python3/dist-packages/numpy/core.py", 12, False, 0.3, 0.3),
    (1, "backward", "examples/train.py", 160, True, 0.35, 0.35),
    (0, "report", "examples/train.py", 180, True, 0.1, 0.1),
)


def stacks(ranks: int) -> Stacks:
    """One phase in which `CALLS` share the time evenly over the ranks."""
    seconds = 10.0 * ranks
    shown = tuple(range(min(ranks, 8)))
    by_rank = (10.0,) * len(shown)
    nodes = tuple(
        StackNode(
            parent,
            function,
            file,
            line,
            is_user,
            seconds=share * seconds,
            self_s=own * seconds,
            seconds_by_rank=tuple(share * whole for whole in by_rank),
        )
        for parent, function, file, line, is_user, share, own in CALLS
    )
    top = TopFunction("backward", "examples/train.py", 160, True, 3.5, 3.5)
    train = StacksOfPhase(
        "train", "Training", seconds * 1.25, seconds, shown, nodes, 3, 0.01, (top,)
    )
    missing = MissingStacks(0, "a file of it is damaged")
    return Stacks(None, 100.0, tuple(range(ranks)), (missing,), 60.0, 3.0, (train,), 0)


def memory_lines() -> MemoryLines:
    """A line of rank 0 that keeps memory."""
    inner = Place("numpy/core.py", 5, "ones")
    line = MemoryLine("remember", "examples/train.py", 77, 25 << 20, 400, inner)
    kept = 30 << 20
    rank = MemoryLinesOfRank(0, "memray 1.20.0", None, (4.0, 12.0), False, kept, (line,))
    return MemoryLines(None, (rank,))
