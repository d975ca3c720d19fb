"""Where the run went: the row of what the verdict is about."""

from dataclasses import replace

from perfscope.document.breakdown import breakdown
from perfscope.schema.enums import LossKind, PhaseKind
from perfscope.schema.losses import Losses
from perfscope.schema.read import read_analysis
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder


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
    rows = breakdown(analyzed.results, lost, "data_stall", is_lost=True)
    return [row.label for row in rows if row.id == "of_verdict"]


def test_a_finding_that_has_a_row_by_its_account_is_about_nothing_else() -> None:
    assert told(1_500_000_000) == []


def test_what_no_account_is_called_by_has_a_row() -> None:
    assert told(7_000_000_000) == ["Waiting for a CPU"]
