"""Runs the examples under `perfscope run`, and asks `perfscope whatif` about them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.whatif.cases import Row, Variant

ROOT = Path(__file__).resolve().parents[2]
RANKS = 2
LONGEST_RUN_S = 120.0
SECONDS = re.compile(r"^result: .*\bseconds (\d+\.\d+)", re.MULTILINE)


class RunError(Exception):
    """A run or a prediction failed; the message says which and shows its last words."""


@dataclass
class Measured:
    """One row: seconds of each run before and after the fix, and the predicted gains."""

    row: Row
    before_s: list[float] = field(default_factory=list)
    after_s: list[float] = field(default_factory=list)
    predicted_s: list[float] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Why nothing was predicted."""


def prefix(environment: str) -> Path:
    """Where the environment of a program is."""
    place = os.environ.get(f"PERFSCOPE_ENV_{environment.upper()}")
    return Path(place) if place else ROOT / ".envs" / environment


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
    done = _perfscope("run", "--output", trace, "--", *job, *words)
    if (match := SECONDS.search(done)) is None:
        raise RunError(f"{variant.id} printed no result:\n{done[-2000:]}")
    return float(match[1])


def predict(trace: Path, edits: Sequence[str]) -> list[tuple[float | None, str]]:
    """The gain of each edit, or why there is none."""
    asked = [word for edit in edits for word in ("--edit", edit)]
    told = json.loads(_perfscope("whatif", trace, "--json", *asked, may_fail=True))
    rows = told["predictions"][: len(edits)]
    return [(row["gain_s"], row["reason"] or "") for row in rows]


def _perfscope(*words: object, may_fail: bool = False) -> str:
    script = Path(sys.executable).with_name("perfscope")
    done = subprocess.run(
        [str(word) for word in (script, *words)],
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=LONGEST_RUN_S,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    if done.returncode and not (may_fail and done.stdout):
        raise RunError(f"perfscope {words[0]} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout
