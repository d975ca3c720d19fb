"""Takes secrets out of an opened trace: what perfscope recorded has none, other tools' files may.

Redacting twice changes nothing, so that it is done here, once, for all formats.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from perfscope.arrays import Ints
from perfscope.record import redact
from perfscope.schema.other_tools import Cell, ToolReport
from perfscope.trace import stack_spans
from perfscope.trace.elsewhere import ask_ranks
from perfscope.trace.model import Format, Frame, Rank, Table, Trace

MANGLED = "_Z"
SCOPE = "::"
"""Of C++: `Token::next` is no token with a value."""

KEPT = 1 << 14
"""Texts whose answers are kept: the ranks of a run say the same of themselves."""

redact_path = lru_cache(KEPT)(redact.redact_path)
redact_tokens = lru_cache(KEPT)(redact.redact_tokens)
redact_value = lru_cache(KEPT)(redact.redact_value)
redact_variable = lru_cache(KEPT)(redact.redact_variable)
redact_command = redact.redact_command


@lru_cache(KEPT)
def _arguments(words: tuple[str, ...], *, is_own: bool) -> tuple[str, ...]:
    """The words of a command; what only its program can judge was judged where it was recorded."""
    return tuple(redact.redact_arguments(words, is_choice=(lambda _: True) if is_own else None))


def without_secrets(trace: Trace) -> None:
    """Redacts the command, and every text of the trace that a program could have chosen.

    Names that compilers make look as random as keys: of these only what is certainly a secret is
    taken out.
    """
    is_own = trace.format is Format.PERFSCOPE
    trace.command = _arguments(tuple(trace.command), is_own=is_own)
    of_devices = _names_of_devices(trace)
    trace.names = [
        redact_tokens(name) if number in of_devices else _name(name)
        for number, name in enumerate(trace.names)
    ]
    trace.frames = [
        Frame(_function(frame.function), redact_path(frame.file), frame.line)
        for frame in trace.frames
    ]
    trace.notes = [redact_value(note) for note in trace.notes]
    trace.environment = _facts(trace.environment)
    trace.other_processes = [_process(facts, is_own=is_own) for facts in trace.other_processes]
    if trace.tensors is not None:
        trace.tensors.tensors = [redact_tokens(name) for name in trace.tensors.tensors]
        trace.tensors.names = [redact_tokens(name) for name in trace.tensors.names]
    if trace.stack_sampling is not None:
        forest = trace.stack_sampling.forest
        forest.frames[:] = [(_function(f), redact_path(p), n) for f, p, n in forest.frames]
    trace.memory_recordings = [_memory(recording) for recording in trace.memory_recordings]
    trace.tool_reports = [_report(report) for report in trace.tool_reports]
    hosts = _hosts(trace)
    trace.gpus = [replace(gpu, host=hosts.get(gpu.host, gpu.host)) for gpu in trace.gpus]
    for rank in trace.ranks:
        _clean(rank, is_own=is_own)
        rank.host = hosts.get(rank.host, rank.host)


def _hosts(trace: Trace) -> dict[str, str]:
    """The names of hosts as they may be shown; different hosts keep different names."""
    shown: dict[str, str] = {}
    for host in dict.fromkeys(rank.host for rank in trace.ranks):
        safe = redact_path(host)
        taken = set(shown.values())
        numbered = (f"{safe} {number}" for number in range(2, len(taken) + 3))
        shown[host] = safe if safe not in taken else next(n for n in numbered if n not in taken)
    return shown


def _facts(value: Any, name: str = "") -> Any:
    """Facts of a run with their texts redacted; names say what a text is."""
    if isinstance(value, str):
        return redact_path(value) if value.startswith("/") else redact_variable(name, value)
    if isinstance(value, Mapping):
        return {redact_path(str(key)): _facts(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_facts(inner, name) for inner in value)
    return value


def _process(facts: Mapping[str, Any], *, is_own: bool) -> dict[str, Any]:
    """What a process told of itself: its command line is read as one."""
    words = facts.get("argv")
    cleaned: dict[str, Any] = _facts(facts)
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        cleaned["argv"] = list(_arguments(tuple(words), is_own=is_own))
    return cleaned


def _memory(recording: stack_spans.MemoryRecording) -> stack_spans.MemoryRecording:
    windows = tuple(
        replace(
            window,
            places=tuple(
                replace(
                    place, stack=tuple((_function(f), redact_path(p), n) for f, p, n in place.stack)
                )
                for place in window.places
            ),
        )
        for window in recording.windows
    )
    return replace(recording, windows=windows, reason=redact_value(recording.reason))


def _report(told: ToolReport) -> ToolReport:
    tables = tuple(
        replace(table, rows=tuple(tuple(map(_cell, row)) for row in table.rows))
        for table in told.tables
    )
    said = tuple(redact_value(text) for text in told.says)
    return replace(told, file=redact_path(told.file), says=said, tables=tables)


def _cell(value: Cell) -> Cell:
    return _function(value) if isinstance(value, str) else value


def _clean(rank: Rank, *, is_own: bool) -> None:
    rank.threads = [replace(thread, name=redact_value(thread.name)) for thread in rank.threads]
    rank.metadata = _process(rank.metadata, is_own=is_own)
    rank.workers = [_process(facts, is_own=is_own) for facts in rank.workers]
    rank.mpi_library = redact_path(rank.mpi_library)
    if (raised := rank.ending.raised) is not None:
        safe = replace(raised, message=redact_value(raised.message), file=redact_path(raised.file))
        rank.ending = replace(rank.ending, raised=safe)
    if rank.devices is not None:
        named = rank.devices.stream_names.items()
        rank.devices.stream_names = {stream: redact_value(name) for stream, name in named}


def _function(name: str) -> str:
    """A function of the program; what a compiler made of one looks random."""
    return redact_tokens(name) if name.startswith(MANGLED) else redact_path(name)


def _name(name: str) -> str:
    """A name that a program or a person gave."""
    if name.startswith(MANGLED):
        return redact_tokens(name)
    return SCOPE.join(redact_value(part) for part in name.split(SCOPE))


def _names_of_devices(trace: Trace) -> set[int]:
    """Indices in `Trace.names` that pieces of device work have: names of kernels."""
    found = ask_ranks(_names_of, trace.ranks)
    return {int(number) for numbers in found for number in numbers}


def _names_of(rows: Table) -> Ints:
    return np.unique(rows["name"])
