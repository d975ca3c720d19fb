"""Whether the runs were made under the same conditions: transport, pinning, environment."""

import shlex

from perfscope.report.labels import StatusWord
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.sweep_speed import swept
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.schema.study import Study, SweepRunRow
from perfscope.schema.sweep_result import ConfigurationResult
from perfscope.structures import dataclass

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
    rows = [_conditions(row, runs.get(row.number)) for row in sweep.configurations]
    told = [one for one in COLUMNS if any(not one.cell(row).is_absent for row in rows)]
    return {
        "status": VERDICTS[sweep.fabric.comparable],
        "takeaway": sweep.fabric.sentence,
        "pinning": sweep.fabric.pinning,
        "table": Table(
            "conditions-table",
            "Transport, pinning and settings by configuration",
            told,
            rows,
            MOST_ROWS,
            "configurations",
            file="study.json",
            has_caption=False,
        ),
    }


@dataclass(frozen=True)
class _Conditions:
    """What one configuration ran under, in texts."""

    title: str
    command: str
    library: str | None
    hosts: str | None
    settings: tuple[str, ...] | None
    pinning: tuple[str, ...] | None
    environment: tuple[str, ...] | None


HOSTS, MPI = "hosts", "MPI"
"""Beside the settings of a transport."""

COLUMNS = (
    Column("Configuration", "title", kind=Kind.TEXT, note=Note(lambda row: row.command)),
    Column("MPI library", "library", kind=Kind.TEXT, longest=80),
    Column("Hosts", "hosts", kind=Kind.TEXT),
    Column("Transport settings", "settings", kind=Kind.LINES, longest=70),
    Column("CPUs of the ranks", "pinning", kind=Kind.LINES, longest=50),
    Column("Environment set by the sweep", "environment", kind=Kind.LINES, longest=70),
)


def _conditions(row: ConfigurationResult, run: SweepRunRow | None) -> _Conditions:
    transport, pinning = (run.transport, run.pinning) if run else ({}, {})
    environment = tuple(
        f"{name} taken out" if value is None else f"{name}={value}"
        for name, value in row.environment.items()
    )
    settings = tuple(f"{k}={v}" for k, v in transport.items() if k not in {HOSTS, MPI})
    places = [f"{k}: {v}" for k, v in pinning.items() if k.startswith("rank ")]
    asked = [f"{k}={v}" for k, v in pinning.items() if not k.startswith("rank ")]
    return _Conditions(
        row.title,
        shlex.join(row.command),
        (transport.get(MPI) or "").partition(" (")[0] or None,
        transport.get(HOSTS) or None,
        settings or None,
        (*asked, *_grouped(places)) or None,
        environment or None,
    )


def _grouped(places: list[str]) -> list[str]:
    """The CPUs of each rank; of many ranks the first ones and how many more."""
    return places if len(places) <= 4 else [*places[:3], f"and {len(places) - 3} more ranks"]


SECTION = StudySection(
    "conditions",
    "Same conditions?",
    "sweep_conditions.html",
    _context,
    place=30,
    kinds=("sweep",),
    is_folded=True,
)
