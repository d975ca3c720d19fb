"""The summary that `perfscope analyze` prints: plain, narrow, and only what the document holds."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rich.text import Text

from perfscope.output import beginning, visible
from perfscope.report.access import wholes
from perfscope.report.labels import formula_words, phase_words, status_word
from perfscope.report.sections.causes import phase_labels, waiting_sentence
from perfscope.report.sections.findings import combined, planned_text, saving_text
from perfscope.report.sections.losses import takeaway
from perfscope.report.sections.quality import trust_and_doubts
from perfscope.units import format_ratio, format_seconds, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from perfscope.savings import Wholes

Json = dict[str, Any]
STATUS_STYLES = {"fail": "bold red", "warn": "yellow", "pass": "green"}
PLAIN = str.maketrans(
    {"µ": "u", "–": "-", "→": "->", "’": "'", "\u00a0": " ", "…": "...", "×": "x"}
)
LONGEST_TEXT = 400
LONGEST_VERDICT = 1000  # as on the page: a verdict is told in full
LABEL_WIDTH = 27
MOST_BAR_WIDTH = 28
LEAST_BESIDE = 24  # the share and the seconds beside a label
MOST_PARTS = 3  # phases of the critical path that are named
LEAST_PART = 0.001


def print_summary(document: Json, console: Console) -> None:
    """Prints what ran, the verdict and what to do, whether to trust it, and where the time went."""
    _print_run(document["run"], console)
    _print_verdict(document["verdict"], console)
    _print_top(document, console)
    _print_quality(document["quality"], console)
    console.print()
    _print_devices(document["devices"], console)
    _print_efficiency(document["metrics"], console)
    _print_causes(document, console)
    _print_ledger(document["ledger"], console)


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
    for row in Text(shown, style=style).wrap(console, max(20, console.width - indent)):
        row.rstrip()
        row.pad_left(indent)
        console.print(row, highlight=False, no_wrap=True, overflow="ignore", crop=False)


def _print_run(run: Json, console: Console) -> None:
    line(console, shlex.join(clean(word) for word in run["command"]) or run["source"], style="bold")
    ranks, hosts = run["ranks"], len(run["hosts"])
    parts = [
        f"{_count(ranks, 'rank')} on {_count(hosts, 'host')}",
        format_seconds(run["wall_s"]),
        run["launcher"] or "unknown launcher",
    ]
    if run["exit_code"] is not None:
        parts.append(f"exit code {run['exit_code']}")
    throughput = run["throughput"]
    if (rate := throughput["samples_per_s"]["value"]) is not None:
        parts.append(f"{rate:,.0f} samples/s")
    if (step := throughput["step_s_median"]["value"]) is not None:
        parts.append(f"step {format_seconds(step)} (median)")
    line(console, ", ".join(parts))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _print_devices(devices: Json, console: Console) -> None:
    """The device tree, which leads where devices were measured, and the driver's samples."""
    _print_gpus(devices.get("sampled") or {}, console)
    if devices["value"] is None:
        return
    tree = devices["efficiency"][devices["formula"]]
    factors = [
        f"{label} {format_ratio(tree[key]['value'])}"
        for key, label in (
            ("load_balance", "load balance"),
            ("communication_efficiency", "communication"),
            ("orchestration_efficiency", "orchestration"),
        )
    ]
    whole = format_ratio(devices["value"])
    part = ", in the steps that a profiler watched" if devices.get("is_part") else ""
    factors_text = " x ".join(factors)
    source = f"as {formula_words(devices['formula'])} defines it{part}"
    line(console, f"Device efficiency {whole} = {factors_text} ({source})")
    line(console, "Of the hosts, which stands beside it and is not multiplied with it:")


def _print_gpus(sampled: Json, console: Console) -> None:
    """How busy and how full the GPUs of the ranks were, where the driver told it."""
    used = [gpu for gpu in sampled.get("gpus", ()) if gpu["ranks"]]
    if sampled.get("value") is None:
        return
    shares = [
        gpu["memory_peak_bytes"] / gpu["memory_total_bytes"]
        for gpu in used
        if gpu["memory_peak_bytes"] and gpu["memory_total_bytes"]
    ]
    full = f", at most {format_share(max(shares))} of the memory in use" if shares else ""
    busy = format_share(sampled["value"])
    line(console, f"{_count(len(used), 'GPU')}: a kernel ran {busy} of the time{full}")


