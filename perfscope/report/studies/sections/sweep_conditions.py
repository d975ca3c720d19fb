"""Whether the runs were made under the same conditions: transport, pinning, environment."""

from __future__ import annotations

import shlex

from perfscope.report.labels import StatusWord
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.sweep_speed import swept
from perfscope.schema.study import Study, SweepRunRow
from perfscope.schema.sweep_result import ConfigurationResult
from perfscope.units import MISSING

MOST_ROWS = 200
VERDICTS = {
    True: StatusWord("✓", "Same fabric", "pass"),
    False: StatusWord("!", "Not the same fabric", "warn"),
    None: StatusWord("–", "Not known", "none"),
}


def _context(study: Study) -> Context:
    sweep = swept(study)
    runs: dict[int, SweepRunRow] = {}
    for run in study.runs:
        if isinstance(run, SweepRunRow) and run.transport:
            runs.setdefault(run.configuration, run)
    found = sweep.configurations
    return {
        "status": VERDICTS[sweep.fabric.comparable],
        "sentence": sweep.fabric.sentence,
        "pinning": sweep.fabric.pinning,
        "rows": [_row(row, runs.get(row.number)) for row in found[:MOST_ROWS]],
        "left_out": max(len(found) - MOST_ROWS, 0),
    }


def _row(row: ConfigurationResult, run: SweepRunRow | None) -> Context:
    transport, pinning = (run.transport, run.pinning) if run else ({}, {})
    environment = [
        f"{name} taken out" if value is None else f"{name}={value}"
        for name, value in row.environment.items()
    ]
    settings = [f"{k}={v}" for k, v in transport.items() if k not in ("hosts", "MPI")]
    places = [f"{k}: {v}" for k, v in pinning.items() if k.startswith("rank ")]
    asked = [f"{k}={v}" for k, v in pinning.items() if not k.startswith("rank ")]
    return {
        "label": row.title,
        "command": shlex.join(row.command),
        "library": (transport.get("MPI") or MISSING).partition(" (")[0],
        "hosts": transport.get("hosts") or MISSING,
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
