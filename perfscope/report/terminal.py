"""The summary that `perfscope analyze` prints: plain, narrow, and only what the document holds."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from perfscope.output import visible
from perfscope.report.formats import NBSP
from perfscope.report.labels import formula_words
from perfscope.report.sections import breakdown, nothing_found
from perfscope.report.sections.breakdown import useful_sentence
from perfscope.report.sections.causes import composition, phase_labels, waiting_sentence
from perfscope.report.sections.combined import together
from perfscope.report.sections.efficiency import metric_of, of_others
from perfscope.report.sections.findings import (
    fix_text,
    next_step,
    noted_text,
    planned_text,
    size_text,
    verdict_word,
    view_text,
    weight,
    wholes,
)
from perfscope.report.sections.losses import takeaway
from perfscope.report.sections.overview import (
    also_seen,
    how_sure,
    is_of_damage,
    launched,
    length,
    of_checks,
    on_hosts,
    on_ranks,
)
from perfscope.report.sections.sureness import doubt
from perfscope.report.sections.what_to_do import what_to_do
from perfscope.report.sections.where import RANKS, bridge_text, line_of, who
from perfscope.report.sections.whole_run import (
    efficiency_sentence,
    kept_sentence,
    steps_sentence,
)
from perfscope.report.text import bound
from perfscope.schema.common import TOLD_STEPS
from perfscope.schema.devices import Devices, SampledGpus
from perfscope.schema.efficiency import DEVICE_FACTORS
from perfscope.units import counted, format_ratio, format_seconds, format_share, inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from perfscope.report.labels import StatusWord
    from perfscope.savings import Wholes
    from perfscope.schema.analysis import Analysis
    from perfscope.schema.findings import FindingRow
    from perfscope.schema.other_tools import ToolReport
    from perfscope.schema.run import Run
    from perfscope.schema.time import Metrics
    from perfscope.schema.whole_run import WholeRun

STATUS_STYLES = {"fail": "bold red", "warn": "yellow", "pass": "green"}
PLAIN = str.maketrans(
    {
        "µ": "u",
        "–": "-",
        "→": "->",
        "’": "'",
        "“": '"',
        "”": '"',
        "\u00a0": " ",
        "…": "...",
        "×": "x",
    }
)
FEW_STEPS = 10  # inferred ones that may be something else that repeats
HOLD = "\ue000"
"""Stands for a space at which no line ends; what a text holds of it was spelled out before."""

LONGEST_TEXT = 600
LONGEST_VERDICT = 1000  # as on the page: a verdict is told in full
LABEL_WIDTH = 27
MOST_BAR_WIDTH = 28
LEAST_BESIDE = 24  # the share and the seconds beside a label
MOST_REPORTS, MOST_SAID = 4, 3


def print_summary(result: Analysis, console: Console) -> None:
    """Prints what ran, the verdict and what to do, whether to trust it, and where the time went."""
    _print_run(result, console)
    console.print()
    style = _style(verdict_word(result))
    line(console, f"Verdict: {result.verdict.sentence}", style=style, longest=LONGEST_VERDICT)
    _print_action(result, console)
    _print_top(result, console)
    # where nothing else is known of the run, this is what there is to know
    is_all = not result.verdict.top and result.metrics.parallel_efficiency.value is None
    _print_other_tools(result.other_tools if is_all else (), console)
    _print_unmade(result, console)
    console.print()
    sure = " ".join((*how_sure(result), of_checks(result)))
    line(console, f"Can I trust this? {sure}", longest=LONGEST_VERDICT)
    console.print()
    _print_devices(result, console)
    _print_whole_run(result.whole_run, console)
    _print_efficiency(result.metrics, console)
    if told := of_others(result):
        line(console, told)
    _print_causes(result, console)
    _print_other_tools(() if is_all else result.other_tools, console)
    _print_breakdown(result, console)


def _style(word: StatusWord) -> str:
    """The color of a status, whatever its size."""
    return STATUS_STYLES.get(word.style.split()[0], "")


def _print_unmade(result: Analysis, console: Console) -> None:
    """What stands in the way of most diagnoses that could not run.

    Nothing where findings stand: the report has the others.
    """
    why = Counter(row.summary for row in result.findings if row.status.is_unmade)
    if result.verdict.top or not why:
        return
    [(reason, count)] = why.most_common(1)
    if count == 1 < why.total():
        return
    often = "" if count == why.total() else ", mostly for this reason"
    line(console, f"Not checked{often}: {clean(reason)}", indent=3)


def clean(text: object) -> str:
    """Text of a traced program as one printable line, without escape sequences."""
    return visible(str(text), longest=LONGEST_TEXT)


def line(
    console: Console,
    text: object,
    *,
    style: str = "",
    indent: int = 0,
    longest: int = LONGEST_TEXT,
) -> None:
    """Prints one paragraph, wrapped, without markup or highlighting."""
    shown = visible(str(text), longest=longest)
    if not console.is_terminal or console.options.ascii_only:
        shown = shown.translate(PLAIN)
    if console.options.ascii_only:
        shown = shown.encode("ascii", "replace").decode()
    for row in _wrapped(shown, console, max(20, console.width - indent), style=style):
        row.pad_left(indent)
        console.print(row, highlight=False, no_wrap=True, overflow="ignore", crop=False)


def _wrapped(text: str, console: Console, width: int, *, style: str = "") -> Iterator[Text]:
    """The text in lines of a width, in which a number stays with its unit."""
    held = bound(text.replace(NBSP, " ")).replace(NBSP, HOLD)
    for row in Text(held, style=style).wrap(console, width):
        row.rstrip()
        row.plain = row.plain.replace(HOLD, " ")
        yield row


def _print_run(result: Analysis, console: Console) -> None:
    run = result.run
    line(console, shlex.join(clean(word) for word in run.command) or run.source, style="bold")
    ranks = on_ranks(run)
    parts = [
        f"{ranks} on {hosts}" if (hosts := on_hosts(run)) else ranks,
        length(run),
        launched(run) or "unknown launcher",
    ]
    if run.exit_code is not None:
        parts.append(f"exit code {run.exit_code}")
    if (rate := run.throughput.samples_per_s.value) is not None:
        parts.append(f"{rate:,.0f} samples/s{_of_which_steps(run)}")
    if (step := run.throughput.step_s_mean.value) is not None:  # as the rate beside it
        parts.append(f"step {format_seconds(step)} (mean)")
    elif (step := run.throughput.step_s_median.value) is not None:
        parts.append(f"step {format_seconds(step)} ({_of_steps(run)})")
    line(console, ", ".join(parts))


def _of_steps(run: Run) -> str:
    """What the time of a step is, and how it is known; few may be turns of an outer loop."""
    count = run.throughput.steps
    if run.throughput.step_source in TOLD_STEPS:
        return "median"
    if count >= FEW_STEPS:
        return "median, inferred from repeating calls"
    return f"median of {count}, inferred from repeating calls; an inner loop may be the steps"


def _of_which_steps(run: Run) -> str:
    """Which steps the rate is of, where some are left out; see `rate_of`."""
    is_told = run.throughput.step_source in TOLD_STEPS
    return " in training from the second step on" if is_told and run.throughput.steps > 1 else ""


def _print_devices(result: Analysis, console: Console) -> None:
    """The device tree, which leads where devices were measured, and the driver's samples."""
    devices = result.devices
    _print_gpus(devices.sampled, console)
    if devices.value is None:
        is_told = devices.reason == result.metrics.parallel_efficiency.reason
        if isinstance(devices, Devices) and not is_told:
            line(console, f"Device efficiency is not available: {devices.reason}")
        return
    tree = devices.efficiency.bsc
    factors = " x ".join(
        f"{label.removesuffix(' efficiency').lower()} {format_ratio(getattr(tree, name).value)}"
        for name, label in DEVICE_FACTORS.items()
    )
    part = ", in the steps that a profiler watched" if devices.is_part else ""
    source = f"as {formula_words(devices.formula)} defines it{part}"
    line(console, f"Device efficiency {format_ratio(devices.value)} = {factors} ({source})")
    line(console, "Efficiency of the hosts, which is no factor of it:")


