"""Events of a Chrome trace as text."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from perfscope.export.target import clean

Event: TypeAlias = dict[str, str | int]
Arguments: TypeAlias = Mapping[str, str | int | float | bool]


def microseconds(ns: int) -> str:
    """Nanoseconds as microseconds with three decimals, exactly."""
    whole, rest = divmod(abs(ns), 1000)
    return f"{'-' if ns < 0 else ''}{whole}.{rest:03d}"


def event(
    phase: str,
    process: int,
    thread: int,
    at_ns: int,
    fields: Event,
    arguments: Arguments,
    duration_ns: int | None = None,
) -> str:
    """One event as JSON; times are exact. Keys are perfscope's own words."""
    parts = [f'{{"ph": "{phase}", "pid": {process}, "tid": {thread}, "ts": {microseconds(at_ns)}']
    if duration_ns is not None:
        parts.append(f', "dur": {microseconds(duration_ns)}')
    parts += [f', "{key}": {_value(value)}' for key, value in fields.items()]
    if arguments:
        inner = ", ".join([f'"{key}": {_value(value)}' for key, value in arguments.items()])
        parts.append(f', "args": {{{inner}}}')
    parts.append("}")
    return "".join(parts)


def _value(value: str | float) -> str:
    """A value as JSON; texts recur."""
    if isinstance(value, str):
        return _text(value)
    return str(value) if type(value) is int else json.dumps(value, allow_nan=False)


@lru_cache(maxsize=4096)
def _text(word: str) -> str:
    return json.dumps(clean(word))


def metadata(name: str, process: int, thread: int, value: str | int) -> str:
    """An event that names or orders a process or a thread."""
    key = "name" if name.endswith("_name") else name.removeprefix("process_")
    key = "sort_index" if name.endswith("_sort_index") else key
    fields = {"ph": "M", "pid": process, "tid": thread, "ts": 0, "name": name}
    shown = clean(value) if isinstance(value, str) else value
    return json.dumps({**fields, "args": {key: shown}})
