"""What the exports of tables share: a file for each, and the description that lies beside them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import perfscope
from perfscope.dataframes.catalog import tables
from perfscope.dataframes.columns import TableSpec
from perfscope.dataframes.source import Source
from perfscope.export._source import facts_of, with_exposed_source
from perfscope.readers.common.exported import KEY
from perfscope.trace.model import Trace

DESCRIPTION_FILE = "tables.json"
SCHEMA_VERSION = "1"


def write_tables(
    source: Source, output: Path, ending: str, write: Callable[[TableSpec, Source, Path], int]
) -> list[str]:
    """Writes every table of a trace as <table><ending>, and tables.json which describes them.

    `write` writes one, and tells how many rows it has.
    """
    output.mkdir()
    source = with_exposed_source(source)
    known = tables()
    rows = {name: write(one, source, output / f"{name}{ending}") for name, one in known.items()}
    description = _described(source, rows, known)
    (output / DESCRIPTION_FILE).write_text(description, encoding="utf-8")
    return []


def _described(source: Source, rows: dict[str, int], tables: dict[str, TableSpec]) -> str:
    """What the files hold: columns with dtype and unit, and why a table is empty."""
    trace = source.trace
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "tool": f"perfscope {perfscope.__version__}, tables",
        "command": list(trace.command),
        "origin_unix_ns": trace.origin_unix_ns,
        "wall_ns": trace.wall_ns,
        "world_size": trace.world_size,
        "tables": {},
    }
    for name, table in tables.items():
        document["tables"][name] = {
            "summary": table.summary,
            "rows": rows[name],
            **({} if rows[name] else {"reason": table.reason(source)}),
            "columns": [
                {
                    "name": column.name,
                    "dtype": column.kind.value,
                    "unit": column.unit,
                    "meaning": column.doc,
                }
                for column in table.columns
            ],
        }
    # behind the tables: near the beginning, it would be taken for a result of `perfscope analyze`
    document[KEY] = {**facts_of(source), **_beside(trace)}
    return json.dumps(document, indent=1) + "\n"


def _beside(trace: Trace) -> dict[str, Any]:
    """What has no table: communicators, devices, and what was noted of frameworks."""
    return {
        "communicators": [[one.parent, *one.members] for one in trace.communicators],
        "devices": [
            [rank.number, device.number, device.name]
            for rank in trace.ranks
            for device in (rank.devices.devices if rank.devices is not None else ())
        ],
        "watched": [
            [rank.number, *rank.devices.watched]
            for rank in trace.ranks
            if rank.devices is not None and rank.devices.watched is not None
        ],
        "frameworks": [[rank.number, rank.frameworks] for rank in trace.ranks if rank.frameworks],
    }
