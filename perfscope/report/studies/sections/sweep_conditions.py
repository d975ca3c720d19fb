"""Whether the runs were made under the same conditions: transport, pinning, environment."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, mapping, number, rows, text, texts
from perfscope.report.labels import StatusWord
from perfscope.report.studies.section import Context, StudySection
from perfscope.units import MISSING

MOST_ROWS = 200
VERDICTS = {
    True: StatusWord("✓", "Same fabric", "pass"),
    False: StatusWord("!", "Not the same fabric", "warn"),
    None: StatusWord("–", "Not known", "none"),
}


def _context(document: Document) -> Context:
    sweep = mapping(document, "sweep")
    fabric = mapping(sweep, "fabric")
    verdict = fabric.get("comparable")
    by_number: dict[float, Mapping[str, Any]] = {}
    for run in rows(document, "runs"):
        known = number(run.get("configuration"))
        if known is not None and mapping(run, "transport"):
            by_number.setdefault(known, run)
    found = rows(sweep, "configurations")
    return {
        "status": VERDICTS[verdict if isinstance(verdict, bool) else None],
        "sentence": text(fabric, "sentence"),
        "pinning": text(fabric, "pinning"),
        "rows": [
            _row(row, by_number.get(number(row.get("number")) or 0.0, {}))
            for row in found[:MOST_ROWS]
        ],
        "left_out": max(len(found) - MOST_ROWS, 0),
    }


def _row(row: Mapping[str, Any], run: Mapping[str, Any]) -> Context:
    transport, pinning = mapping(run, "transport"), mapping(run, "pinning")
    environment = [
        f"{name} taken out" if value is None else f"{name}={value}"
        for name, value in mapping(row, "environment").items()
    ]
    settings = [f"{k}={v}" for k, v in transport.items() if k not in ("hosts", "MPI")]
    places = [f"{k}: {v}" for k, v in pinning.items() if k.startswith("rank ")]
    asked = [f"{k}={v}" for k, v in pinning.items() if not k.startswith("rank ")]
    return {
        "label": text(row, "label") or "the command as it is",
        "command": shlex.join(texts(row, "command")),
        "library": (text(transport, "MPI") or MISSING).partition(" (")[0],
        "hosts": text(transport, "hosts") or MISSING,
        "settings": settings or [MISSING],
        "pinning": [*asked, *_grouped(places)] or [MISSING],
        "environment": environment,
    }


def _grouped(places: list[str]) -> list[str]:
    """The CPUs of each rank; of many ranks the first ones and how many more."""
    return places if len(places) <= 4 else [*places[:3], f"and {len(places) - 3} more ranks"]


SECTION = StudySection(
    "conditions", "Same conditions?", "sweep_conditions.html", _context, place=30, kinds=("sweep",)
)
