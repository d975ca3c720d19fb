"""What `perfscope scaling` prints: times, speed-up and throughput, then the POP table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.report.formats import decimal, percent, ratio, seconds
from perfscope.report.labels import band, formula_words
from perfscope.report.studies.terminal import StudyTerminal, print_table
from perfscope.report.table import Column, Kind, Table
from perfscope.report.terminal import line
from perfscope.report.text import shortened

if TYPE_CHECKING:
    from rich.console import Console

Json = dict[str, Any]
MOST_LOSSES = 8


def print_scaling(document: Json, console: Console) -> None:
    """Prints the tables of a scaling study."""
    found = document["scaling"]
    line(console, f"{found['growth']['sentence']} Axis: {found['axis_many']}.", style="bold")
    console.print()
    print_table(_times(found), console)
    console.print()
    line(
        console,
        f"POP efficiencies (as {formula_words(found['pop']['formula'])} defines them)",
        style="bold",
    )
    print_table(_pop(found), console)
    line(console, "* worth a look (0.6 to 0.8), ! poor (below 0.6)", indent=2)
    if found.get("losses"):
        console.print()
        line(console, "Training work, and what the time of a mean rank is lost to", style="bold")
        print_table(_losses(found).first(MOST_LOSSES), console)
        console.print()
    for row in found["superlinear"]:
        line(console, row["sentence"])
    _print_law(found, console)
    for note in found["notes"]:
        line(console, f"Note: {note}")


def _sizes(found: Json, caption: str, lines: list[list[Any]]) -> Table:
    """Lines of a name and a value for each size."""
    words = (found["axis_one"], found["axis_many"])
    sizes = [f"{p['size']} {words[0] if p['size'] == 1 else words[1]}" for p in found["points"]]
    columns = (Column("", 0, kind=Kind.TEXT), *(Column(size, n) for n, size in enumerate(sizes, 1)))
    return Table("sizes", caption, columns, lines, file="study.json")


def _times(found: Json) -> Table:
    points = found["points"]
    lines: list[list[Any]] = []
    if any(len(point["runs"]) > 1 for point in points):
        lines.append(["runs", *(str(len(point["runs"])) for point in points)])
    lines += [
        ["run time", *(seconds(point["time_s"]["median"]) for point in points)],
        ["speed-up", *(decimal(point["speedup"]) for point in points)],
        ["efficiency", *(_marked(point["efficiency"]) for point in points)],
    ]
    if any(point["samples_per_s"] for point in points):
        rates = [(point["samples_per_s"] or {}).get("median") for point in points]
        lines.append(["samples/s", *(decimal(rate) for rate in rates)])
        lines.append(["its speed-up", *(decimal(point["throughput_speedup"]) for point in points)])
    for part in found["parts"][1:]:
        times = [(time or {}).get("median") for time in part["time_s"]]
        lines.append([f"  {shortened(part['label'], 32)}", *(seconds(time) for time in times)])
    return _sizes(found, "Times by size", lines)


def _pop(found: Json) -> Table:
    lines = [
        ["  " * row["level"] + row["label"], *(_marked(value["value"]) for value in row["values"])]
        for row in found["pop"]["rows"]
    ]
    return _sizes(found, "POP efficiencies by size", lines)


def _losses(found: Json) -> Table:
    lines = [
        [
            shortened(row["label"], 40),
            *(
                f"{seconds(spent)}, {percent(share)}"
                for spent, share in zip(row["seconds"], row["shares"], strict=True)
            ),
        ]
        for row in found["losses"]
    ]
    return _sizes(found, "What the time is lost to", lines)


def _print_law(found: Json, console: Console) -> None:
    law = found["parts"][0]["amdahl"]
    if law["value"] is None:
        line(console, f"Amdahl's law: not fitted, {law['reason']}.")
        return
    most = law["most_speedup"]
    bound = f"at most {most:.3g} times as fast" if most is not None else "no bound can be seen"
    if law.get("most_speedup_at_least") is not None:
        bound = f"a bound, if any, of at least {law['most_speedup_at_least']:.3g} times as fast"
    text = f"Amdahl's law: serial share {percent(law['value'])}, {bound}"
    for forecast in law["forecasts"][:1]:
        interval = forecast["interval"]
        text += f"; extrapolated to {forecast['size']} {found['axis_many']}: "
        text += seconds(forecast["value"])
        if interval:
            text += f" (95 % interval {seconds(interval[0])} to {seconds(interval[1])})"
    line(console, f"{text}.")


def _marked(value: float | None) -> str:
    """An efficiency with a mark, so that bands need no color."""
    mark = {"warn": "*", "fail": "!"}.get(band(value).style, " ")
    return f"{ratio(value)}{mark}"


TERMINAL = StudyTerminal("scaling", print_scaling)
