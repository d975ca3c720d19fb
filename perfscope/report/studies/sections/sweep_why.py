"""Why the best configuration wins, and what every one was made of."""

from collections.abc import Callable, Mapping

from perfscope.report.formats import bytes_, count, decimal, percent, ratio
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.sweep_speed import reports, spread, swept
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.report.views import Linked
from perfscope.schema.study import Study
from perfscope.schema.sweep_result import ConfigurationResult, SpeedFactors
from perfscope.units import MISSING

MOST_ROWS = 200
MS_PER_S = 1000.0


def _context(study: Study) -> Context:
    sweep = swept(study)
    ordered = sorted(sweep.configurations, key=lambda row: -(row.speed or 0.0))
    best = next((row for row in ordered if row.is_best), None)
    return {
        "best": best.title if best else "",
        "explanations": [
            {
                "label": one.label or "the command as it is",
                "sentence": one.sentence,
                "facts": one.facts,
                "within_noise": one.within_noise,
            }
            for one in sweep.why
        ],
        "best_reason": sweep.best_reason,
        "memory": sweep.memory,
        "table": Table(
            "configurations-table",
            "Speed and what it is made of",
            _columns(sweep.objective.unit, sweep.quality, reports(study)),
            ordered,
            MOST_ROWS,
            "configurations",
            file="study.json",
            has_caption=False,
        ),
    }


def _columns(unit: str, quality: str | None, links: Mapping[int, str]) -> tuple[Column, ...]:
    """What is told of every configuration."""
    return (
        Column(
            "Configuration",
            lambda row: Linked(row.title, links.get(row.number, "")),
            kind=Kind.LINK,
            longest=70,
            note=Note(_standing),
        ),
        Column(unit, "speed", decimal, note=Note(lambda row: spread(row.speed_interval))),
        *((Column(quality, "quality", decimal),) if quality else ()),
        _factor("Parallel efficiency", lambda own: own.parallel_efficiency, ratio),
        _factor("Load balance", lambda own: own.load_balance, ratio),
        _factor("Communication efficiency", lambda own: own.communication_efficiency, ratio),
        _factor("CPUs busy", lambda own: own.cpus_busy, _two, note=_of),
        _factor("Runnable threads per CPU", lambda own: own.runnable_per_cpu, _two),
        _factor("Run-queue wait per s", lambda own: own.queue_share, _milliseconds),
        _factor("Threads per rank", lambda own: own.threads, count),
        _factor(
            "Peak memory per rank",
            lambda own: own.peak_bytes,
            bytes_,
            note=_memory,
            is_below=True,
        ),
    )


def _standing(row: ConfigurationResult) -> str:
    """How a configuration stands among the others."""
    if row.is_best:
        return "★ best"
    failed = "✕ " if row.status == "failed" else ""
    return f"{failed}{row.reason}" if row.reason else "≈ may be best" if row.is_near else ""


def _factor(
    title: str,
    get: Callable[[SpeedFactors], float | None],
    write: Callable[[float | None], str],
    *,
    note: Callable[[SpeedFactors], str] = lambda _: "",
    is_below: bool = False,
) -> Column:
    return Column(
        title,
        lambda row: get(row.factors) if row.factors else None,
        write,
        note=Note(lambda row: note(row.factors) if row.factors else "", is_below),
    )


def _two(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def _of(factors: SpeedFactors) -> str:
    return "" if factors.cpus is None or factors.cpus_busy is None else f"of {factors.cpus:g}"


def _milliseconds(share: float | None) -> str:
    return MISSING if share is None else f"{MS_PER_S * share:.0f} ms"


def _memory(factors: SpeedFactors) -> str:
    share = factors.memory_share
    return "" if share is None else f"{percent(share)} of the node"


SECTION = StudySection("why", "Why", "sweep_why.html", _context, place=20, kinds=("sweep",))
