"""Where the run went: the row of what the verdict is about."""

from dataclasses import replace

import pytest

from perfscope.document.breakdown import WORKING, breakdown, lost_in_accounts
from perfscope.document.headline import mean_spent_s
from perfscope.schema.enums import LossKind, PhaseKind
from perfscope.schema.losses import Losses
from perfscope.schema.read import read_analysis
from perfscope.schema.time import TimePart
from tests.findings.analyzed import Analyzed, analyze_trace
from tests.support.trace_builder import TraceBuilder


def told_of(
    analyzed: Analyzed,
    lost: Losses,
    first: str | None,
    *,
    is_lost: bool,
    work_s: float | None = None,
) -> tuple[TimePart, ...]:
    inside = lost_in_accounts(analyzed.results, lost)
    return breakdown(analyzed.results, lost, inside, first, is_lost=is_lost, work_s=work_s)


def told(own_ns: int) -> list[str]:
    """Labels of the rows for a finding of 6 s of input wait, and of so much waiting for CPUs."""
    builder = TraceBuilder(1, end_s=10.0)
    builder.rank(0).phase(PhaseKind.INPUT, 1.0, 7.0)
    analyzed = analyze_trace(builder.build())
    losses = read_analysis(analyzed.document()).losses
    (waits,) = [one for one in losses.entries if one.label == "Input wait"]
    of_input = replace(waits, findings=("data_stall",))
    of_cpus = replace(
        of_input, label="Waiting for a CPU", kind=LossKind.CPU_WAIT, ns=own_ns, own_ns=own_ns
    )
    lost: Losses = replace(losses, entries=(of_input, of_cpus))
    rows = told_of(analyzed, lost, "data_stall", is_lost=True)
    return [row.label for row in rows if row.id == "of_verdict"]


def test_a_finding_that_has_a_row_by_its_account_is_about_nothing_else() -> None:
    assert told(1_500_000_000) == []


def test_what_no_account_is_called_by_has_a_row() -> None:
    assert told(7_000_000_000) == ["Waiting for a CPU"]


def test_work_that_the_account_takes_for_needed_is_told_beside_the_rows() -> None:
    builder = TraceBuilder(1, end_s=10.0)
    builder.rank(0).phase(PhaseKind.FORWARD, 1.0, 9.0)
    analyzed = analyze_trace(builder.build())
    losses = read_analysis(analyzed.document()).losses
    rows = told_of(analyzed, losses, "slow_operands", is_lost=True, work_s=4.0)
    (work,) = [row for row in rows if row.id == "of_work"]
    assert work.seconds == 4.0
    assert work.share == pytest.approx(0.4)
    assert sum(row.share for row in rows if row is not work) == pytest.approx(1.0)


def test_losses_of_one_name_have_one_row_and_the_room_of_another_one_stays() -> None:
    """What is small by itself takes no row from what is not."""
    builder = TraceBuilder(1, end_s=10.0)
    builder.rank(0).phase(PhaseKind.FORWARD, 1.0, 9.0)
    analyzed = analyze_trace(builder.build())
    losses = read_analysis(analyzed.document()).losses
    of_cpus = replace(losses.entries[0], kind=LossKind.CPU_WAIT, findings=())
    spent_ms = {"Small": [9, 9], "A": [900], "B": [800], "C": [700, 600, 9], "D": [500]}
    entries = [
        replace(of_cpus, label=label, ns=one * 1_000_000, own_ns=one * 1_000_000)
        for label, some in spent_ms.items()
        for one in some
    ]
    lost: Losses = replace(losses, entries=tuple(entries))
    rows = told_of(analyzed, lost, None, is_lost=False)
    found = {row.label.split(": ")[1]: row for row in rows if row.id == "lost"}
    assert list(found) == ["c", "a", "b", "3 smaller categories"]
    assert found["c"].seconds == pytest.approx(1.309)
    assert found["3 smaller categories"].seconds == pytest.approx(0.518)


def test_where_nothing_is_left_nothing_is_held_up() -> None:
    """All of the work is known to be something else."""
    builder = TraceBuilder(1, end_s=10.0)
    builder.rank(0).phase(PhaseKind.FORWARD, 1.0, 9.0)
    analyzed = analyze_trace(builder.build())
    losses = read_analysis(analyzed.document()).losses
    spent = mean_spent_s(analyzed.results)
    first = replace(losses.entries[0], kind=LossKind.OTHER_WORK, findings=())
    entries = [
        replace(first, label=one.label, account=one, ns=own_ns, own_ns=own_ns)
        for one in WORKING
        if (own_ns := round(1e9 * spent[one]))
    ]
    held_up = replace(first, label="CPUs", kind=LossKind.CPU_WAIT, ns=2 * 10**9, own_ns=2 * 10**9)
    lost: Losses = replace(losses, entries=(*entries, held_up))
    rows = told_of(analyzed, lost, None, is_lost=False)
    assert entries
    assert not [row.label for row in rows if "CPUs" in row.label]
    assert sum(row.share for row in rows) == pytest.approx(1.0)
