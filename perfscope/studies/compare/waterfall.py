"""Where the time went that one side takes more or less than another: the ledgers' difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from perfscope.studies.common.run import StudyRun
from perfscope.studies.compare.sides import Side

Json = dict[str, Any]
LEAST_SHARE = 0.005
REST = "rest"
ONCE = ("start_up", "shutdown")  # accounts of what happens once a run, whatever its steps


def waterfall(sides: Sequence[Side]) -> Json:
    """The change of every account from each side to the next, in seconds of a mean rank.

    Means over ranks and over repeats, because means add up: the parts of a step are exactly the
    difference of the totals. Where the sides did different numbers of steps all is per step, and
    start-up and shutdown, which happen once, are left out.

    Returns:
        `per_step`; `totals_s`, one a side; `speedups` of each over the first; `steps`, each with
        `from`, `to` (sides) and `parts`, largest change first: `id`, `label`, `from_s`, `to_s`,
        `delta_s` and `error_s`, two standard errors of it (None with one run on a side). What
        changed by less than `LEAST_SHARE` of the larger total is one part, `rest`. `reason` says
        why there is no waterfall, else "".
    """
    if any(not side.runs for side in sides):
        return {"reason": "a side has no run that counts", "per_step": False, "steps": []}
    if any(not sum(run.ledger_s.values()) for side in sides for run in side.runs):
        return {"reason": "a run has no time ledger", "per_step": False, "steps": []}
    counts = {run.steps for side in sides for run in side.runs}
    per_step = len(counts) > 1 and min(counts) > 0
    accounts = {
        name: label
        for side in sides
        for run in side.runs
        for name, label in run.ledger_labels.items()
        if not (per_step and name in ONCE)
    }
    values = [
        {name: [_seconds(run, name, per_step=per_step) for run in side.runs] for name in accounts}
        for side in sides
    ]
    totals = [float(sum(np.mean(v) for v in of.values())) for of in values]
    return {
        "reason": "",
        "per_step": per_step,
        "totals_s": totals,
        "speedups": [totals[0] / total if total else None for total in totals],
        "steps": [
            {"from": n, "to": n + 1, "parts": _parts(accounts, values[n], values[n + 1])}
            for n in range(len(sides) - 1)
        ],
    }


def _seconds(run: StudyRun, account: str, *, per_step: bool) -> float:
    """Seconds of a mean rank of the run."""
    ranks = max(run.recorded_ranks, 1)
    return run.ledger_s.get(account, 0.0) / ranks / (run.steps if per_step else 1)


def _parts(
    accounts: dict[str, str], before: dict[str, list[float]], after: dict[str, list[float]]
) -> list[Json]:
    """The changes of one step, with the small ones put together."""
    totals = [float(sum(np.mean(v) for v in of.values())) for of in (before, after)]
    least = LEAST_SHARE * max(totals)
    changes = {name: abs(float(np.mean(after[name]) - np.mean(before[name]))) for name in accounts}
    large = sorted((n for n in accounts if changes[n] >= least), key=lambda n: -changes[n])
    small = [n for n in accounts if changes[n] < least and (any(before[n]) or any(after[n]))]
    parts = [_part(name, accounts[name], before[name], after[name]) for name in large]
    if small:
        sums = [
            [sum(v) for v in zip(*(of[n] for n in small), strict=True)] for of in (before, after)
        ]
        parts.append(_part(REST, "All other accounts", *sums))
    return parts


def _part(name: str, label: str, before: Sequence[float], after: Sequence[float]) -> Json:
    return {
        "id": name,
        "label": label,
        "from_s": float(np.mean(before)),
        "to_s": float(np.mean(after)),
        "delta_s": float(np.mean(after) - np.mean(before)),
        "error_s": _two_errors(before, after),
    }


def _two_errors(before: Sequence[float], after: Sequence[float]) -> float | None:
    if min(len(before), len(after)) < 2:
        return None
    variance = sum(float(np.var(v, ddof=1)) / len(v) for v in (before, after))
    return 2 * math.sqrt(variance)
