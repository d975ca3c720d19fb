"""Counters of a rank as metrics of OTF2, on a location of their own."""

from collections.abc import Iterator
from typing import Any

import _otf2
import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints
from perfscope.dataframes.columns import pieces
from perfscope.export._otf2_archive import Archive, Location
from perfscope.structures import dataclass
from perfscope.trace.counters import CounterKind
from perfscope.trace.model import Rank, Table, Trace

_GROWING = {
    *("cpu_ns", "queue_delay_ns", "read_bytes", "written_bytes", "voluntary_switches"),
    *("involuntary_switches", "major_faults", "oom_kills"),
}
"""Counters that add up from the start of the process."""

_OF_KIND = {
    CounterKind.GROWING: _otf2.MetricMode.ACCUMULATED_START,
    CounterKind.VALUE: _otf2.MetricMode.ABSOLUTE_POINT,
    CounterKind.DIFFERENCE: _otf2.MetricMode.RELATIVE_LAST,
}

_WIDE = ("process_samples", "system_samples", "node_samples")


@dataclass(frozen=True)
class _Series:
    """Values of one metric class over time: shape (moments, members), of one type."""

    metric: int
    times: Ints
    values: npt.NDArray[Any]


class Metrics:
    """Defines metrics when a rank first has them, and writes their values."""

    def __init__(self, archive: Archive, base_ns: int) -> None:
        self._archive, self._base_ns = archive, base_ns
        self._classes: dict[str, int] = {}

    def write(self, trace: Trace, rank: Rank, group: int) -> None:
        """Writes the counters of a rank to a location of its group."""
        series = [*self._of_tables(rank), *self._of_names(trace, rank)]
        if not series:
            return
        location = self._archive.location("counters", _otf2.LocationType.METRIC, group)
        instances = [self._instance(one.metric, location) for one in series]
        self._archive.open_location(location)
        times = np.concatenate([one.times for one in series])
        which = np.repeat(np.arange(len(series)), [len(one.times) for one in series])
        place = np.concatenate([np.arange(len(one.times)) for one in series])
        order = np.argsort(times, kind="stable")
        for part in pieces(len(order)):
            rows = order[part]
            columns = (times[rows].tolist(), which[rows].tolist(), place[rows].tolist())
            for at, number, row in zip(*columns, strict=True):
                time = at + self._base_ns
                self._archive.tell_time(time)
                types, values = _union(series[number].values[row])
                _otf2.EvtWriter_Metric(
                    location.writer, None, time, instances[number], types, values
                )
                location.events += 1
        self._archive.close_location(location)

    def _of_tables(self, rank: Rank) -> Iterator[_Series]:
        for attribute in _WIDE:
            rows: Table = getattr(rank, attribute)
            names = (rows.dtype.names or ())[1:]
            if len(rows):
                values = np.stack([rows[name].astype(np.int64) for name in names], 1)
                metric = self._class(attribute, names, [_mode(name) for name in names])
                yield _Series(metric, rows["t"].astype(np.int64), values)

    def _of_names(self, trace: Trace, rank: Rank) -> Iterator[_Series]:
        for rows in (rank.metrics, rank.counters):
            for number in np.unique(rows["name"]).tolist():
                mine, name = rows[rows["name"] == number], trace.names[number]
                kind = None if rows is rank.metrics else trace.counter_kinds.get(name)
                mode = _OF_KIND[kind or CounterKind.VALUE]
                metric = self._class(f"{mode} {name}", (name,), [mode], is_whole=False)
                values = mine["value"].astype(np.float64).reshape(-1, 1)
                yield _Series(metric, mine["t"].astype(np.int64), values)

    def _class(
        self, key: str, names: tuple[str, ...], modes: list[Any], *, is_whole: bool = True
    ) -> int:
        if key not in self._classes:
            known = self._archive.definitions
            first = len(known.members)
            kind = _otf2.Type.INT64 if is_whole else _otf2.Type.DOUBLE
            for name, mode in zip(names, modes, strict=True):
                unit = next((u for u in ("bytes", "ns") if name.endswith(f"_{u}")), "")
                known.members.append((name, unit if is_whole else "", mode, kind))
            self._classes[key] = len(known.metrics)
            known.metrics.append(tuple(range(first, len(known.members))))
        return self._classes[key]

    def _instance(self, metric: int, location: Location) -> int:
        known = self._archive.definitions
        known.metrics.append((metric, location))
        return len(known.metrics) - 1


def _mode(name: str) -> Any:
    return _OF_KIND[CounterKind.GROWING if name in _GROWING else CounterKind.VALUE]


def _union(row: npt.NDArray[Any]) -> tuple[list[Any], list[Any]]:
    """Types and values of one sample, as the library takes them."""
    types, values = [], []
    for value in row.tolist():
        union = _otf2.MetricValue()
        if isinstance(value, float):
            union.floating_point = value
            types.append(_otf2.Type.DOUBLE)
        else:
            union.signed_int = value
            types.append(_otf2.Type.INT64)
        values.append(union)
    return types, values
