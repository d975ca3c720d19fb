"""What `perfscope scaling` prints: times, speed-up and throughput, then the POP table."""

from collections.abc import Callable

from rich.console import Console

from perfscope.report.formats import decimal, percent, ratio, seconds, speedup
from perfscope.report.labels import band, formula_words
from perfscope.report.studies.sections.speedup import has_rates, has_steps, scaled
from perfscope.report.studies.terminal import StudyTerminal, print_table
from perfscope.report.table import Column, Kind, Table
from perfscope.report.terminal import line
from perfscope.report.text import shortened
from perfscope.schema.scaling import Amdahl, ScalingResult, Spread
from perfscope.schema.study import Study

MOST_LOSSES = 8


def _print(study: Study, console: Console) -> None:
    found = scaled(study)
    line(console, f"{found.growth.sentence} Axis: {found.axis_many}.", style="bold")
    console.print()
    print_table(_times(found), console)
    console.print()
    formula = formula_words(found.pop.formula)
    line(console, f"POP efficiencies (as {formula} defines them)", style="bold")
    print_table(_pop(found), console)
    line(console, "* worth a look (0.6 to 0.8), ! poor (below 0.6)", indent=2)
    if found.losses:
        console.print()
        line(
            console,
            "Useful computation, and what the time is lost to, mean of the ranks",
            style="bold",
        )
        print_table(_losses(found).first(MOST_LOSSES), console)
        console.print()
    for row in found.superlinear:
        line(console, row.sentence)
    _print_law(found, console)
    for note in found.notes:
        line(console, f"Note: {note}")


def _sizes(found: ScalingResult, caption: str, lines: list[list[str]]) -> Table:
    """Lines of a name and a value for each size."""
    sizes = [found.size_label(point.size) for point in found.points]
    columns = (Column("", 0, kind=Kind.TEXT), *(Column(size, n) for n, size in enumerate(sizes, 1)))
    return Table("sizes", caption, columns, lines, file="study.json")


def _times(found: ScalingResult) -> Table:
    points = found.points
    lines: list[list[str]] = []
    if any(len(point.runs) > 1 for point in points):
        lines.append(["runs", *(str(len(point.runs)) for point in points)])
    lines += [
        ["run time", *(_median(point.time_s, seconds) for point in points)],
        ["speed-up", *(speedup(point.speedup) for point in points)],
        ["efficiency", *(_marked(point.efficiency) for point in points)],
    ]
    if any(point.samples_per_s for point in points):
        lines.append(["samples/s", *(_median(point.samples_per_s, decimal) for point in points)])
    if has_rates(found):
        lines.append(["its speed-up", *(speedup(point.throughput_speedup) for point in points)])
    if has_steps(found):
        lines.append(["steps' speed-up", *(speedup(point.step_speedup) for point in points)])
    for part in found.parts[1:]:
        times = (_median(time, seconds) for time in part.time_s)
        lines.append([f"  {shortened(part.label, 32)}", *times])
    return _sizes(found, "Times by size", lines)


def _median(found: Spread | None, write: Callable[[float | None], str]) -> str:
    return write(found.median if found else None)


def _pop(found: ScalingResult) -> Table:
    lines = [
        ["  " * row.level + row.label, *(_marked(metric.value) for metric in row.values)]
        for row in found.pop.rows
    ]
    return _sizes(found, "POP efficiencies by size", lines)


def _losses(found: ScalingResult) -> Table:
    lines = [
        [
            shortened(row.label, 40),
            *(
                f"{seconds(spent)}, {percent(share)}"
                for spent, share in zip(row.seconds, row.shares, strict=True)
            ),
        ]
        for row in found.losses
    ]
    return _sizes(found, "What the time is lost to", lines)


def _print_law(found: ScalingResult, console: Console) -> None:
    law = found.parts[0].amdahl
    if not isinstance(law, Amdahl):
        line(console, f"Amdahl's law: not fitted, {law.reason}.")
        return
    most, at_least = law.most_speedup, law.most_speedup_at_least
    bound = f"at most {most:.3g} times as fast" if most is not None else "no bound can be seen"
    if at_least is not None:
        bound = f"a bound, if any, of at least {at_least:.3g} times as fast"
    text = f"Amdahl's law: serial share {percent(law.value)}, {bound}"
    for forecast in law.forecasts[:1]:
        text += f"; extrapolated to {forecast.size} {found.axis_many}: {seconds(forecast.value)}"
        if forecast.interval:
            low, high = map(seconds, forecast.interval)
            text += f" (95 % confidence interval {low} to {high})"
    line(console, f"{text}.")


def _marked(value: float | None) -> str:
    """An efficiency with a mark, so that bands need no color."""
    mark = {"warn": "*", "fail": "!"}.get(band(value).style, " ")
    return f"{ratio(value)}{mark}"


TERMINAL = StudyTerminal("scaling", _print)