def _print_gpus(sampled: SampledGpus, console: Console) -> None:
    """How busy and how full the GPUs of the ranks were, where the driver told it."""
    if sampled.value is None:
        return
    used = [gpu for gpu in sampled.gpus if gpu.ranks]
    shares = [
        gpu.memory_peak_bytes / gpu.memory_total_bytes
        for gpu in used
        if gpu.memory_peak_bytes and gpu.memory_total_bytes
    ]
    full = f", at most {format_share(max(shares))} of the memory in use" if shares else ""
    busy = format_share(sampled.value)
    line(console, f"{counted(len(used), 'GPU')}: a kernel ran {busy} of the time watched{full}")


def _print_whole_run(whole: WholeRun | None, console: Console) -> None:
    """What is known of all of a run of which only some parts are there in detail."""
    if whole is None:
        return
    line(console, kept_sentence(whole))
    for sentence in (steps_sentence(whole), efficiency_sentence(whole)):
        if sentence:
            line(console, sentence)
    line(console, "Of the kept parts:")


def _print_efficiency(metrics: Metrics, console: Console) -> None:
    whole, spread = metrics.parallel_efficiency, metrics.communication_efficiency
    if whole.value is None:
        line(console, f"Parallel efficiency is not available: {whole.reason}")
        return
    factors = _factors(metrics, "load_balance", "communication_efficiency")
    line(console, f"Parallel efficiency {format_ratio(whole.value)}{factors}")
    if metrics.transfer_efficiency.is_measured:
        factors = _factors(metrics, "serialization_efficiency", "transfer_efficiency")
        line(console, f"Communication efficiency {format_ratio(spread.value)}{factors}")
    if metrics.training_efficiency.is_measured:
        line(
            console,
            f"Training efficiency {format_ratio(metrics.training_efficiency.value)} = parallel "
            f"efficiency x productive share {format_ratio(metrics.productive_share.value)}",
        )