def _print_efficiency(metrics: Json, console: Console) -> None:
    whole = metrics["parallel_efficiency"]
    if whole["value"] is None:
        line(console, f"Parallel efficiency: not available, {whole.get('reason', 'unknown')}")
        return
    factors = _factors(metrics, "load_balance", "communication_efficiency")
    line(console, f"Parallel efficiency {format_ratio(whole['value'])}{factors}")
    if metrics["transfer_efficiency"]["value"] is not None:
        spread = format_ratio(metrics["communication_efficiency"]["value"])
        factors = _factors(metrics, "serialization_efficiency", "transfer_efficiency")
        line(console, f"Communication efficiency {spread}{factors}")
    training = metrics["training_efficiency"]
    if training["value"] is not None:
        productive = format_ratio(metrics["productive_share"]["value"])
        line(
            console,
            f"Training efficiency {format_ratio(training['value'])} = parallel efficiency x "
            f"productive share {productive}",
        )


def _factors(metrics: Json, *names: str) -> str:
    """The product of some efficiencies in words and numbers, or why one of them has no value."""
    for name in names:
        if metrics[name]["value"] is None:
            return f": {metrics[name].get('reason', 'unknown')}"
    shown = [f"{name.replace('_', ' ')} {format_ratio(metrics[name]['value'])}" for name in names]
    return f" = {' x '.join(shown)}"


def _print_causes(document: Json, console: Console) -> None:
    """What the length of the run is made of, and what most of the waiting is due to."""
    if path := document["replay"]["critical_path"]:
        parts = _composition(path, phase_labels(document))
        line(console, f"Critical path {format_seconds(path['seconds'])}: {parts}")
    if told := waiting_sentence(document):
        line(console, told)
    if lost := takeaway(document):
        line(console, lost)


def _composition(path: Json, labels: Mapping[str, str]) -> str:
    """The shares of the phases with most work on the path, of the other ones, and of transfer."""
    phases = path["by_phase"][:MOST_PARTS]
    parts = [(phase_words(row["phase"], labels), row["seconds"]) for row in phases]
    parts.append(("other work", path["work_s"] - sum(seconds for _, seconds in parts)))
    parts.append(("transfer", path["transfer_s"]))
    whole = path["seconds"] or 1.0
    told = [(name, seconds / whole) for name, seconds in parts]
    return ", ".join(f"{clean(n)} {format_share(s)}" for n, s in told if s >= LEAST_PART)


def _print_ledger(ledger: list[Json], console: Console) -> None:
    rows = [row for row in ledger if row["seconds"] > 0]
    if not rows:
        return
    console.print()
    line(console, "Time of all ranks", style="bold")
    width = min(LABEL_WIDTH, console.width - LEAST_BESIDE)
    room = min(MOST_BAR_WIDTH, console.width - width - LEAST_BESIDE)
    for row in rows:
        label = clean(row["label"])
        label = label if len(label) < width else f"{beginning(label, width - 4)}..."
        label = label.ljust(width)
        bar = "#" * max(1, round(room * row["share"])) if room > 4 else ""
        numbers = f"{format_share(row['share']):>8}  {format_seconds(row['seconds']):>10}"
        # one printed row is one line: the width was planned, so it is not wrapped
        text = Text(f"  {label}{bar.ljust(max(room, 0))}{numbers}".translate(PLAIN))
        console.print(text, highlight=False, no_wrap=True, overflow="crop")


def _print_quality(rows: list[Json], console: Console) -> None:
    console.print()
    line(console, f"Can I trust this? {trust_and_doubts(rows)}.")


def _print_verdict(verdict: Json, console: Console) -> None:
    console.print()
    style = STATUS_STYLES.get(verdict["status"], "")
    line(console, f"Verdict: {verdict['sentence']}", style=style, longest=LONGEST_VERDICT)


def _print_top(document: Json, console: Console) -> None:
    top = document["verdict"]["top"]
    findings = {finding["id"]: finding for finding in document["findings"]}
    for number, name in enumerate((name for name in top if name in findings), start=1):
        finding = findings[name]
        console.print()
        style = STATUS_STYLES.get(finding["status"], "")
        line(
            console,
            f"{number}. {status_word(finding['status']).word}: {clean(finding['title'])}",
            style=style,
        )
        line(console, _gain(finding, wholes(document)), indent=3)
        if finding["actions"]:
            line(console, f"First: {clean(finding['actions'][0])}", indent=3)
    if together := combined(document["verdict"]):
        console.print()
        line(console, f"{together}.")


def _gain(finding: Json, of: Wholes) -> str:
    told = saving_text(finding, of)
    if not told:
        return "Saving not estimated. " + clean(finding["summary"])
    basis = "upper bound" if finding["first_action"]["gain_basis"] == "upper_bound" else "replay"
    return f"Estimated saving: {told} ({basis}){_planned(finding['planned'])}"


def _planned(planned: Json | None) -> str:
    """The saving over the planned run; "" where nobody asked."""
    return f"; {told}" if (told := planned_text(planned or {})) else ""
