"""The loss account: what the time of all ranks was lost to."""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum

import numpy as np

from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, Interner, TableSpec, Values, maybe
from perfscope.dataframes.source import Source
from perfscope.losses.entry import Entry, told
from perfscope.losses.words import label


def _value(word: Enum | None) -> str:
    return str(word.value) if word is not None else ""


_TEXTS: dict[str, Callable[[Entry], str]] = {
    "loss": label,
    "kind": lambda one: one.cause.kind.value,
    "account": lambda one: _value(one.cause.account),
    "activity": lambda one: _value(one.cause.activity),
    "phase": lambda one: one.cause.phase,
    "operation": lambda one: one.cause.operation,
    "ranks": lambda one: " ".join(map(str, one.ranks)),
    "function": lambda one: one.frame.function if one.frame else "",
    "file": lambda one: one.frame.file if one.frame else "",
    "pattern": lambda one: _value(one.pattern),
}
_INTEGERS: dict[str, Callable[[Entry], int | None]] = {
    "line": lambda one: one.frame.line if one.frame else None,
    "first_step": lambda one: one.steps[0] if one.steps else None,
    "last_step": lambda one: one.steps[1] if one.steps else None,
}


def _numbers(values: Sequence[float | None]) -> Values:
    """Not a number where a value is None."""
    return np.array([np.nan if one is None else one for one in values], np.float64)


def _blocks(source: Source) -> Iterator[Block]:
    if not (entries := source.losses.entries):
        return
    savings = [told(entry.saving) for entry in entries]
    intervals = [one.interval_s or (None, None) for one in savings]
    yield {
        **{name: Interner().column(list(map(of, entries))) for name, of in _TEXTS.items()},
        **{name: maybe(list(map(of, entries))) for name, of in _INTEGERS.items()},
        "time_ns": np.array([entry.ns for entry in entries], np.int64),
        "own_ns": np.array([entry.own_ns for entry in entries], np.int64),
        "waiting_ns": np.array([entry.waiting_ns for entry in entries], np.int64),
        "saving_s": _numbers([one.seconds for one in savings]),
        "saving_low_s": _numbers([low for low, _ in intervals]),
        "saving_high_s": _numbers([high for _, high in intervals]),
        "basis": Interner().column([_value(one.basis) for one in savings]),
        "not_known": Interner().column([one.reason or "" for one in savings]),
    }


TABLE = TableSpec(
    name="losses",
    summary=(
        "One row for each cause of lost time, most first; with training work the rows add up to "
        "the lives of all ranks."
    ),
    columns=(
        col.text("loss", "what it is called on the page"),
        col.text(
            "kind", "work, waiting, transfer, communication, outside, ... as in analysis.json"
        ),
        col.text("account", "of the ledger, where one is known"),
        col.text("activity", "what was done in place of training, where that is known"),
        col.text("phase", "id of the phase that it was part of, empty for none"),
        col.text("operation", "of transfer: what moved the data"),
        col.integer("time_ns", "of all ranks: own_ns + waiting_ns", "ns"),
        col.integer("own_ns", "in which it was done", "ns"),
        col.integer("waiting_ns", "in which other ranks waited for that", "ns"),
        col.text("ranks", "that did it, those that cost most first"),
        col.text("function", "the user's function in which it was"),
        col.text("file", "its file"),
        col.optional("line", "seen there most"),
        col.text("pattern", "how it is spread over the steps: static, serial, varying, ..."),
        col.optional("first_step", "in which it costs time"),
        col.optional("last_step", "in which it costs time"),
        col.number("saving_s", "that the run would be shorter by without it", "s"),
        col.number("saving_low_s", "lower end of its 95 % interval", "s"),
        col.number("saving_high_s", "upper end of its 95 % interval", "s"),
        col.text("basis", "replay, or a bound"),
        col.text("not_known", "why no saving is known"),
    ),
    blocks=_blocks,
    reason=lambda _: "all time of the ranks is training work",
)
