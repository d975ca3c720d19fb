"""Environment: the command, machines, versions and variables, and how each rank ended."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, integers, mapping, number, rows, text, texts
from perfscope.report.formats import seconds
from perfscope.report.sections.overview import started_at
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.views import MOST_RANKS_SHOWN, rank_list

MOST_ROWS = 80
TOPOLOGY = (
    Column("Host", "host", kind=Kind.TEXT, longest=40),
    Column("Sockets", "sockets"),
    Column("Cores", "cores"),
    Column("Cores shared by hardware threads (SMT)", lambda row: _cell(row.get("smt"))),
    Column("NUMA nodes", "numa_nodes"),
    Column("CPUs", lambda row: _cell(row.get("cpus"))),
)
HOSTS = (
    Column("Host", "name", kind=Kind.TEXT, longest=40),
    Column("Ranks", lambda row: rank_list(integers(row, "ranks")), kind=Kind.TEXT, longest=200),
)
ENDINGS = (
    Column("Rank", "ranks", kind=Kind.TEXT, longest=200),
    Column("Host", "host", kind=Kind.TEXT, longest=40),
    Column("Process", "pid", "{:.0f}".format),
    Column("Ending", "text", kind=Kind.TEXT, longest=200),
)
PAIRS = (
    Column("Name", 0, kind=Kind.CODE),
    Column("Value", 1, kind=Kind.TEXT, longest=160),
)


def _context(document: Document) -> Context:
    run = mapping(document, "run")
    topology = rows(run, "topology")
    hosts = rows(run, "hosts")
    return {
        "facts": _facts(run),
        "versions": _pairs("versions", "Versions", mapping(run, "versions")),
        "variables": _pairs("variables", "Environment variables", mapping(run, "environment")),
        "topology": Table(
            "topology", "Machines", TOPOLOGY, topology, MOST_ROWS, "machines", has_caption=False
        ),
        "hosts": Table("hosts", "Ranks on each host", HOSTS, hosts, MOST_ROWS, "hosts"),
        "endings": Table(
            "endings",
            "How each rank ended",
            ENDINGS,
            _endings(rows(run, "endings")),
            MOST_ROWS,
            "endings",
            has_caption=False,
        ),
    }


def _facts(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    code, wall = number(run.get("exit_code")), number(run.get("wall_s"))
    facts = [
        ("Command", shlex.join(texts(run, "command"))),
        ("Recording", text(run, "source")),
        ("Started", started_at(run)),
        ("Ran for", "" if wall is None else seconds(wall)),
        ("Started by", text(run, "launcher")),
        ("Exit code", "" if code is None else str(int(code))),
    ]
    for title, key in (
        ("Ranks without a recording", "missing_ranks"),
        ("Ranks that did not end by themselves", "incomplete_ranks"),
    ):
        if ranks := integers(run, key):
            facts.append((title, rank_list(ranks)))
    return [(title, value or "unknown") for title, value in facts]


def _pairs(id_: str, caption: str, found: Mapping[str, Any]) -> Table:
    pairs = [(name, _cell(value)) for name, value in found.items()]
    return Table(id_, caption, PAIRS, pairs, MOST_ROWS, caption.lower(), has_caption=False)


def _cell(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _endings(endings: list[Mapping[str, Any]]) -> list[Context]:
    """How the ranks ended: one by one, or grouped by ending when there are many."""
    if len(endings) <= MOST_RANKS_SHOWN:
        return [
            {
                "ranks": rank_list([number(row.get("rank")) or 0]),
                "host": text(row, "host"),
                "pid": row.get("pid"),
                "text": text(row, "text") or text(row, "kind"),
            }
            for row in endings
        ]
    alike: dict[str, list[float]] = {}
    for row in endings:
        ending = text(row, "text") or text(row, "kind")
        alike.setdefault(ending, []).append(number(row.get("rank")) or 0)
    return [
        {"ranks": rank_list(ranks), "text": ending}
        for ending, ranks in sorted(alike.items(), key=lambda item: len(item[1]))
    ]


SECTION = Section("environment", "Environment", "environment.html", _context, is_folded=True)
