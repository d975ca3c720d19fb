"""A trace opened for exploring: its tables as DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from perfscope.arrays import Bools
from perfscope.dataframes.catalog import tables
from perfscope.dataframes.columns import Block, Texts
from perfscope.dataframes.frames import Chooser, frame_of
from perfscope.dataframes.source import Source
from perfscope.dataframes.tables.intervals import KINDS
from perfscope.readers import registry
from perfscope.readers.detect import ReadOptions
from perfscope.trace.model import Trace

if TYPE_CHECKING:
    import pandas as pd

Method = TypeVar("Method", bound=Callable[..., Any])
_TABLES = tables()


def _documented(method: Method) -> Method:
    """Adds the columns of its table to the docstring of a method."""

    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        return method(*arguments, **named)

    indented = _TABLES[method.__name__].text().replace("\n", "\n        ")
    call.__doc__ = f"{method.__doc__}\n\n        {indented}\n"
    return call  # type: ignore[return-value]


class OpenedTrace:
    """A trace whose tables are pandas DataFrames.

    Every call makes a new DataFrame, which is the caller's to change. Times are int64 nanoseconds
    since `origin_unix_ns`, on one clock for all ranks; lengths are nanoseconds, sizes bytes.
    Integers that may be missing are of pandas' nullable Int64, words are categories. The units are
    in `DataFrame.attrs["units"]`, and the reason why a table has no rows in `attrs["reason"]`.

    Args:
        trace: the trace as a reader gives it.
        phase_rules: which functions are a phase, as (phase, glob), before the defaults.

    Example:
        trace = perfscope.open_trace("trace/")
        waits = trace.collectives()
        waits.groupby(["last_rank", "rank"])["wait_ns"].sum() / 1e9
    """

    def __init__(self, trace: Trace, *, phase_rules: Sequence[tuple[str, str]] = ()) -> None:
        self._source = Source(trace, phase_rules)

    def __repr__(self) -> str:
        trace = self._source.trace
        return f"<OpenedTrace {trace.source!r}: {len(trace.ranks)} of {trace.world_size} ranks>"

    @property
    def command(self) -> tuple[str, ...]:
        """The recorded command line."""
        return self._source.trace.command

    @property
    def origin_unix_ns(self) -> int:
        """Wall-clock time of t = 0, nanoseconds since 1970; 0 where the trace does not tell."""
        return self._source.trace.origin_unix_ns

    @property
    def wall_ns(self) -> int:
        """Length of the run from the start of its launcher to its end, in nanoseconds."""
        return self._source.trace.wall_ns

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader could not read or had to assume, one sentence each."""
        return tuple(self._source.trace.notes)

    @property
    @_documented
    def ranks(self) -> pd.DataFrame:
        """The ranks of the job and how each ended."""
        return self._frame("ranks")

    @_documented
    def threads(self) -> pd.DataFrame:
        """The threads of each rank."""
        return self._frame("threads")

    @_documented
    def profile(self) -> pd.DataFrame:
        """What each rank spent its time in, added up."""
        return self._frame("profile")

    @_documented
    def ledger(self) -> pd.DataFrame:
        """Every nanosecond of every rank's life in exactly one account."""
        return self._frame("ledger")

    @_documented
    def activities(self) -> pd.DataFrame:
        """What each rank was doing outside communication, by line of the program."""
        return self._frame("activities")

    @_documented
    def losses(self) -> pd.DataFrame:
        """What the time of the ranks was lost to: all of it that was no training work."""
        return self._frame("losses")

    @_documented
    def steps(self) -> pd.DataFrame:
        """The steps of the training loop on each rank."""
        return self._frame("steps")

    @_documented
    def collectives(self) -> pd.DataFrame:
        """Collective operations: when each rank came and for whom it waited."""
        return self._frame("collectives")

    @_documented
    def messages(self) -> pd.DataFrame:
        """Messages between two ranks."""
        return self._frame("messages")

    @_documented
    def operations(self, *, rank: int | None = None) -> pd.DataFrame:
        """Every operation of MPI or of a framework, of all ranks or of one."""
        return self._frame("operations", _chooser({"rank": rank}))

    @_documented
    def requests(self, *, rank: int | None = None) -> pd.DataFrame:
        """Every request of a nonblocking call that was over, of all ranks or of one."""
        return self._frame("requests", _chooser({"rank": rank}))

    @_documented
    def intervals(
        self,
        *,
        rank: int | None = None,
        kind: str | None = None,
        name: str | None = None,
        window_s: tuple[float, float] | None = None,
    ) -> pd.DataFrame:
        """Operations, phases and steps: everything that has a start and an end.

        Args:
            rank: of this rank alone.
            kind: `operation`, `background`, `phase` or `step`.
            name: of this name alone.
            window_s: what overlaps these seconds of the trace's clock.

        Raises:
            ValueError: there is no such kind.
        """
        if kind is not None and kind not in KINDS:
            raise ValueError(f"there is no kind {kind!r}; use one of {', '.join(KINDS)}")
        return self._frame(
            "intervals", _chooser({"rank": rank, "kind": kind, "name": name}, window_s)
        )

    @_documented
    def counters(self, *, name: str | None = None) -> pd.DataFrame:
        """Every counter over time, or those of one name."""
        return self._frame("counters", _chooser({"name": name}))

    @_documented
    def memory(self) -> pd.DataFrame:
        """Memory, CPU and threads of each process over time."""
        return self._frame("memory")

    @_documented
    def samples(self) -> pd.DataFrame:
        """Stack samples: the line that each thread was in at a moment."""
        return self._frame("samples")

    @_documented
    def stacks(self) -> pd.DataFrame:
        """The stacks that samples refer to."""
        return self._frame("stacks")

    @_documented
    def kernels(self) -> pd.DataFrame:
        """Kernels, copies and fills of the accelerators."""
        return self._frame("kernels")

    def _frame(self, name: str, chosen: Chooser | None = None) -> pd.DataFrame:
        return frame_of(_TABLES[name], self._source, chosen)


