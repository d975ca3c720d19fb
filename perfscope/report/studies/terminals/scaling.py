"""What `perfscope scaling` prints: times, speed-up and throughput, then the POP table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.report.labels import band, formula_words
from perfscope.report.studies.terminal import StudyTerminal, table
from perfscope.report.terminal import line
from perfscope.report.text import shortened
from perfscope.units import MISSING, format_ratio, format_seconds, format_share

if TYPE_CHECKING:
    from rich.console import Console

Json = dict[str, Any]


def print_scaling(document: Json, console: Console) -> None:
    """Prints the tables of a scaling study."""
    found = document["scaling"]
    line(console, f"{found['growth']['sentence']} Axis: {found['axis_many']}.", style="bold")
    console.print()
    table(console, _times(found))
    console.print()
    line(
        console,
        f"POP efficiencies (as {formula_words(found['pop']['formula'])} defines them)",
        style="bold",
    )
    table(console, _pop(found))
    line(console, "* worth a look (0.6 to 0.8), ! poor (below 0.6)", indent=2)
    for row in found["superlinear"]:
        line(console, row["sentence"])
    _print_law(found, console)
    for note in found["notes"]:
        line(console, f"Note: {note}")


def _head(found: Json, title: str) -> list[str]:
    words = (found["axis_one"], found["axis_many"])
    sizes = [point["size"] for point in found["points"]]
    return [title, *(f"{size} {words[0] if size == 1 else words[1]}" for size in sizes)]


def _times(found: Json) -> list[list[str]]:
    points = found["points"]
    rows = [_head(found, "")]
    if any(len(point["runs"]) > 1 for point in points):
        rows.append(["runs", *(str(len(point["runs"])) for point in points)])
    rows += [
        ["run time", *(format_seconds(point["time_s"]["median"]) for point in points)],
        ["speed-up", *(_decimal(point["speedup"]) for point in points)],
        ["efficiency", *(_marked(point["efficiency"]) for point in points)],
    ]
    if any(point["samples_per_s"] for point in points):
        rates = [(point["samples_per_s"] or {}).get("median") for point in points]
        rows.append(["samples/s", *(_decimal(rate) for rate in rates)])
        rows.append(["its speed-up", *(_decimal(point["throughput_speedup"]) for point in points)])
    for part in found["parts"][1:]:
        times = [(time or {}).get("median") for time in part["time_s"]]
        rows.append(
            [f"  {shortened(part['label'], 32)}", *(format_seconds(time) for time in times)]
        )
    return rows


def _pop(found: Json) -> list[list[str]]:
    rows = [_head(found, "")]
    for row in found["pop"]["rows"]:
        label = "  " * row["level"] + row["label"]
        rows.append([label, *(_marked(value["value"]) for value in row["values"])])
    return rows


def _print_law(found: Json, console: Console) -> None:
    law = found["parts"][0]["amdahl"]
    if law["value"] is None:
        line(console, f"Amdahl's law: not fitted, {law['reason']}.")
        return
    most = law["most_speedup"]
    bound = f"at most {most:.3g} times as fast" if most is not None else "no bound can be seen"
    if law.get("most_speedup_at_least") is not None:
        bound = f"a bound, if any, of at least {law['most_speedup_at_least']:.3g} times as fast"
    text = f"Amdahl's law: serial share {format_share(law['value'])}, {bound}"
    for forecast in law["forecasts"][:1]:
        interval = forecast["interval"]
        text += f"; extrapolated to {forecast['size']} {found['axis_many']}: "
        text += format_seconds(forecast["value"])
        if interval:
            text += (
                f" (95 % interval {format_seconds(interval[0])} to {format_seconds(interval[1])})"
            )
    line(console, f"{text}.")


def _decimal(value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _marked(value: float | None) -> str:
    """An efficiency with a mark, so that bands need no color."""
    mark = {"warn": "*", "fail": "!"}.get(band(value).style, " ")
    return f"{format_ratio(value)}{mark}"


TERMINAL = StudyTerminal("scaling", print_scaling)