def _factors(metrics: Metrics, *names: str) -> str:
    """The product of some efficiencies in words and numbers, or why one of them has no value."""
    found = {name.replace("_", " "): metric_of(metrics, name) for name in names}
    for one in found.values():
        if not one.is_measured:
            return f": {one.reason}"
    return f" = {' x '.join(f'{name} {format_ratio(one.value)}' for name, one in found.items())}"


def _print_causes(result: Analysis, console: Console) -> None:
    """What the length of the run is made of, and what most of the waiting is due to."""
    path = result.replay.critical_path
    if path and any(row.phase for row in path.by_phase):
        parts = composition(path, phase_labels(result.phases))
        line(console, f"Critical path {format_seconds(path.seconds)}: {parts}")
    for told in (waiting_sentence(result), takeaway(result), useful_sentence(result)):
        if told:
            line(console, told)


def _print_other_tools(reports: Sequence[ToolReport], console: Console) -> None:
    """What files of other tools come to, by their own account."""
    for report in reports[:MOST_REPORTS]:
        for said in report.says[:MOST_SAID]:
            line(console, f"{report.tool}: {said}")


def _print_breakdown(result: Analysis, console: Console) -> None:
    """Where the run went, as the page has it: a bar for each part of it."""
    rows = breakdown.rows(result)
    if not rows:
        return
    console.print()
    line(console, "Where the time went", style="bold")
    longest = max(len(row.label) for row in rows) + 3
    beside_bar = max(LABEL_WIDTH, console.width - LEAST_BESIDE - MOST_BAR_WIDTH)
    width = min(max(LABEL_WIDTH, longest), beside_bar, console.width - LEAST_BESIDE)
    room = min(MOST_BAR_WIDTH, console.width - width - LEAST_BESIDE)
    for row in rows:
        is_drawn = room > 4 and row.label != breakdown.TOTAL
        bar = "#" * max(1, round(room * row.share)) if is_drawn else ""
        numbers = f"{format_share(row.share):>8}  {format_seconds(row.seconds):>10}"
        behind = f"{bar.ljust(max(room, 0))}{numbers}"
        # a label may take several lines; the width was planned, so that its numbers are not wrapped
        for label in _wrapped(clean(row.label), console, width - 2):
            text = Text(f"  {label.plain.ljust(width)}{behind}".rstrip().translate(PLAIN))
            console.print(text, highlight=False, no_wrap=True, overflow="crop")
            behind = ""
    beside = breakdown.saved_in_rows, breakdown.of_verdict, breakdown.of_others
    for told in filter(None, (one(result) for one in beside)):
        line(console, f"{told}.", longest=LONGEST_VERDICT)
    line(console, breakdown.explained(result), longest=LONGEST_VERDICT)


