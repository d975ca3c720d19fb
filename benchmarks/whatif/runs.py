"""Runs the examples under `perfscope run`, and asks `perfscope whatif` about them."""

import json
import re
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.jobs import ROOT, RunError, perfscope, prefix
from benchmarks.whatif.cases import Row, Variant

RANKS = 2
LONGEST_RUN_S = 120.0
SECONDS = re.compile(r"^result: .*\bseconds (\d+\.\d+)", re.MULTILINE)


@dataclass
class Measured:
    """One row: seconds of each run before and after the fix, and the predicted gains."""

    row: Row
    before_s: list[float] = field(default_factory=list)
    after_s: list[float] = field(default_factory=list)
    predicted_s: list[float] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Why nothing was predicted."""


def is_runnable(variant: Variant) -> bool:
    """Whether its environment is there."""
    return (prefix(variant.program.environment) / "bin" / "mpirun").exists()


@dataclass(frozen=True)
class Limits:
    """How often, how much longer than usual, and for how many seconds at most."""

    repeats: int
    scale: float
    budget_s: float


def measure(rows: Sequence[Row], limits: Limits, place: Path) -> list[Measured]:
    """Runs all variants in turn, so many times, and predicts each row from each of its runs.

    Args:
        rows: what is measured.
        limits: of the repeats; one that would end beyond the budget does not begin.
        place: an empty directory for recordings.
    """
    found = [Measured(row) for row in rows]
    variants = list(dict.fromkeys(v for row in rows for v in (row.before, row.after)))
    began = time.monotonic()
    for repeat in range(limits.repeats):
        spent = time.monotonic() - began
        if repeat and spent * (repeat + 1) / repeat > limits.budget_s:
            print(f"the budget is spent after {repeat} repeats", file=sys.stderr)
            break
        for variant in variants:
            print(f"{repeat + 1}/{limits.repeats} ", end="", file=sys.stderr)
            _measure_one(variant, found, limits.scale, place / "trace")
    return found


def _measure_one(variant: Variant, found: Sequence[Measured], scale: float, trace: Path) -> None:
    """Runs a variant once and adds what that tells about each row."""
    began = time.monotonic()
    seconds = record(variant, scale, trace)
    own = [item for item in found if item.row.before == variant]
    told = predict(trace, [item.row.edit for item in own]) if own else []
    for item, (gain_s, reason) in zip(own, told, strict=True):
        item.before_s.append(seconds)
        if gain_s is None:
            item.reasons.append(reason)
        else:
            item.predicted_s.append(gain_s)
    for item in found:
        if item.row.after == variant:
            item.after_s.append(seconds)
    shutil.rmtree(trace)
    whole = time.monotonic() - began
    print(f"{variant.id}: {seconds:.2f} s, {whole:.1f} s in all", file=sys.stderr)


def record(variant: Variant, scale: float, trace: Path) -> float:
    """Seconds of the training by the program's own clock, while it is recorded."""
    program = variant.program
    steps = max(1, round(variant.steps * scale))
    words = [word.format(steps=steps) for word in (*program.options, *variant.options)]
    place = prefix(program.environment) / "bin"
    job = [place / "mpirun", "-n", RANKS, place / "python", ROOT / "examples" / program.script]
    done = perfscope("run", "--output", trace, "--", *job, *words, longest_s=LONGEST_RUN_S)
    if (match := SECONDS.search(done)) is None:
        raise RunError(f"{variant.id} printed no result:\n{done[-2000:]}")
    return float(match[1])


def predict(trace: Path, edits: Sequence[str]) -> list[tuple[float | None, str]]:
    """The gain of each edit, or why there is none."""
    asked = [word for edit in edits for word in ("--edit", edit)]
    words = ("whatif", trace, "--json", *asked)
    told = json.loads(perfscope(*words, longest_s=LONGEST_RUN_S, may_fail=True))
    rows = told["predictions"][: len(edits)]
    return [(row["gain_s"], row["reason"] or "") for row in rows]
