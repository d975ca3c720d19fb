"""CSV and Parquet: one file a table, and what goes out comes back."""

import csv
import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from perfscope.dataframes.catalog import tables
from perfscope.dataframes.columns import Column, Kind
from perfscope.dataframes.frames import frame_of
from perfscope.dataframes.source import Source
from perfscope.export import csv as csv_export
from perfscope.export import parquet as parquet_export
from perfscope.output import csv_text
from perfscope.readers.registry import open_trace
from perfscope.trace.model import Trace
from tests.export.expected import readable
from tests.support.environments import REPOSITORY
from tests.support.random_traces import traces

SAMPLE = REPOSITORY / "sample_traces" / "rank_zero_evaluation"
Written = dict[str, dict[str, list[Any]]]
csv.field_size_limit(1 << 30)


def from_csv(directory: Path) -> Written:
    found: Written = {}
    for name, table in tables().items():
        with (directory / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
            header, *rows = list(csv.reader(stream))
        assert header == [column.name for column in table.columns]
        cells = list(zip(*rows, strict=True)) or [()] * len(header)
        found[name] = {
            column.name: [value_of(column, cell) for cell in column_cells]
            for column, column_cells in zip(table.columns, cells, strict=True)
        }
    return found


def value_of(column: Column, cell: str) -> Any:
    if column.kind is Kind.TEXT:
        return csv_text(cell)
    if cell == "":
        return None
    if column.kind is Kind.FLAG:
        return {"true": True, "false": False}[cell]
    return float(cell) if column.kind is Kind.NUMBER else int(cell)


def from_parquet(directory: Path) -> Written:
    found: Written = {}
    for name, table in tables().items():
        read = pq.read_table(directory / f"{name}.parquet")
        assert read.column_names == [column.name for column in table.columns]
        found[name] = {column: read.column(column).to_pylist() for column in read.column_names}
        for column in table.columns:
            facts = read.schema.field(column.name).metadata
            assert facts[b"unit"].decode() == column.unit
            if column.kind is Kind.TEXT:
                values = found[name][column.name]
                found[name][column.name] = ["" if v is None else v for v in values]
    return found


def expected(source: Source) -> Written:
    found: Written = {}
    for name, table in tables().items():
        frame = frame_of(table, source)
        found[name] = {}
        for column in table.columns:
            values = frame[column.name].astype(object).tolist()
            missing = frame[column.name].isna().tolist()
            found[name][column.name] = [
                plain(column, value, is_missing=none)
                for value, none in zip(values, missing, strict=True)
            ]
    return found


def plain(column: Column, value: Any, *, is_missing: bool) -> Any:
    if column.kind is Kind.TEXT:
        return "" if is_missing else readable(value)
    if column.kind is Kind.NUMBER:
        return float(value)
    return None if is_missing else value


def check_equal(found: Written, wanted: Written) -> None:
    assert found.keys() == wanted.keys()
    for name, columns in wanted.items():
        for column, values in columns.items():
            got = found[name][column]
            same = [a == b or (is_nan(a) and is_nan(b)) for a, b in zip(got, values, strict=True)]
            assert all(same), (name, column)


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


FORMATS = [(csv_export.write, from_csv), (parquet_export.write, from_parquet)]
IDS = ["csv", "parquet"]


@pytest.mark.parametrize(("write", "read"), FORMATS, ids=IDS)
@settings(deadline=None, max_examples=8)
@given(trace=traces())
def test_what_goes_out_comes_back(
    write: Callable[[Source, Path], list[str]], read: Callable[[Path], Written], trace: Trace
) -> None:
    source = Source(trace)
    with tempfile.TemporaryDirectory() as directory:
        write(source, Path(directory) / "out")
        check_equal(read(Path(directory) / "out"), expected(source))


@pytest.mark.parametrize(("write", "read"), FORMATS, ids=IDS)
def test_the_sample_comes_back(
    write: Callable[[Source, Path], list[str]], read: Callable[[Path], Written], tmp_path: Path
) -> None:
    source = Source(open_trace(SAMPLE))
    write(source, tmp_path / "out")
    found = read(tmp_path / "out")
    check_equal(found, expected(source))
    description = json.loads((tmp_path / "out" / "tables.json").read_text(encoding="utf-8"))
    for name, table in description["tables"].items():
        assert table["rows"] == len(next(iter(found[name].values())))
        assert ("reason" in table) == (table["rows"] == 0)
        assert [column["name"] for column in table["columns"]] == list(found[name])


def test_blocks_of_a_long_table_are_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perfscope.dataframes.columns.BLOCK_ROWS", 7)
    source = Source(open_trace(SAMPLE))
    for write, read in FORMATS:
        write(source, tmp_path / write.__module__)
        check_equal(read(tmp_path / write.__module__), expected(source))
