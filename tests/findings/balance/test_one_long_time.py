"""Work of one rank that takes long once among several times."""

from perfscope.schema.enums import PhaseKind
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder


def test_one_long_time_among_short_ones_is_told() -> None:
    """Five evaluations, of which the first takes 3 s and each of the others 20 ms."""
    builder, at = TraceBuilder(2, end_s=1e3), 1.0
    for step in range(100):
        own_s = (3.0 if step == 19 else 0.02) if step % 20 == 19 else 0.0
        end = at + 0.1 + own_s
        for number in range(2):
            rank = builder.rank(number).step(step, at, end)
            rank.phase(PhaseKind.TRAIN, at, at + 0.1, step=step)
            if not number and own_s:
                rank.phase(PhaseKind.EVALUATE, at + 0.1, end, step=step)
            rank.op("MPI_Allreduce", end if not number else at + 0.1, end + 0.001, sent=8)
        at = end + 0.001
    found = analyze_trace(builder.ended(at, init_s=1.0, after_s=0.1)).findings
    finding = found["rank_zero_evaluation"]
    assert "3.00 s the longest time and 20.0 ms the median one (3.08 s in total)" in finding.summary
    assert "each" not in finding.summary.split("total")[0]
