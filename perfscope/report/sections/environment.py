"""Environment: the command, machines, versions and variables, and how each rank ended."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, integers, mapping, number, rows, text, texts
from perfscope.report.formats import seconds
from perfscope.report.sections.overview import started_at
from perfscope.report.sections.section import Context, Section
from perfscope.report.views import MOST_RANKS_SHOWN, rank_list

MOST_ROWS = 80
TOPOLOGY = (
    ("host", "Host"),
    ("sockets", "Sockets"),
    ("cores", "Cores"),
    ("smt", "Cores shared by hardware threads (SMT)"),
    ("numa_nodes", "NUMA nodes"),
    ("cpus", "CPUs"),
)


def _context(document: Document) -> Context:
    run = mapping(document, "run")
    topology = rows(run, "topology")
    hosts = rows(run, "hosts")
    return {
        "facts": _facts(run),
        "versions": _pairs(run, "versions"),
        "variables": _pairs(run, "environment"),
        "topology_titles": [title for _, title in TOPOLOGY],
        "topology": [[_cell(row.get(key)) for key, _ in TOPOLOGY] for row in topology[:MOST_ROWS]],
        "topology_left_out": max(len(topology) - MOST_ROWS, 0),
        "hosts": [
            (text(host, "name"), rank_list(integers(host, "ranks"))) for host in hosts[:MOST_ROWS]
        ],
        "hosts_left_out": max(len(hosts) - MOST_ROWS, 0),
        "endings": _endings(rows(run, "endings")),
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


def _pairs(run: Mapping[str, Any], key: str) -> list[tuple[str, str]]:
    return [(name, _cell(value)) for name, value in list(mapping(run, key).items())[:MOST_ROWS]]


def _cell(value: object) -> str:
    if value is None:
        return "unknown"
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
                "pid": _cell(row.get("pid")),
                "text": text(row, "text") or text(row, "kind"),
            }
            for row in endings
        ]
    alike: dict[str, list[float]] = {}
    for row in endings:
        ending = text(row, "text") or text(row, "kind")
        alike.setdefault(ending, []).append(number(row.get("rank")) or 0)
    return [
        {"ranks": rank_list(ranks), "host": "", "pid": "", "text": ending}
        for ending, ranks in sorted(alike.items(), key=lambda item: len(item[1]))
    ][:MOST_ROWS]


SECTION = Section("environment", "Environment", "environment.html", _context)
