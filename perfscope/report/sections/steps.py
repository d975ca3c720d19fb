"""Steps: how long each took on the fastest and the slowest rank, and how the loss went."""

from __future__ import annotations

from perfscope.report.access import Document, figure, mapping, number, numbers, text
from perfscope.report.charts import Line, Plot, band, lines
from perfscope.report.formats import decimal, seconds, time_scale
from perfscope.report.labels import STEP_SOURCES
from perfscope.report.sections.section import Context, Section

MOST_SERIES = 6
MOST_POINTS = 400


def _context(document: Document) -> Context:
    steps = mapping(document, "steps")
    ordinals = numbers(steps, "numbers")
    high, low = numbers(steps, "max_seconds"), numbers(steps, "min_seconds")
    median = figure(document, "run", "throughput", "step_s_median")
    p95 = figure(document, "run", "throughput", "step_s_p95")
    is_drawable = len(ordinals) > 1 and len(ordinals) == len(high) == len(low)
    plot = Plot(
        "Step time of the fastest and the slowest rank over the steps",
        "step time",
        time_scale(max(high, default=0.0)),
        x_title="step",
    )
    is_known = is_drawable or median.is_measured or steps.get("series")
    reason = f"step times, because {median.reason or 'fewer than two steps were recorded'}"
    return {
        "absent": "" if is_known else reason,
        "source": STEP_SOURCES.get(text(steps, "source"), text(steps, "source")),
        "reason": reason,
        "median": median,
        "epoch": figure(document, "run", "throughput", "epoch_s_median"),
        "solution": figure(document, "run", "throughput", "time_to_solution_s"),
        "p95": p95,
        "takeaway": _takeaway(median.value, p95.value, max(high, default=None)),
        "chart": band(plot, ordinals, low, high) if is_drawable else "",
        "series": _series(steps),
    }


def _takeaway(median: float | None, p95: float | None, longest: float | None) -> str:
    if median is None or p95 is None:
        return ""
    most = "" if longest is None else f", longest {seconds(longest)}"
    return f"Step time: median {seconds(median)}, 95th percentile {seconds(p95)}{most}"


def _series(steps: object) -> list[Context]:
    """The values that the training program reported over time, such as its loss."""
    out: list[Context] = []
    for name, points in mapping(steps, "series").items():
        pairs = (
            [
                (x, y)
                for point in points
                if isinstance(point, list) and len(point) == 2
                if (x := number(point[0])) is not None and (y := number(point[1])) is not None
            ]
            if isinstance(points, list)
            else []
        )
        if len(pairs) < 2 or len(out) == MOST_SERIES:
            continue
        thin = pairs[:: -(-len(pairs) // MOST_POINTS)]
        plot = Plot(f"{name} over time", "", from_zero=False, height=170.0)
        line = Line(name, [x for x, _ in thin], [y for _, y in thin])
        out.append(
            {
                "name": name,
                "chart": lines(plot, [line]),
                "first": decimal(pairs[0][1]),
                "last": decimal(pairs[-1][1]),
            }
        )
    return out


SECTION = Section("steps", "Steps", "steps.html", _context, is_folded=True)
