"""Steps: how long each took on the fastest and the slowest rank, and how the loss went."""

from collections.abc import Mapping, Sequence

from perfscope.report.charts import Line, Plot, band, lines
from perfscope.report.formats import decimal, seconds, time_scale
from perfscope.report.labels import STEP_SOURCES
from perfscope.report.sections.section import Context, Section
from perfscope.schema.analysis import Analysis

MOST_SERIES = 6
MOST_POINTS = 400


def _context(result: Analysis) -> Context:
    steps, throughput = result.steps, result.run.throughput
    low, high = steps.min_seconds, steps.max_seconds
    median, p95 = throughput.step_s_median, throughput.step_s_p95
    is_drawable = len(steps.numbers) > 1
    longest = max(high, default=None)
    plot = Plot(
        "Step time of the fastest and the slowest rank over the steps",
        "step time",
        time_scale(longest or 0.0),
        x_title="step",
    )
    is_known = is_drawable or median.is_measured or steps.series
    reason = f"step times, because {median.reason or 'fewer than two steps were recorded'}"
    return {
        "absent": "" if is_known else reason,
        "source": STEP_SOURCES.get(steps.source or "", steps.source),
        "reason": reason,
        "median": median,
        "epoch": throughput.epoch_s_median,
        "solution": throughput.time_to_solution_s,
        "p95": p95,
        "takeaway": _takeaway(median.value, p95.value, longest),
        "chart": band(plot, steps.numbers, low, high) if is_drawable else "",
        "series": _series(steps.series),
    }


def _takeaway(median: float | None, p95: float | None, longest: float | None) -> str:
    if median is None or p95 is None:
        return ""
    most = "" if longest is None else f", longest {seconds(longest)}"
    return f"Step time: median {seconds(median)}, 95th percentile {seconds(p95)}{most}"


def _series(series: Mapping[str, Sequence[tuple[float, float]]]) -> list[Context]:
    """The values that the training program reported over time, such as its loss."""
    out: list[Context] = []
    for name, points in series.items():
        if len(points) < 2 or len(out) == MOST_SERIES:
            continue
        thin = points[:: -(-len(points) // MOST_POINTS)]
        plot = Plot(f"{name} over time", "", from_zero=False, height=170.0)
        line = Line(name, [x for x, _ in thin], [y for _, y in thin])
        out.append(
            {
                "name": name,
                "chart": lines(plot, [line]),
                "first": decimal(points[0][1]),
                "last": decimal(points[-1][1]),
            }
        )
    return out


SECTION = Section("steps", "Steps", "steps.html", _context, is_folded=True)
