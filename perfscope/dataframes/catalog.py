"""All tables by name."""

from perfscope.dataframes.columns import TableSpec
from perfscope.registry import members

ORDER = (
    "ranks",
    "threads",
    "profile",
    "ledger",
    "activities",
    "losses",
    "steps",
    "collectives",
    "messages",
    "operations",
    "requests",
    "intervals",
    "counters",
    "memory",
    "samples",
    "stacks",
    "kernels",
)


def tables() -> dict[str, TableSpec]:
    """Every table, in the order of the documentation."""
    found: list[TableSpec] = members("perfscope.dataframes.tables", "TABLE", order=ORDER)
    return {table.name: table for table in found}


def reference() -> str:
    """The tables as docs/python.md lists them."""
    parts = []
    for table in tables().values():
        lines = [f"### `{table.name}`", "", table.summary, "", "| column | dtype | unit | |"]
        lines.append("|---|---|---|---|")
        lines += [
            f"| `{column.name}` | {column.kind.value} | {column.unit} | {column.doc} |"
            for column in table.columns
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"