def _chooser(
    wanted: dict[str, int | str | None], window_s: tuple[float, float] | None = None
) -> Chooser | None:
    """Keeps the rows whose columns have these values; None means any."""
    if window_s is None and all(value is None for value in wanted.values()):
        return None

    def chosen(block: Block) -> Bools:
        keep = np.ones(len(next(iter(block.values()))), np.bool_)
        for column, value in wanted.items():
            if value is not None:
                keep &= _equals(block, column, value)
        if window_s is not None:
            start, end = (round(moment * 1e9) for moment in window_s)
            keep &= (np.asarray(block["t1_ns"]) >= start) & (np.asarray(block["t0_ns"]) < end)
        return keep

    return chosen


def _equals(block: Block, column: str, value: int | str) -> Bools:
    values = block[column]
    if isinstance(values, Texts):
        codes = [place for place, text in enumerate(values.texts) if text == value]
        return np.isin(values.codes, codes)
    return np.asarray(np.asarray(values) == value, np.bool_)


def open_trace(
    path: str | Path, *more: str | Path, phase_rules: Sequence[tuple[str, str]] = ()
) -> OpenedTrace:
    """Opens a trace for exploring.

    Args:
        path: a run directory, or a trace of another tool that perfscope can read.
        more: further traces of the same run, of this or other tools.
        phase_rules: which functions or regions are a phase, as (phase, glob):
            `("evaluate", "*validate*")`.

    Raises:
        perfscope.errors.UnreadableInputError: nothing is there, or no reader knows it.
    """
    rules = tuple(phase_rules)
    paths = [Path(place) for place in (path, *more)]
    trace = registry.open_traces(paths, ReadOptions(phase_rules=rules))
    return OpenedTrace(trace, phase_rules=rules)
