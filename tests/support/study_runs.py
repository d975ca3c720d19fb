"""Runs of studies made from a few numbers, for tests with answers known in closed form."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perfscope.schema.enums import Account
from perfscope.schema.study import HistoryRunRow
from perfscope.studies.common.runs import StudyRun

Json = dict[str, Any]
NO_STEPS = "no steps were found"


def figure(value: float | None, unit: str = "ratio", reason: str = NO_STEPS) -> Json:
    """A metric object of analysis.json."""
    return {"value": value, "unit": unit} | ({"reason": reason} if value is None else {})


def made_phase(identity: str, seconds: Sequence[float], *, count: int = 1, **more: Any) -> Json:
    """A row of `phases`."""
    return {
        "id": identity,
        "label": identity.capitalize(),
        "kind": identity,
        "source": "marker",
        "count": count,
        "ranks": [rank for rank, value in enumerate(seconds) if value > 0],
        "seconds_by_rank": list(seconds),
        "communication_s_by_rank": [0.0] * len(seconds),
        "windows_s": [],
    } | more


def history_row(
    run: StudyRun, *, start_unix_s: float, day: str, report: str | None
) -> HistoryRunRow:
    """A row of `runs` in a history, of no known commit."""
    return HistoryRunRow(
        **(vars(run.row()) | {"report": report}), start_unix_s=start_unix_s, day=day, commit=None
    )


def made_run(
    label: str,
    *,
    focus_s: float,
    work_s: Sequence[float],
    ledger_s: Mapping[str, Sequence[float]] | None = None,
    phases: Sequence[Json] = (),
    samples_per_s: float | None = None,
    step_s: float | None = None,
    steps: int = 0,
    batch_size: int | None = None,
    hosts: int = 1,
    ideal_s: float | None = None,
    findings: Sequence[Json] = (),
    more: Mapping[str, Any] | None = None,
) -> StudyRun:
    """A run of len(work_s) ranks that lasted `focus_s` and worked `work_s` outside communication.

    Args:
        label: of the run.
        focus_s: length of the focus of analysis.
        work_s: W_i of each rank.
        ledger_s: seconds of each rank by account; by default the work and the rest as waiting.
        phases: from `made_phase`.
        samples_per_s: throughput of all ranks.
        step_s: median step.
        steps: their number.
        batch_size: of one rank.
        hosts: over which the ranks are spread evenly.
        ideal_s: the replayed run time without transfer.
        findings: rows of `findings`.
        more: replaces whole parts of the document.
    """
    ranks = len(work_s)
    longest = max(work_s, default=0.0)
    balance = sum(work_s) / (ranks * longest) if longest else None
    spread = longest / focus_s if focus_s else None
    parallel = balance * spread if balance and spread else None
    accounts = ledger_s or {
        "training": list(work_s),
        "communication_wait": [focus_s - work for work in work_s],
    }
    share = -(-ranks // hosts)
    document: Json = {
        "schema_version": "1",
        "tool": {"name": "perfscope", "version": "0"},
        "run": {
            "command": ["python", "train.py"],
            "ranks": ranks,
            "recorded_ranks": ranks,
            "missing_ranks": [],
            "incomplete_ranks": [],
            "wall_s": focus_s + 1.0,
            "focus_of_analysis_s": [0.5, 0.5 + focus_s],
            "hosts": [
                {
                    "name": f"node{n:02d}",
                    "ranks": list(range(n * share, min((n + 1) * share, ranks))),
                }
                for n in range(hosts)
            ],
            "batch_size": batch_size,
            "launcher": "mpirun",
            "exit_code": 0,
            "throughput": {
                "samples": None if samples_per_s is None else samples_per_s * focus_s,
                "samples_per_s": figure(samples_per_s, "samples/s"),
                "step_s_median": figure(step_s, "s"),
                "epoch_s_median": figure(None, "s"),
                "steps": steps,
            },
            "versions": {},
            "environment": {},
        },
        "ledger": [
            {
                "id": account.value,
                "label": account.value.capitalize(),
                "seconds": sum(accounts.get(account.value, ())),
                "ns_by_rank": [round(s * 1e9) for s in accounts.get(account.value, [0.0] * ranks)],
            }
            for account in Account
        ],
        "metrics": {
            "parallel_efficiency": figure(parallel),
            "load_balance": figure(balance),
            "communication_efficiency": figure(spread),
            "outside_communication_s_by_rank": list(work_s),
        },
        "phases": list(phases),
        "replay": {"ideal_runtime_s": ideal_s},
        "memory": {"ranks": []},
        "threads": {"ranks": []},
        "devices": {"devices": []},
        "hardware": None,
        "findings": list(findings),
    }
    return StudyRun(Path(label), label, document | dict(more or {}))
