"""Parquet: one file a table, for pandas, DuckDB, Spark and other engines."""

import importlib
from pathlib import Path
from typing import Any

from perfscope.dataframes.columns import Column, Kind, Maybe, TableSpec, Texts, Values
from perfscope.dataframes.source import Source
from perfscope.export._tables import write_tables
from perfscope.export.target import Target, clean, missing_package


def check() -> None:
    """Fails where pyarrow is missing.

    Raises:
        UsageError: it is.
    """
    try:
        importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise missing_package("parquet", "pyarrow", "parquet") from error


def write(source: Source, output: Path) -> list[str]:
    """Writes every table of a trace as <table>.parquet, and tables.json which describes them."""
    return write_tables(source, output, ".parquet", _write_table)


def _write_table(table: TableSpec, source: Source, path: Path) -> int:
    import pyarrow as pa  # noqa: PLC0415 - an extra, see check
    import pyarrow.parquet as pq  # noqa: PLC0415

    schema = pa.schema([_field(pa, column) for column in table.columns])
    count = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for block in table.blocks(source):
            arrays = [_array(pa, block[column.name]) for column in table.columns]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(arrays[0])
    return count


def _field(pa: Any, column: Column) -> Any:
    kinds = {
        Kind.INTEGER: pa.int64(),
        Kind.OPTIONAL: pa.int64(),
        Kind.NUMBER: pa.float64(),
        Kind.FLAG: pa.bool_(),
        Kind.TEXT: pa.dictionary(pa.int32(), pa.string()),
    }
    nullable = column.kind in (Kind.OPTIONAL, Kind.TEXT)
    facts = {"unit": column.unit, "meaning": column.doc}
    return pa.field(column.name, kinds[column.kind], nullable=nullable, metadata=facts)


def _array(pa: Any, values: Values) -> Any:
    if isinstance(values, Texts):
        words = pa.array([clean(word) for word in values.texts], pa.string())
        codes = pa.array(values.codes, pa.int32(), mask=values.codes < 0)
        return pa.DictionaryArray.from_arrays(codes, words)
    if isinstance(values, Maybe):
        return pa.array(values.values, pa.int64(), mask=~values.known)
    return pa.array(values)


TARGET = Target(
    "parquet", "a directory of tables as .parquet files; needs pyarrow", "-parquet", write, check
)
