"""Can it be trusted: every row says why."""

from dataclasses import replace

import pytest

from perfscope.document.quality import quality
from perfscope.schema.enums import EndKind
from perfscope.schema.findings import QualityRow
from perfscope.trace.model import Ending, Format, Trace
from tests.findings.analyzed import analyze_trace
from tests.findings.training_runs import Plan, training_run
from tests.support.trace_builder import TraceBuilder

IDS = [
    "run_length",
    "overhead",
    "dropped_records",
    "missing_ranks",
    "endings",
    "clocks",
    "unlabeled_time",
    "replay_error",
    "recording_notes",
]


def rows(trace: Trace) -> dict[str, QualityRow]:
    analyzed = analyze_trace(trace)
    return {row.id: row for row in quality(analyzed.results, analyzed.replay)}


def test_all_is_well() -> None:
    found = rows(training_run(Plan(evaluate_s=1.0)))
    assert list(found) == IDS
    assert {row.status.value for row in found.values()} == {"pass"}


def test_short_runs_are_named() -> None:
    assert rows(training_run(Plan(steps=5)))["run_length"].status.value == "warn"


def test_cost_is_estimated_from_what_was_recorded() -> None:
    def busy(builder: TraceBuilder) -> None:
        builder.rank(2).set(sampler_cpu_ns=2_000_000_000)

    row = rows(training_run(Plan(steps=100), change=busy))["overhead"]
    assert row.status.value == "fail"
    assert "rank 2" in row.detail
    assert "100 ns" in row.detail
    assert "the start of the recorder" in row.detail


def test_what_the_agent_takes_in_children_is_a_part_of_the_cost() -> None:
    """Each of 1,000 forked children takes 2 ms: as much as the samplers of the test above."""

    def forking(builder: TraceBuilder) -> None:
        told = {"processes": 1000, "cpu_ns": 2_000_000_000}
        builder.rank(2).set(metadata={"started": told})

    row = rows(training_run(Plan(steps=100), change=forking))["overhead"]
    assert row.status.value == "fail"
    assert "rank 2" in row.detail
    assert "2.00 s of CPU time at the start of 1,000 Python processes below it" in row.detail
    assert "2.00 ms each" in row.detail


def test_stacks_are_counted_by_what_looking_took_alone() -> None:
    def looked_at(builder: TraceBuilder) -> None:
        for rank in range(4):
            for at in range(100):
                builder.rank(rank).stack(at * 1e-2, [("work", "train.py", 1)])

    row = rows(training_run(Plan(steps=100), change=looked_at))["overhead"]
    assert row.detail == rows(training_run(Plan(steps=100)))["overhead"].detail


def test_what_another_tool_cost_is_not_known() -> None:
    trace = training_run(Plan(steps=100))
    trace.format = Format.OTF2
    assert rows(trace)["overhead"].status.value == "not_measured"


def test_what_a_framework_did_unseen_is_said_once_with_the_reason() -> None:
    told = {"fsdp": {"exposed_reason": "it gathers all through a step"}, "mpi4py": {"vendor": "x"}}

    def shard(builder: TraceBuilder) -> None:
        for rank in range(4):
            builder.rank(rank).set(metadata={"frameworks": told})

    row = rows(training_run(Plan(steps=50), change=shard))["unmeasured"]
    assert row.status.value == "not_measured"
    assert row.title == "Not measured: exposed communication of FSDP"
    assert row.detail.count("it gathers all through a step") == 1


@pytest.mark.parametrize("broken", [None, [], {"fsdp": None}, {"fsdp": {"exposed_reason": 3}}])
def test_odd_metadata_is_no_reason(broken: object) -> None:
    def spoil(builder: TraceBuilder) -> None:
        builder.rank(0).set(metadata={"frameworks": broken})

    assert "unmeasured" not in rows(training_run(Plan(steps=50), change=spoil))


def test_dropped_records() -> None:
    def drop(builder: TraceBuilder) -> None:
        builder.rank(1).set(dropped_records=1234, detail_end_ns=5_000_000_000)

    row = rows(training_run(Plan(steps=50), change=drop))["dropped_records"]
    assert row.status.value == "warn"
    assert "rank 1: 1,234" in row.detail


def test_phases_from_samples_alone_are_said_to_be_estimates() -> None:
    plan = Plan(ranks=2, steps=100, evaluate_s=2.0)
    assert "sampled_only" not in rows(training_run(plan))
    row = rows(training_run(replace(plan, markers=False)))["sampled_only"]
    assert row.status.value == "info"
    assert "stack samples" in row.detail
    assert "perfscope.phase" in row.detail


