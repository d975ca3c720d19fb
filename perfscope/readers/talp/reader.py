"""Reads the JSON that TALP, of BSC's DLB library, writes at the end of a run.

Releases 3.3 and 3.4 write lists (`popMetrics`, `popRaw`, `node`, `region`), later ones objects by
region (`Application`, `Process`). Its efficiencies are computed again from its times, by the
formulas of its release (src/talp/perf_metrics.c), and both stand beside each other.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfscope.errors import UnreadableInputError
from perfscope.foreign import is_called
from perfscope.readers.common import texts
from perfscope.readers.common.texts import amount
from perfscope.readers.common.tool_reports import report, reporting_trace, table
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import ToolTable
from perfscope.structures import dataclass
from perfscope.trace.model import Format, Trace
from perfscope.units import counted, format_ratio, format_seconds

_SIGNS = re.compile(rb'"(dlbVersion|popMetrics|popRaw|nodeAvg|elapsedUseful)"\s*:')
WHOLE = ("Global", "Application", "MPI Execution")
"""What the region is called that covers the program."""
ROUNDED = 0.0051
"""TALP prints two digits."""
WHY = "TALP tells sums by region and process, and not when anything happened"
ACTION = "Copy it again, or run again with DLB_ARGS='--talp --talp-output-file=talp.json'."
LOST = (
    *("mpiTime", "ompLoadImbalanceTime", "ompSchedulingTime", "ompSerializationTime"),
    "gpuRuntimeTime",
)
"""Time of CPUs that is not useful."""


@dataclass(frozen=True)
class _Region:
    """What TALP says of one region: printed efficiencies, and those that its times give."""

    name: str
    elapsed_s: float | None
    useful_s: float | None
    mpi_s: float | None
    printed: Mapping[str, float | None]
    computed: Mapping[str, float | None]


EFFICIENCIES = {
    "parallel": ("Parallel efficiency", ("parallelEfficiency",)),
    "communication": (
        "Communication efficiency",
        ("mpiCommunicationEfficiency", "communicationEfficiency"),
    ),
    "balance": ("Load balance", ("mpiLoadBalance", "loadBalance")),
    "openmp": ("OpenMP parallel efficiency", ("ompParallelEfficiency",)),
    "offload": ("Device offload efficiency", ("deviceOffloadEfficiency",)),
    "device": ("Device parallel efficiency", ("gpuParallelEfficiency",)),
}
"""By our name: what the column is called, and TALP's fields, of the newest release first."""


def _recognizes(place: Place) -> bool:
    return place.head.lstrip()[:1] == b"{" and _SIGNS.search(place.head) is not None


def _open(paths: Sequence[Path], _: ReadOptions) -> Trace:
    """The run that a file tells of.

    Raises:
        UnreadableInputError: it is damaged, or tells nothing of any region or process.
    """
    path = paths[0]
    document = texts.mapping(texts.read_document(path, "TALP's JSON", ACTION))
    regions = [*_regions(document), *_raw_regions(document)]
    processes = list(_processes(document))
    if not regions and not processes:
        raise UnreadableInputError(
            f"{path} tells of no region.",
            why="Neither `Application` nor `Process`, `popMetrics` or `popRaw` holds anything.",
            action=ACTION,
        )
    release = texts.text(document, "dlbVersion")[:40]
    tables = [_by_region(regions), *_by_process(processes)]
    told = report(f"TALP {release}".strip(), path, _sentences(regions), tables)
    whole = next((one for one in regions if is_called(one.name, *WHOLE)), None)
    elapsed_s = whole.elapsed_s if whole and whole.elapsed_s else 0.0
    resources = texts.mapping(document.get("resources"))
    count = texts.whole(resources, "numMpiRanks") or 1
    told_ranks = [rank for process in processes if (rank := texts.whole(process, "rank"))]
    return reporting_trace(
        path,
        Format.TALP,
        told,
        why=WHY,
        ranks=[*range(min(count, 1 << 16)), *(rank for rank in told_ranks if rank < 1 << 16)],
        wall_ns=round(elapsed_s * 1e9),
    )


