"""The loss account: what the time of all ranks was lost to."""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum

import numpy as np

from perfscope.dataframes.columns import (
    Block,
    Interner,
    TableSpec,
    Texts,
    Values,
    integer,
    number,
    optional,
    text,
    where_known,
)
from perfscope.dataframes.source import Source
from perfscope.losses.entry import Entry, told
from perfscope.losses.words import label


def _value(word: Enum | None) -> str:
    return str(word.value) if word is not None else ""


def _texts(entries: Sequence[Entry], word: Callable[[Entry], str]) -> Texts:
    return Interner().column([word(entry) for entry in entries])


def _whole(entries: Sequence[Entry], value: Callable[[Entry], int | None]) -> Values:
    """Integers; None where there is none."""
    found = [value(entry) for entry in entries]
    known = np.array([one is not None for one in found], np.bool_)
    return where_known(np.array([one or 0 for one in found], np.int64), known)


def _numbers(values: Sequence[float | None]) -> Values:
    """Not a number where a value is None."""
    return np.array([np.nan if one is None else one for one in values], np.float64)


def _blocks(source: Source) -> Iterator[Block]:
    if entries := source.losses.entries:
        yield {**_what(entries), **_cost(entries), **_where(entries), **_saving(entries)}


def _what(entries: Sequence[Entry]) -> Block:
    return {
        "loss": _texts(entries, label),
        "kind": _texts(entries, lambda one: one.cause.kind.value),
        "account": _texts(entries, lambda one: _value(one.cause.account)),
        "activity": _texts(entries, lambda one: _value(one.cause.activity)),
        "phase": _texts(entries, lambda one: one.cause.phase),
        "operation": _texts(entries, lambda one: one.cause.operation),
    }


def _cost(entries: Sequence[Entry]) -> Block:
    return {
        "time_ns": np.array([entry.ns for entry in entries], np.int64),
        "own_ns": np.array([entry.own_ns for entry in entries], np.int64),
        "waiting_ns": np.array([entry.waiting_ns for entry in entries], np.int64),
    }


def _where(entries: Sequence[Entry]) -> Block:
    return {
        "ranks": _texts(entries, lambda one: " ".join(map(str, one.ranks))),
        "function": _texts(entries, lambda one: one.frame.function if one.frame else ""),
        "file": _texts(entries, lambda one: one.frame.file if one.frame else ""),
        "line": _whole(entries, lambda one: one.frame.line if one.frame else None),
        "pattern": _texts(entries, lambda one: _value(one.pattern)),
        "first_step": _whole(entries, lambda one: one.steps[0] if one.steps else None),
        "last_step": _whole(entries, lambda one: one.steps[1] if one.steps else None),
    }


def _saving(entries: Sequence[Entry]) -> Block:
    savings = [told(entry.saving) for entry in entries]
    intervals = [one.interval_s or (None, None) for one in savings]
    return {
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
        text("loss", "what it is called on the page"),
        text("kind", "work, waiting, transfer, communication, outside, ... as in analysis.json"),
        text("account", "of the ledger, where one is known"),
        text("activity", "what was done in place of training, where that is known"),
        text("phase", "id of the phase that it was part of, empty for none"),
        text("operation", "of transfer: what moved the data"),
        integer("time_ns", "of all ranks: own_ns + waiting_ns", "ns"),
        integer("own_ns", "in which it was done", "ns"),
        integer("waiting_ns", "in which other ranks waited for that", "ns"),
        text("ranks", "that did it, those that cost most first"),
        text("function", "the user's function in which it was"),
        text("file", "its file"),
        optional("line", "seen there most"),
        text("pattern", "how it is spread over the steps: static, serial, varying, ..."),
        optional("first_step", "in which it costs time"),
        optional("last_step", "in which it costs time"),
        number("saving_s", "that the run would be shorter by without it", "s"),
        number("saving_low_s", "lower end of its 95 % interval", "s"),
        number("saving_high_s", "upper end of its 95 % interval", "s"),
        text("basis", "replay, or a bound"),
        text("not_known", "why no saving is known"),
    ),
    blocks=_blocks,
    reason=lambda _: "all time of the ranks is training work",
)
