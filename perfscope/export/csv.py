"""CSV: one file a table, for spreadsheets, R and every other language.

A spreadsheet takes a cell that begins like a formula for one, also where it stands in quotes, and
runs it. Such a text begins with an apostrophe here, by which spreadsheets know a text. All texts
stand in quotes, since some of them part cells at semicolons or tabs.
"""

from pathlib import Path
from typing import Any

import numpy as np

from perfscope.dataframes.columns import Maybe, TableSpec, Texts, Values
from perfscope.dataframes.source import Source
from perfscope.export._tables import write_tables
from perfscope.export.target import Target, clean
from perfscope.output import csv_cell

END_OF_LINE = "\r\n"


def write(source: Source, output: Path) -> list[str]:
    """Writes every table of a trace as <table>.csv, and tables.json which describes them."""
    return write_tables(source, output, ".csv", _write_table)


def _write_table(table: TableSpec, source: Source, path: Path) -> int:
    names = [column.name for column in table.columns]
    count = 0
    with path.open("x", encoding="utf-8", newline="") as stream:
        stream.write(",".join(names) + END_OF_LINE)
        cleaned = _Cleaned()
        for block in table.blocks(source):
            columns = [cleaned.cells(block[name]) for name in names]
            rows = (",".join(map(str, row)) + END_OF_LINE for row in zip(*columns, strict=True))
            stream.writelines(rows)
            count += len(columns[0])
    return count


class _Cleaned:
    """Columns as cells; each list of texts is made fit for a file once."""

    def __init__(self) -> None:
        self._known: dict[int, list[str]] = {}

    def cells(self, values: Values) -> list[Any]:
        """A column's cells; what is missing is empty."""
        if isinstance(values, Texts):
            known = self._known.setdefault(id(values.texts), [])
            known.extend(csv_cell(clean(word)) for word in values.texts[len(known) :])
            return ["" if code < 0 else known[code] for code in values.codes.tolist()]
        if isinstance(values, Maybe):
            pairs = zip(values.values.tolist(), values.known.tolist(), strict=True)
            return [value if is_known else "" for value, is_known in pairs]
        if values.dtype == np.bool_:
            return ["true" if value else "false" for value in values.tolist()]
        cells: list[Any] = values.tolist()
        return cells


TARGET = Target("csv", "a directory of tables as .csv files", "-csv", write)