def _regions(document: Mapping[str, Any]) -> Iterator[_Region]:
    """Of releases from 3.5 on, and printed efficiencies of those before."""
    named = texts.mapping(document.get("Application")).items()
    for name, row in ((name, one) for name, one in named if isinstance(one, dict)):
        yield _Region(
            name,
            _seconds(row, "elapsedTime"),
            _seconds(row, "usefulTime"),
            _seconds(row, "mpiTime"),
            _printed(row),
            _computed(row),
        )
    raw = {texts.text(row, "name") for row in texts.rows(document.get("popRaw"))}
    for printed in texts.rows(document.get("popMetrics")):
        if texts.text(printed, "name") not in raw:
            elapsed_s = _seconds(printed, "elapsedTime")
            yield _Region(texts.text(printed, "name"), elapsed_s, None, None, _printed(printed), {})


def _raw_regions(document: Mapping[str, Any]) -> Iterator[_Region]:
    """Sums by region of releases 3.3 and 3.4, with the efficiencies printed for the same region."""
    metrics = {texts.text(row, "name"): row for row in texts.rows(document.get("popMetrics"))}
    for row in texts.rows(document.get("popRaw")):
        name = texts.text(row, "name")
        cpus, elapsed = amount(row, "numCpus"), amount(row, "elapsedTime")
        longest, useful = amount(row, "elapsedUseful"), amount(row, "usefulCpuTotal")
        computed = {
            "parallel": _part(useful, _product(elapsed, cpus)),
            "communication": _part(longest, elapsed),
            "balance": _part(useful, _product(longest, cpus)),
        }
        yield _Region(
            name,
            _seconds(row, "elapsedTime"),
            _seconds(row, "usefulCpuTotal"),
            None,
            _printed(metrics.get(name, {})),
            computed,
        )


def _computed(row: Mapping[str, Any]) -> dict[str, float | None]:
    """TALP's efficiencies from its times; those that a release does not tell apart are None."""
    useful, elapsed = amount(row, "usefulTime"), amount(row, "elapsedTime")
    lost = [amount(row, name) or 0 for name in LOST]
    active = None if useful is None else useful + sum(lost)
    outside_openmp = None if useful is None else useful + lost[0] + lost[-1]
    waited, cpus = amount(row, "mpiTime"), amount(row, "numCpus")
    least = amount(row, "minMpiNormdProc")
    communication = balance = None
    if None not in (waited, cpus, elapsed, least) and cpus:
        idle = (waited or 0) + (amount(row, "mpiWorkerIdleTime") or 0)
        busiest = (elapsed or 0) - (least or 0)
        communication = _part(busiest, elapsed)
        balance = _part(max((elapsed or 0) - idle / cpus, 0), busiest)
    else:
        balance = _part(_first(row, "usefulNormdApp"), amount(row, "maxUsefulNormdProc"))
    return {
        "parallel": _part(useful, active),
        "communication": communication,
        "balance": balance,
        "openmp": _part(outside_openmp, active),
    }


def _first(row: Mapping[str, Any], name: str) -> float | None:
    """A field that a release before 3.5.0 misspelt."""
    found = amount(row, name)
    return amount(row, name.replace("NormdApp", "NomrdApp")) if found is None else found


def _printed(row: Mapping[str, Any]) -> dict[str, float | None]:
    found = {}
    for key, (_, fields) in EFFICIENCIES.items():
        values = [value for name in fields if (value := amount(row, name)) is not None]
        found[key] = values[0] if values else None
    return found


def _seconds(row: Mapping[str, Any], key: str) -> float | None:
    value = amount(row, key)
    return None if value is None else value / 1e9