def test_missing_ranks_cannot_be_replayed() -> None:
    trace = training_run(Plan(steps=50))
    del trace.ranks[2]
    found = rows(trace)
    assert found["missing_ranks"].status.value == "fail"
    assert "Missing: 2." in found["missing_ranks"].detail
    assert found["replay_error"].status.value == "not_measured"
    assert "rank 2" in found["replay_error"].detail


def test_endings_name_the_ranks() -> None:
    def kill(builder: TraceBuilder) -> None:
        builder.rank(3).set(ending=Ending(EndKind.ABORTED, 7))

    row = rows(training_run(Plan(steps=50), change=kill))["endings"]
    assert row.status.value == "warn"
    assert "rank 3 called MPI_Abort with code 7" in row.detail


def test_clocks_of_two_hosts() -> None:
    trace = training_run(Plan(steps=50))
    trace.ranks[1].host = "node1"
    trace.ranks[1].clock_offset_ns = 2_000_000
    trace.ranks[1].clock_domain = 1
    trace.ranks[1].clock_error_ns = 1_000_000
    row = rows(trace)["clocks"]
    assert row.status.value == "warn"
    assert "1.00 ms" in row.detail


def test_clocks_that_leave_nothing_to_tell() -> None:
    def elsewhere(builder: TraceBuilder) -> None:
        builder.rank(1).set(host="node1", clock_domain=1, clock_error_ns=10**10)

    row = rows(training_run(Plan(steps=50), change=elsewhere))["clocks"]
    assert row.status.value == "warn"
    assert "not resolvable: the clocks may be wrong by 10.0 s" in row.detail


def test_factors_above_one_are_reported() -> None:
    analyzed = analyze_trace(training_run(Plan(evaluate_s=1.0)))
    tree = analyzed.results.efficiency
    high = replace(tree, transfer_efficiency=replace(tree.transfer_efficiency, value=1.02))
    found = quality(replace(analyzed.results, efficiency=high), analyzed.replay)
    row = next(row for row in found if row.id == "clocks")
    assert row.status.value == "warn"
    assert "Transfer efficiency is 1.0200" in row.detail


def test_unlabeled_time() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(19.0)
    row = rows(builder.build())["unlabeled_time"]
    assert row.status.value == "warn"
    assert "--stack-hz" in row.detail


def test_functions_alone_do_not_tell_training_from_the_rest() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0)
        for tick in range(100):
            rank.stack(1.1 + 0.17 * tick, (("solve", "/home/u/heat.py", 12),))
        rank.finalize(19.0)
    own = rows(builder.build())["unlabeled_time"]
    assert own.status.value == "info"  # no figure is wrong for that
    assert own.title == "Most time is unlabeled"
    assert own.detail.startswith(
        "90.0 % of the ranks' lifetimes is computation that no phase names"
    )
    assert "perfscope.phase" in own.detail
    assert rows(training_run(Plan(steps=50)))["unlabeled_time"].status.value == "pass"


def test_processes_that_never_met() -> None:
    """mpi4py under another MPI's mpirun: each process is rank 0 of 1 while four were started."""
    builder = TraceBuilder(1, end_s=20.0).set(launcher="mpirun (Open MPI)")
    builder.rank(0).init(1.0).finalize(19.0).set(
        metadata={"rank_environment": {"PMI_SIZE": "4"}}, mpi_library="/usr/lib/libmpich.so.12"
    )
    row = rows(builder.build())["separate_worlds"]
    assert row.status.value == "fail"
    assert row.title.startswith("4 processes")
    assert "libmpich.so.12" in row.detail
    assert "pip install" in row.detail


def test_notes_are_passed_on() -> None:
    trace = training_run(Plan(steps=50))
    trace.notes = ["First.", "Second."]
    row = rows(trace)["recording_notes"]
    assert (row.status.value, row.title, row.detail) == (
        "info",
        "2 notes on the recording",
        "First. Second.",
    )


def test_what_is_noted_of_many_ranks_is_said_once() -> None:
    trace = training_run(Plan(steps=50))
    trace.notes = ["First.", *(f"Rank {number}: cut off." for number in range(3000))]
    assert rows(trace)["recording_notes"].detail == ("First. Ranks 0, 1, 2 and 2997 more: cut off.")
    trace.notes = [f"Rank {number}: cut off after {number} bytes." for number in range(3000)]
    assert len(rows(trace)["recording_notes"].detail) < 1000


def test_an_exact_replay_is_said_to_be_exact() -> None:
    row = rows(training_run(Plan(steps=5)))["replay_error"]
    assert row.detail == ("Replaying the unchanged run takes exactly as long as was measured.")
