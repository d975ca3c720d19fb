"""What the exports of tables share: the description that lies beside them."""

import json
from typing import Any

from perfscope.dataframes.columns import TableSpec
from perfscope.dataframes.source import Source

DESCRIPTION_FILE = "tables.json"
SCHEMA_VERSION = "1"


def described(source: Source, rows: dict[str, int], tables: dict[str, TableSpec]) -> str:
    """What the files hold: columns with dtype and unit, and why a table is empty."""
    trace = source.trace
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
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
    return json.dumps(document, indent=1) + "\n"
