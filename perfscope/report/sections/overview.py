"""The first screen: what ran, the verdict, the time, what to fix first, and whether to trust it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from perfscope.report.access import (
    Document,
    figure,
    integers,
    mapping,
    number,
    rows,
    text,
    texts,
    wholes,
)
from perfscope.report.formats import decimal, percent, ratio, seconds, whole_percent
from perfscope.report.labels import band, formula_words, status_word
from perfscope.report.sections.findings import combined, finding_view
from perfscope.report.sections.ledger import account_views
from perfscope.report.sections.quality import SERIOUS, trust
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.views import Shown
from perfscope.schema.efficiency import DEVICE_FACTORS, EFFICIENCIES
from perfscope.units import counted

LABELED_FROM = 0.09  # a narrower part of the bar has no room for its share
MOST_ARGUMENTS = 40
ACCOUNTS = (
    Column(
        "Account",
        lambda row: Shown(row["role"], row["label"]),
        kind=Kind.KEYED,
        longest=40,
        hint=lambda row: row["meaning"],
    ),
    Column("Time", "seconds", seconds),
    Column("Share", "share", percent),
)


def _context(document: Document) -> Context:
    verdict = mapping(document, "verdict")
    top, segments, checks = _top(document), _segments(document), rows(document, "quality")
    command = texts(document, "run", "command")
    return {
        "command": [shlex.quote(part) for part in command[:MOST_ARGUMENTS]],
        "arguments_left_out": max(len(command) - MOST_ARGUMENTS, 0),
        "facts": _facts(mapping(document, "run")),
        "verdict": text(verdict, "sentence") or "There is no verdict on this run.",
        "status": status_word(verdict.get("status")),
        "tiles": _tiles(document),
        "segments": segments,
        "accounts": Table(
            "overview-ledger",
            "Time of all ranks by account",
            ACCOUNTS,
            segments,
            has_caption=False,
        ),
        "top": top,
        "combined": combined(verdict),
        "gains": sum(bool(finding["gain"]) for finding in top),
        "trust": trust(checks),
        "doubts": [
            {
                "status": status_word(row.get("status")),
                "title": text(row, "title"),
                "detail": text(row, "detail"),
            }
            for row in checks
            if row.get("status") in SERIOUS
        ],
    }


def _facts(run: Mapping[str, Any]) -> list[str]:
    ranks = number(run.get("ranks"))
    hosts = len(rows(run, "hosts"))
    facts = []
    if ranks is not None:
        facts.append(counted(ranks, "rank"))
    if hosts:
        facts.append(counted(hosts, "host"))
    if launcher := text(run, "launcher"):
        facts.append(launcher)
    if (wall := number(run.get("wall_s"))) is not None:
        facts.append(f"ran for {seconds(wall)}")
    if (batch := number(run.get("batch_size"))) is not None:
        facts.append(f"batch size {int(batch):,}")
    if started := started_at(run):
        facts.append(f"started {started}")
    if (code := number(run.get("exit_code"))) is not None:
        facts.append(f"exit code {int(code)}")
    if missing := integers(run, "missing_ranks"):
        facts.append(f"{counted(len(missing), 'rank')} left no recording")
    return facts


def started_at(run: Mapping[str, Any]) -> str:
    """When the run started, in UTC; "" when that is not known."""
    start = number(run.get("start_unix_s"))
    if start is None:
        return ""
    try:
        return datetime.fromtimestamp(start, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return ""


def _tiles(document: Document) -> list[Context]:
    """The headline figures: throughput, step time, and the two efficiencies with their factors."""
    throughput = ("run", "throughput")
    p95 = figure(document, *throughput, "step_s_p95")
    speed = figure(document, *throughput, "samples_per_s")
    step = figure(document, *throughput, "step_s_median")
    steps = number(mapping(document, *throughput).get("steps"))
    return [
        {
            "label": "Throughput",
            "value": None if speed.value is None else decimal(speed.value),
            "unit": "samples/s",
            "band": None,
            "formula": "",
            "reason": speed.reason,
            "note": "",
            "meaning": "Training samples that all ranks finished, per second of the analyzed "
            "window.",
        },
        {
            "label": "Step time",
            "value": None if step.value is None else seconds(step.value),
            "unit": "median",
            "band": None,
            "formula": "",
            "reason": step.reason,
            "note": _step_note(steps, p95.value),
            "meaning": "A step is one iteration of the training loop.",
        },
        *_device_tile(document),
        _efficiency_tile(document, "parallel_efficiency"),
        _efficiency_tile(document, "training_efficiency"),
    ]


def _step_note(steps: float | None, p95: float | None) -> str:
    if p95 is None:
        return ""
    of = f"the {int(steps):,} steps" if steps else "the steps"
    return f"95 % of {of} took at most {seconds(p95)}."


def _efficiency_tile(document: Document, identity: str) -> Context:
    word = EFFICIENCIES[identity]
    own = figure(document, "metrics", identity)
    factors = [
        f"{EFFICIENCIES[child].label.lower()} {ratio(found.value)}"
        for child in word.children
        if (found := figure(document, "metrics", child)).is_measured
    ]
    return {
        "label": word.label,
        "value": None if own.value is None else ratio(own.value),
        "unit": band(own.value).word,
        "band": band(own.value),
        "reason": own.reason,
        "formula": " × ".join(factors) if len(factors) == len(word.children) else "",
        "variant": formula_words(own.formula),
        "note": "",
        "meaning": word.meaning,
    }


def _device_tile(document: Document) -> list[Context]:
    """The device tree, which leads where devices were measured."""
    tree = ("devices", "efficiency", text(document, "devices", "formula"))
    own = figure(document, *tree, "parallel_efficiency")
    if own.value is None:
        return []
    is_part = mapping(document, "devices").get("is_part") is True
    part = ", in the steps that a profiler watched" if is_part else ""
    factors = [
        f"{label.lower()} {ratio(figure(document, *tree, key).value)}"
        for key, label in DEVICE_FACTORS.items()
    ]
    return [
        {
            "label": "Device parallel efficiency",
            "value": ratio(own.value),
            "unit": band(own.value).word,
            "band": band(own.value),
            "reason": "",
            "formula": " × ".join(factors),
            "variant": formula_words(own.formula),
            "note": "",
            "meaning": f"Share of the devices’ time in kernels that compute{part}.",
        }
    ]


def _segments(document: Document) -> list[Context]:
    """The accounts as parts of one bar, positions in percent of its width."""
    start = 0.0
    out = []
    for account in account_views(document):
        width = account["share"] * 100
        if width > 0:
            out.append(
                account
                | {
                    "x": round(start, 3),
                    "width": round(width, 3),
                    "middle": round(start + width / 2, 2),
                    "label_text": whole_percent(account["share"]),
                    "is_labeled": account["share"] >= LABELED_FROM,
                }
            )
        start += width
    return out


def _top(document: Document) -> list[Context]:
    """The findings that the verdict names, most seconds first, with their anchors."""
    found: dict[str, Context] = {}
    for position, row in enumerate(rows(document, "findings")):
        found.setdefault(text(row, "id"), finding_view(row, position, wholes(document)))
    return [found[name] for name in texts(document, "verdict", "top") if name in found]


SECTION = Section("overview", "Overview", "overview.html", _context)
