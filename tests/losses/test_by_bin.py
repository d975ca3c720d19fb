"""The causes of losses in the timelines: where they were, and as much as the loss account has."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perfscope.schema.check import problems
from perfscope.schema.enums import Account
from perfscope.schema.time import Timeline
from tests.findings.analyzed import analyze_trace
from tests.report.test_consistency import NAMES, SAMPLES, Shown, shown
from tests.support.trace_builder import TraceBuilder

Json = dict[str, Any]
NEAR_S, NEAR = 0.03, 0.05  # seconds, and a share: bins show what takes most of them

ADD = [("main", "/job/train.py", 12)]


def seconds_of(found: Json) -> Counter[str]:
    """By label, what the finest bins show, mean of the rows."""
    labels = {row["letter"]: row["label"] for row in found["accounts"]}
    finest = found["levels"][-1]
    out: Counter[str] = Counter()
    for row in finest["rows"]:
        for letter, bins in Counter(row.replace(".", "")).items():
            out[labels[letter]] += bins * finest["bin_s"] / len(finest["rows"])
    return out


def lost(document: Json) -> dict[str, float]:
    """The losses that have a part of the run of their own."""
    return {one["label"]: one["seconds"] for one in document["breakdown"] if one["id"] == "lost"}


def waits_for_cpus(late: bool) -> Json:
    """Two ranks that wait for a CPU for half of their work, or only in the second half."""
    builder = TraceBuilder(2, end_s=12.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        for step, begin in rank.steps(20, 0.5):
            rank.op("MPI_Allreduce", begin + 0.4, begin + 0.5, comm=0, seq=step)
        for tick in range(120):
            at = tick / 10
            delay = max(at - 6.0, 0.0) * 0.9 if late else 0.5 * at
            rank.process_sample(at, cpu_s=at - delay, queue_delay_s=delay, runnable=1)
            rank.main_sample(at, cpu_s=at - delay, queue_delay_s=delay)
            rank.stack(at, ADD)
    document: Json = analyze_trace(builder.build(), is_shown=True).document()
    assert list(problems(document["timeline"], Timeline)) == []
    return document


def queued(document: Json) -> tuple[set[str], list[str]]:
    """The letters of waiting for CPUs, and the finest rows."""
    found = document["timeline"]
    causes = {"cpu_wait", "other_processes"}
    letters = {row["letter"] for row in found["accounts"] if row.get("cause") in causes}
    return letters, found["levels"][-1]["rows"]


def test_waiting_for_a_cpu_has_its_share_of_the_bins() -> None:
    document = waits_for_cpus(late=False)
    expected = lost(document)
    assert expected
    found = seconds_of(document["timeline"])
    for label, seconds in expected.items():
        assert found[label] == pytest.approx(seconds, abs=NEAR_S, rel=NEAR)


def test_waiting_for_a_cpu_is_shown_when_it_was() -> None:
    letters, rows = queued(waits_for_cpus(late=True))
    assert letters
    for row in rows:
        half = len(row) // 2
        early, late = (
            sum(row[part].count(one) for one in letters)
            for part in (slice(0, half), slice(half, None))
        )
        assert late > 100
        assert early < 0.05 * late


def test_accounts_of_which_something_is_lost_are_told_apart_from_it() -> None:
    found = waits_for_cpus(late=False)["timeline"]
    rows = [row for row in found["accounts"] if row.get("cause")]
    accounts = {row["id"] for row in rows}
    assert accounts <= {one.value for one in Account}
    assert all(row["letter"] > "n" or row["letter"].isupper() for row in rows)
    for row in found["accounts"]:
        if row.get("cause") is None:
            is_told_apart = row["label"].endswith(": useful") or "Useful " in row["label"]
            assert is_told_apart == (row["id"] in accounts)


@pytest.mark.parametrize("path", SAMPLES, ids=NAMES)
def test_the_timeline_shows_what_the_loss_account_has(path: Path) -> None:
    trace: Shown = shown(path)
    document = trace.document
    found = seconds_of(document["timeline"])
    whole = sum(found.values())
    for label, seconds in lost(document).items():
        assert found[label] == pytest.approx(seconds, abs=NEAR_S * whole, rel=NEAR)