def _part(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _product(one: float | None, other: float | None) -> float | None:
    return one * other if one is not None and other is not None else None


def _sentences(regions: Sequence[_Region]) -> Iterator[str]:
    for one in sorted(regions, key=lambda one: -(one.elapsed_s or 0.0))[:3]:
        told = [
            f"{EFFICIENCIES[key][0].lower()} {format_ratio(value)}"
            for key in ("parallel", "communication", "balance")
            if (value := one.printed.get(key)) is not None
        ]
        if told:
            length = f" of {format_seconds(one.elapsed_s)}" if one.elapsed_s else ""
            yield f"In its region {one.name}{length}: {', '.join(told)}."
    odd = [(one, *pair) for one in regions for pair in _differing(one)]
    if odd:
        one, key, printed, computed = odd[0]
        many = counted(len(odd), "printed efficiency", "printed efficiencies")
        name = f"{EFFICIENCIES[key][0].lower()} of {one.name}"
        yield (
            f"The times in the file contradict {many}: {name} is printed as "
            f"{format_ratio(printed)}, its times give {format_ratio(computed)}."
        )


def _differing(one: _Region) -> Iterator[tuple[str, float, float]]:
    for key, computed in one.computed.items():
        printed = one.printed.get(key)
        if printed is not None and computed is not None and abs(printed - computed) > ROUNDED:
            yield key, printed, computed


def _by_region(regions: Sequence[_Region]) -> ToolTable:
    shown = [key for key in EFFICIENCIES if any(one.printed.get(key) for one in regions)]
    again = [key for key in EFFICIENCIES if any(one.computed.get(key) for one in regions)]
    columns = {
        "Region": Quantity.CODE,
        "Elapsed": Quantity.SECONDS,
        "Useful, all CPUs": Quantity.SECONDS,
        "In MPI, all CPUs": Quantity.SECONDS,
        **{EFFICIENCIES[key][0]: Quantity.RATIO for key in shown},
        **{f"{EFFICIENCIES[key][0]}, from its times": Quantity.RATIO for key in again},
    }
    lines = [
        (
            one.name,
            one.elapsed_s,
            one.useful_s,
            one.mpi_s,
            *(one.printed.get(key) for key in shown),
            *(one.computed.get(key) for key in again),
        )
        for one in sorted(regions, key=lambda one: -(one.elapsed_s or 0.0))
    ]
    return table("Regions, as TALP measured them", columns, lines)


def _processes(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What is told of each process in each region, with the region's name."""
    for name, told in texts.mapping(document.get("Process")).items():
        yield from ({**row, "region": name} for row in texts.rows(told))
    for region in texts.rows(document.get("region")):
        name = texts.text(region, "name")
        yield from ({**row, "region": name} for row in texts.rows(region.get("process")))
    for node in texts.rows(document.get("node")):
        name = f"node {texts.text(node, 'id')}"
        yield from (
            {**row, "region": name, "pid": row.get("id")} for row in texts.rows(node.get("process"))
        )


def _by_process(processes: Sequence[Mapping[str, Any]]) -> Iterator[ToolTable]:
    columns = {
        "Region": Quantity.CODE,
        "Rank": Quantity.COUNT,
        "Process": Quantity.COUNT,
        "Host": Quantity.TEXT,
        "Elapsed": Quantity.SECONDS,
        "Useful": Quantity.SECONDS,
        "In MPI": Quantity.SECONDS,
    }
    yield table(
        "Processes, as TALP measured them",
        columns,
        [
            (
                texts.text(row, "region"),
                texts.whole(row, "rank"),
                texts.whole(row, "pid"),
                texts.text(row, "hostname") or None,
                *(_seconds(row, name) for name in ("elapsedTime", "usefulTime", "mpiTime")),
            )
            for row in processes
        ],
    )


READER = Reader(
    format=Format.TALP,
    description="efficiencies that TALP of BSC's DLB measured (.json)",
    recognizes=_recognizes,
    open=_open,
    tells=Tells(
        efficiencies="TALP's own, beside ours",
        phases="its regions, as sums",
    ),
)
