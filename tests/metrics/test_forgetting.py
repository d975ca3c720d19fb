"""What is let go of on the way changes no result."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest

from benchmarks.engine.recording_trace import write_recording
from perfscope.document.analysis import analysis
from perfscope.document.build import build
from perfscope.findings.core.catalog import run_all
from perfscope.findings.facts.facts import Facts
from perfscope.matching.waits import Waits
from perfscope.metrics import forgetting
from perfscope.metrics.compute import compute
from perfscope.metrics.forgetting import forget_completions, forget_partners, hold_narrower
from perfscope.metrics.results import Options
from perfscope.readers.recording.reader import open_recording
from perfscope.readers.recording.recorded_calls import LONG_ROWS
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import Status
from perfscope.schema.write import document_text
from perfscope.trace.columns import Columns
from perfscope.trace.model import OPERATION_DTYPE, Table, Trace
from tests.findings.network.test_network_bound import messages
from tests.support.trace_builder import TraceBuilder


@pytest.mark.parametrize(("calls", "most"), [(6_000, None), (6_000, 0), (12_000, 0)])
def test_the_document_is_that_of_a_run_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int, most: int | None
) -> None:
    """Also where times are put away, of ranks that are kept by column and of others."""
    if most is not None:
        monkeypatch.setattr(forgetting, "MOST_AT_ONCE", most)
    write_recording(tmp_path / "run", 2, calls)
    results = compute(open_recording(tmp_path / "run"), Options(), is_shown=True)
    kept = Facts(results, SegmentReplay(results))
    assert kept.replay.available
    used_up = analysis(open_recording(tmp_path / "run"), Options())
    assert document_text(used_up) == document_text(build(kept, run_all(kept)))


def by_column(trace: Trace) -> Trace:
    """The same run with the calls of its ranks as those of a long recording are kept."""
    for rank in trace.ranks:
        columns = {name: rank.operations[name].copy() for name in OPERATION_DTYPE.names or ()}
        rank.operations = cast("Table", Columns(OPERATION_DTYPE, columns))
    return trace


def test_messages_of_a_long_run_are_judged_when_their_partners_are_forgotten() -> None:
    """Most of the transfer is messages, so that findings ask whom these went to."""
    long, short = (messages(message_s=0.04, small=4) for _ in range(2))
    told = analysis(by_column(long), Options())
    assert "peer" not in (long.ranks[0].operations[:1].dtype.names or ())
    assert document_text(told) == document_text(analysis(short, Options()))
    judged = {finding["id"]: finding["status"] for finding in told["findings"]}
    assert judged["network_bound"] == Status.FAIL.value


def test_completions_of_a_long_run_go_when_its_calls_are_matched(tmp_path: Path) -> None:
    write_recording(tmp_path / "run", 2, 2 * LONG_ROWS + 12_000)
    trace = open_recording(tmp_path / "run")
    assert all(len(rank.completions) for rank in trace.ranks)
    seen: list[int] = []

    def matched(digested: Trace, waits: Waits | None) -> None:
        if waits is not None:
            hold_narrower(digested, waits)
            return
        forget_completions(digested)
        seen.extend(len(rank.completions) for rank in digested.ranks)

    results = compute(trace, Options(), when_matched=matched)
    assert seen == [0, 0]
    pool = results.waits.pool
    for rank, place in zip(trace.ranks, map(results.waits.of_rank, range(2)), strict=True):
        for name in ("seq", "sent", "tag"):
            assert rank.operations[name].base is getattr(pool, name)[place].base
    assert results.waits.requests[1].min() >= 0


def test_amounts_that_need_their_room_keep_it() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number, rank in enumerate((builder.rank(0), builder.rank(1))):
        rank.init(0.5)
        for at in (1.0, 2.0):
            rank.op("MPI_Allreduce", at, at + 0.5, sent=(8, 1 << 40)[number], received=8)
        rank.finalize(9.0)
    results = compute(builder.build(), Options())
    pool = results.waits.pool
    before = pool.sent.copy(), pool.received.copy(), pool.rank.copy()
    for _ in range(2):
        hold_narrower(results.trace, results.waits)
        forget_partners(results)
        assert [one.dtype for one in (pool.sent, pool.received)] == [np.int64, np.int8]
        for was, now in zip(before, (pool.sent, pool.received, pool.rank), strict=True):
            np.testing.assert_array_equal(now, was)
        assert not len(pool.request)
