"""Reads stacks that a sampler wrote by itself, in three forms.

A file is one process with those that it started. None of the forms has a wall clock, so that beside
a recording only the functions with most time are told.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from perfscope.errors import UnreadableInputError
from perfscope.readers.common.tool_reports import report, reporting_trace, table
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.sampled_stacks.forms import (
    ACTION,
    Sampled,
    chrome,
    collapsed,
    is_collapsed,
    speedscope,
)
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import Cell, ToolTable
from perfscope.trace.model import Format, Function, Trace
from perfscope.trace.stack_spans import SPAN_DTYPE, StackSampling
from perfscope.units import counted, format_share

_CHROME = re.compile(rb'"cat"\s*:\s*"py-spy"')
_SPEEDSCOPE = re.compile(rb'"\$schema"\s*:\s*"https?://(?:www\.)?speedscope\.app/')
WHY = "a file of sampled stacks tells no communication, and nothing of other ranks"
MOST_FUNCTIONS = 200


def _form(place: Place) -> Callable[[Path], Sampled] | None:
    head = place.head
    if place.is_directory:
        return None
    if head.lstrip()[:1] == b"[" and _CHROME.search(head):
        return chrome
    if head.lstrip()[:1] == b"{" and _SPEEDSCOPE.search(head):
        return speedscope
    return collapsed if is_collapsed(head) else None


def _open(paths: Sequence[Path], _: ReadOptions) -> Trace:
    """The process that a file tells of.

    Raises:
        UnreadableInputError: it is damaged, or holds no stack.
    """
    path = paths[0]
    form = _form(Place(path, is_directory=False))
    found = (form or collapsed)(path)
    if not found.weights:
        raise UnreadableInputError(
            f"{path} holds no stacks.", why="Nothing was seen in it.", action=ACTION
        )
    notes = list(found.notes)
    if found.left_out:
        notes.append(f"{path.name}: left out {counted(found.left_out, 'entry', 'entries')}.")
    if found.spans and not found.is_wall:
        notes.append(
            f"{path.name} leaves out what waited: its seconds are those in which threads ran, laid "
            "end to end, and not a time in the run."
        )
    functions = _functions(found)
    told = report(found.tool, path, _sentences(found, functions), [_table(found, functions)])
    trace = reporting_trace(path, Format.PYSPY, told, why=WHY, notes=notes)
    if found.spans:
        _add_spans(trace, found)
    return trace


def _add_spans(trace: Trace, found: Sampled) -> None:
    """Gives the rank its stacks, and the time that they cover."""
    (rank,) = trace.ranks
    rank.spans = np.sort(np.array(found.spans, SPAN_DTYPE), order="t0", kind="stable")
    first = int(rank.spans["t0"][0]) if found.is_wall else 0
    rank.spans["t0"] -= first
    rank.spans["t1"] -= first
    mains = rank.spans["process"][rank.spans["is_main"]]
    rank.pid = int(mains[0]) if len(mains) else 0
    rank.end_ns = trace.wall_ns = int(rank.spans["t1"].max())
    trace.stack_sampling = StackSampling(found.hz, found.forest.stacks, {}, {})


def _functions(found: Sampled) -> list[tuple[Function, float, float]]:
    """Functions with what was seen in themselves and with what they called, most own first.

    Frames without a file are names of threads and processes, unless the tool tells no files.
    """
    own: dict[Function, float] = defaultdict(float)
    total: dict[Function, float] = defaultdict(float)
    stacks = found.forest.stacks
    below = [found.weights.get(node, 0.0) for node in range(len(stacks.parents))]
    children: list[list[int]] = [[] for _ in below]
    for node in range(len(below) - 1, 0, -1):
        below[stacks.parents[node]] += below[node]
        children[stacks.parents[node]].append(node)
    waiting = list(children[0])
    has_files = any(file for _, file, _ in stacks.frames)
    around: dict[Function, int] = defaultdict(int)
    inner: list[Function] = []
    while waiting:
        node = waiting.pop()
        if node < 0:  # all that it called is done
            around[inner.pop()] -= 1
            continue
        name, file, _ = stacks.frames[stacks.places[node]]
        if file or not has_files:
            if not around[name, file]:
                total[name, file] += below[node]
            around[name, file] += 1
            inner.append((name, file))
            waiting.append(-node)
        if inner:
            own[inner[-1]] += found.weights.get(node, 0.0)
        waiting += children[node]
    ordered = sorted(total, key=lambda one: (-own[one], -total[one], one))
    return [(one, own[one], total[one]) for one in ordered]


def _sentences(found: Sampled, functions: Sequence[tuple[Function, float, float]]) -> Iterator[str]:
    whole = sum(found.weights.values())
    if not functions:
        return
    (name, file), own, _ = functions[0]
    place = f" ({file})" if file else ""
    what = "time that threads ran" if found.unit == "s" else f"{whole:,.15g} {found.unit}"
    if found.unit == "s" and found.is_wall:
        what = "time of all threads"
    yield f"Of the {what}, {format_share(own / whole)} is in {name}{place} itself."


def _table(found: Sampled, functions: Sequence[tuple[Function, float, float]]) -> ToolTable:
    whole = sum(found.weights.values())
    quantity = Quantity.SECONDS if found.unit == "s" else Quantity.COUNT
    columns = {
        "Function": Quantity.CODE,
        "File": Quantity.CODE,
        "Own": quantity,
        "Share": Quantity.SHARE,
        "With what it called": quantity,
    }
    rows: list[tuple[Cell, ...]] = [
        (name, file, own, own / whole, total)
        for (name, file), own, total in functions[:MOST_FUNCTIONS]
    ]
    unit = "time" if found.unit == "s" else found.unit
    return table(f"Functions by their own {unit}", columns, rows)


READER = Reader(
    format=Format.PYSPY,
    description="stacks that py-spy recorded (raw, speedscope or Chrome form), or speedscope or "
    "collapsed stacks of another tool",
    recognizes=lambda place: _form(place) is not None,
    open=_open,
    tells=Tells(phases="flame graphs, of a file with times; functions by their own time"),
)