def _print_action(result: Analysis, console: Console) -> None:
    """What to do first where no finding says it, and what was seen that is no problem."""
    of, seen = wholes(result), also_seen(result)
    told = "; ".join(f"{clean(row.title)}{noted_text(row, of)}" for row, _ in seen)
    if not result.verdict.top or is_of_damage(result):
        _print_steps([*nothing_found.rows(result), *([("Noted", told)] if seen else [])], console)


def _print_top(result: Analysis, console: Console) -> None:
    findings = {finding.id: finding for finding in result.findings}
    named = [findings[name] for name in result.verdict.top if name in findings]
    of = wholes(result)
    blocks = [one for one in named if not one.seen_with]
    for number, finding in enumerate(blocks, start=1):
        is_told = number == 1 and finding.title in result.verdict.sentence
        is_told = is_told and not is_of_damage(result)
        if not is_told:
            console.print()
        _print_finding(result, finding, number, console, is_told=is_told)
        for other in named:
            if other.seen_with == finding.id:
                _print_view(other, finding, of, console)
    if told := together(result.verdict, result.findings):
        console.print()
        line(console, " ".join(f"{one}." for one in told))


def _print_steps(told: Sequence[tuple[str, str]], console: Console) -> None:
    """What to do, in full: a command that is cut short is none."""
    for name, step in told:
        whole = visible(step, longest=LONGEST_VERDICT)
        line(console, f"{name}: {whole}", indent=3, longest=LONGEST_VERDICT)


def _print_view(finding: FindingRow, leader: FindingRow, of: Wholes, console: Console) -> None:
    """A finding that is another view of the one just printed, in its block."""
    step = f" {clean(told)}" if (told := next_step(finding, leader)) else ""
    line(console, f"Also: {clean(finding.title)}{view_text(finding, of, leader)}.{step}", indent=3)


def _print_finding(
    result: Analysis,
    finding: FindingRow,
    number: int,
    console: Console,
    *,
    is_told: bool,
) -> None:
    """What to do and where; of one that the verdict does not tell of, also what is wrong."""
    of, why = wholes(result), f" ({doubt(finding)})" if doubt(finding) else ""
    told, word = fix_text(finding, of), weight(finding, of)
    size, style = size_text(finding, of), _style(word)
    severity = f"{word.word}{why or (f' ({size})' if size and is_told else '')}"
    if is_told:
        line(console, f"Severity: {inside(severity)}", style=style, indent=3)
    else:
        line(console, f"{number}. {severity}: {clean(finding.title)}", style=style)
    if told and not is_told:
        bridge = f". {clean(bridge_text(finding))}" if bridge_text(finding) else ""
        line(console, f"The fix would save {told}{bridge}", indent=3)
    if not told:
        unknown = "" if why else "Saving not estimated. "
        line(console, f"{unknown}{clean(finding.summary)}", indent=3)
    at = line_of(finding)
    for label, text in ((RANKS, who(result, finding)), (at.label, at.text)):
        if text:
            line(console, f"{label}: {clean(text)}", indent=3)
    _print_steps(what_to_do(result, finding, is_folded=False), console)
    if planned := planned_text(finding.planned):
        line(console, f"Planned: {planned}", indent=3)
    if is_told and result.verdict.hot_spots:
        _print_steps([("Hot spots", result.verdict.hot_spots)], console)
