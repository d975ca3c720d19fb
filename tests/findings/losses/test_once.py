"""One lost second is told once, and by what rules other causes out."""

from dataclasses import replace

import pytest

from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.core.gain import as_bound, predicted_gain
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.once import told_by_settings, told_once, with_remedy
from perfscope.metrics.compute import compute
from perfscope.replay.model import Edit
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import Basis, LossKind, NoInterval, PhaseKind, Status
from perfscope.schema.read import read_analysis
from perfscope.trace.model import Frame, Trace
from tests.findings.analyzed import analyze_trace, faults
from tests.support.trace_builder import FrameLike, TraceBuilder

STEPS = 80
WORK_S = 0.1
LATE_S = 0.04
MAIN = ("main", "/job/train.py", 40)
FETCHING = ("fetch", "/job/train.py", 12)


def found(doing: FrameLike, *, once_s: float = 0.0) -> dict[str, Finding]:
    return analyze_trace(late(doing, once_s=once_s)).findings


def late(doing: FrameLike, *, once_s: float = 0.0, on_all: bool = False) -> Trace:
    """Two ranks with equal work; rank 1 does something before it in each step, and rank 0 waits.

    Or once: before the work of the step in the middle, and for so long. Or both do it.
    """
    builder = TraceBuilder(2, end_s=3.0 + (WORK_S + LATE_S) * STEPS + once_s)
    ranks = [builder.rank(number).init(1.0) for number in (0, 1)]
    begin = 1.0
    for step in range(STEPS):
        is_late = not once_s or step == STEPS // 2
        most_s = (once_s or LATE_S) * is_late
        end = begin + WORK_S + most_s
        for number, rank in enumerate(ranks):
            late_s = most_s * (number or on_all)
            for part in range(round(100 * late_s)):
                rank.stack(begin + 0.01 * part + 0.005, [MAIN, FETCHING, doing])
            for part in range(10):
                rank.stack(begin + late_s + 0.01 * part + 0.005, [MAIN, ("numpy.dot", BUILT_IN, 0)])
            rank.op("MPI_Allreduce", begin + late_s + WORK_S, end, seq=step)
            rank.step(step, begin, end)
            rank.process_sample(end, cpu_s=end, runnable=1)
        begin = end
    for rank in ranks:
        rank.finalize(begin)
    return builder.build()


def test_a_rank_that_sleeps_is_told_by_its_sleep_alone() -> None:
    """Nothing can be dealt out, and all of the time comes back: 40 ms in each of 80 steps."""
    findings = found(("time.sleep", BUILT_IN, 0))
    assert faults(findings) == {"lost_to_sleep"}
    sleep = findings["lost_to_sleep"]
    assert sleep.ranks == (1,)
    assert [one.line for one in sleep.where] == [FETCHING[2]]
    assert abs((sleep.gain_s or 0.0) - LATE_S * STEPS) <= 0.05 * LATE_S * STEPS
    quiet = [one for one in findings.values() if "a finding of its own: Sleeping" in one.summary]
    assert [(one.status, one.gain) for one in quiet] == [(Status.INFO, None)]


def test_a_sleep_stays_told_where_its_rank_is_late_by_something_else_now_and_then() -> None:
    """The phase of the sleep, evened out, gives all of it back: most of that is the sleep's."""
    builder = TraceBuilder(2, end_s=30.0)
    ranks = [builder.rank(number).init(1.0) for number in (0, 1)]
    begin = 1.0
    for step in range(STEPS):
        late_s, longer_s = LATE_S, 0.2 * (step in range(5, 9))
        end = begin + late_s + WORK_S + longer_s
        for number, rank in enumerate(ranks):
            done = end if number else begin + WORK_S
            rank.phase(PhaseKind.FORWARD, begin, done)
            for part in range(round(100 * late_s) * number):
                sleeping = [MAIN, ("time.sleep", BUILT_IN, 0)]
                rank.stack(begin + 0.01 * part + 0.005, sleeping)
            for part in range(round(100 * (done - begin - late_s * number))):
                at = begin + late_s * number + 0.01 * part + 0.005
                rank.stack(at, [MAIN, ("numpy.dot", BUILT_IN, 0)])
            rank.op("MPI_Allreduce", done, end + 0.001, seq=step)
            rank.step(step, begin, end + 0.001)
        begin = end + 0.001
    for rank in ranks:
        rank.finalize(begin)
    analyzed = analyze_trace(builder.build())
    assert "lost_to_sleep" in faults(analyzed.findings)
    (rest,) = (
        one
        for one in read_analysis(analyzed.document()).losses.entries
        if one.kind is LossKind.WAITING
    )
    assert rest.ns == pytest.approx(0.8e9, rel=0.01)
    assert rest.saving.seconds == pytest.approx(0.8, rel=0.01)
    assert rest.saving.basis is Basis.UPPER_BOUND


def test_a_rank_that_works_is_told_as_one_that_works_longer() -> None:
    findings = found(("numpy.linalg.svd", BUILT_IN, 0))
    assert "lost_to_sleep" not in findings
    assert faults(findings) & {"load_imbalance", "straggler", "rank_zero_evaluation"}


def test_work_that_can_go_as_a_whole_is_told_rather_than_its_uneven_part() -> None:
    """Dealt out, half of the 40 ms would stay: without it all of them come back."""
    findings = found(("parse", "/job/train.py", 9))
    assert faults(findings) == {"lost_to_interpreter"}
    whole = findings["lost_to_interpreter"]
    assert whole.ranks == (1,)
    assert whole.gain_s == pytest.approx(LATE_S * STEPS, rel=0.05)


NEEDED = {
    "data_preparation": "PIL._imaging.decode",
    "text": "str.split",
    "compression": "zlib.compress",
    "unpacking": "zlib.decompress",
    "hashing": "zlib.crc32",
}


@pytest.mark.parametrize(("name", "doing"), NEEDED.items())
def test_what_has_to_be_done_all_the_same_hides_no_rank_that_does_more_of_it(
    name: str, doing: str
) -> None:
    """What doing it elsewhere or for less saves nobody knows, but what dealing it out saves."""
    findings = found((doing, BUILT_IN, 0))
    assert faults(findings) & {"load_imbalance", "straggler", "rank_zero_evaluation"}
    assert f"lost_to_{name}" not in findings


@pytest.mark.parametrize(("name", "doing"), NEEDED.items())
def test_of_what_has_to_be_done_all_the_same_what_it_takes_bounds_the_saving(
    name: str, doing: str
) -> None:
    analyzed = analyze_trace(late((doing, BUILT_IN, 0), on_all=True))
    told = analyzed.findings[f"lost_to_{name}"]
    assert told.status.is_fault
    assert told.gain is not None
    assert told.gain.is_bound
    assert told.gain.interval_s is None
    assert told.gain.share == pytest.approx(0.286, abs=0.01)
    assert told.gain.seconds == pytest.approx(3.2, rel=0.01)
    assert told.title.endswith(" takes 3.20 s per rank, in fetch() (train.py:12)")
    losses = read_analysis(analyzed.document()).losses
    (share,) = [one.share for one in losses.entries if told.title.startswith(one.label)]
    assert share == pytest.approx(0.286, abs=0.001)


def test_a_sleep_that_comes_once_is_told_as_one() -> None:
    findings = found(("time.sleep", BUILT_IN, 0), once_s=6.0)
    assert faults(findings) == {"lost_to_sleep"}
    assert findings["lost_to_sleep"].ranks == (1,)
    assert ", once, in " in findings["lost_to_sleep"].title


def test_of_findings_about_the_same_seconds_the_smaller_one_is_quiet() -> None:
    run = Facts(results := compute(late(("numpy.linalg.svd", BUILT_IN, 0))), SegmentReplay(results))
    late_work = Edit(function=FETCHING[:2], ranks=(1,))
    most = finding_of(run, "most", late_work)
    same = finding_of(run, "same", replace(late_work, factor=0.2))
    part = finding_of(run, "part", replace(late_work, factor=0.7))
    told = {one.id: one for one in told_once(run, [same, most, part])}
    assert {name for name, one in told.items() if one.status.is_fault} == {"most", "part"}
    assert told["same"].overlaps == ("most",)
    assert told["same"].gain is None


def test_a_replayed_gain_claims_the_seconds_before_a_larger_bound() -> None:
    run = Facts(results := compute(late(("numpy.linalg.svd", BUILT_IN, 0))), SegmentReplay(results))
    late_work = Edit(function=FETCHING[:2], ranks=(1,))
    bound = finding_of(run, "bound", late_work)
    assert bound.gain is not None
    bound = replace(bound, gain=as_bound(bound.gain))
    sure = finding_of(run, "sure", replace(late_work, factor=0.2))
    told = {one.id: one for one in told_once(run, [bound, sure])}
    assert faults(told) == {"sure"}
    assert told["bound"].overlaps == ("sure",)


def test_what_a_finding_shares_with_one_that_claims_before_it_is_split_off() -> None:
    """The whole takes away 40 ms of each step, and with them the 12 ms of the part."""
    run = Facts(results := compute(late(("numpy.linalg.svd", BUILT_IN, 0))), SegmentReplay(results))
    late_work = Edit(function=FETCHING[:2], ranks=(1,))
    whole = finding_of(run, "whole", late_work)
    part = finding_of(run, "part", replace(late_work, factor=0.7))
    told = {one.id: one for one in told_once(run, [part, whole])}
    assert faults(told) == {"whole", "part"}
    assert told["whole"].evidence == ()
    (row,) = told["part"].evidence
    assert isinstance(row.value, float)
    assert row.value == pytest.approx(0.3 * LATE_S * STEPS, rel=0.05)
    assert told["part"].overlaps == ("whole",)


def test_a_part_at_the_line_of_the_whole_is_told_by_it() -> None:
    """Somewhere else the same part is told as well: it is another change of the program."""
    run = Facts(results := compute(late(("numpy.linalg.svd", BUILT_IN, 0))), SegmentReplay(results))
    late_work = Edit(function=FETCHING[:2], ranks=(1,))
    here, there = Frame("fetch", "train.py", 12), Frame("fetch", "train.py", 14)
    whole = replace(finding_of(run, "whole", late_work), where=(here,))
    part = finding_of(run, "part", replace(late_work, factor=0.7))
    for place, told in ((here, {"whole"}), (there, {"whole", "part"})):
        found = told_once(run, [replace(part, where=(place,)), whole])
        assert faults({one.id: one for one in found}) == told


def test_what_no_action_saves_tells_of_no_part_at_its_line() -> None:
    """The first action of the whole saves a tenth of it: less than the remedy of the part."""
    run = Facts(results := compute(late(("numpy.linalg.svd", BUILT_IN, 0))), SegmentReplay(results))
    late_work = Edit(function=FETCHING[:2], ranks=(1,))
    here = Frame("fetch", "train.py", 12)
    whole = replace(finding_of(run, "whole", late_work), where=(here,))
    assert whole.gain is not None
    whole = replace(whole, gain=as_bound(whole.gain), first=whole.gain.of(0.1 * whole.gain.seconds))
    part = replace(finding_of(run, "part", replace(late_work, factor=0.4)), where=(here,))
    told = {one.id: one for one in told_once(run, [part, whole])}
    assert faults(told) == {"part"}
    assert told["whole"].overlaps == ("part",)


def test_a_part_points_at_what_tells_its_whole() -> None:
    """What is worth more at its line is told by a finding about the same seconds elsewhere."""
    run = Facts(results := compute(late(("numpy.linalg.svd", BUILT_IN, 0))), SegmentReplay(results))
    late_work = Edit(function=FETCHING[:2], ranks=(1,))
    here, there = Frame("fetch", "train.py", 12), Frame("fetch", "train.py", 14)
    whole = replace(finding_of(run, "whole", late_work), where=(there,))
    same = replace(finding_of(run, "same", late_work), where=(here,))
    part = replace(finding_of(run, "part", replace(late_work, factor=0.7)), where=(here,))
    told = {one.id: one for one in told_once(run, [whole, same, part])}
    assert faults(told) == {"whole"}
    assert told["part"].overlaps == told["same"].overlaps == ("whole",)


def finding_of(run: Facts, name: str, edit: Edit) -> Finding:
    gain = predicted_gain(run.results, run.replay, [edit], bound_s=0.0)
    return Finding(id=name, status=Status.FAIL, title=name, summary="", gain=gain)


def facts() -> Facts:
    results = compute(late(("numpy.dot", BUILT_IN, 0)))
    return Facts(results, SegmentReplay(results))


def test_what_compiles_again_and_again_and_what_it_costs_are_one_finding() -> None:
    run = facts()

    def fault(name: str) -> Finding:
        return Finding(id=name, status=Status.FAIL, title=name, summary="")

    lost = replace(fault("lost_to_compiling"), actions=("Compile once.",))
    again = replace(fault("start_up"), title="train_step() traced", actions=("Pass tensors.",))
    both, quiet, other = with_remedy(run, [lost, again, fault("other")])
    assert (both.title, both.actions) == ("train_step() traced", ("Pass tensors.",))
    assert (quiet.status, quiet.overlaps) == (Status.INFO, ("lost_to_compiling",))
    assert other == fault("other")
    assert with_remedy(run, [again]) == (again,)


def test_python_code_of_steps_that_are_told_not_to_be_compiled_is_no_line_to_change() -> None:
    python = Finding(
        status=Status.FAIL, title="Python code", summary="It is slow.", id="lost_to_interpreter"
    )
    eager = Finding(status=Status.FAIL, title="Eager", summary="Eager.", id="debug_settings")
    told, kept = told_by_settings([python, eager])
    assert (told.status, told.overlaps, kept) == (Status.INFO, ("debug_settings",), eager)
    slight = replace(eager, status=Status.WARN)
    assert told_by_settings([python, slight]) == (python, slight)


def test_a_setting_for_debugging_is_priced_by_what_is_lost_to_it() -> None:
    run = facts()
    lost = Finding(
        status=Status.FAIL,
        title="Debugging",
        summary="It is slow.",
        id="lost_to_debugging",
        gain=Gain(seconds=4.0, share=0.2, basis=Basis.REPLAY, interval_s=(3.0, 5.0)),
    )
    mode = Finding(
        status=Status.WARN, title="Anomaly mode", summary="", id="debug_settings", actions=("Off",)
    )
    priced, told = with_remedy(run, [lost, mode])
    assert (priced.title, priced.actions, priced.gain_s) == ("Anomaly mode", ("Off",), 4.0)
    assert priced.gain_interval_s is None
    assert priced.gain is not None
    assert priced.gain.no_interval is NoInterval.UNSEEN
    placed, _ = with_remedy(run, [replace(lost, where=(Frame("forward", "/job/net.py", 7),)), mode])
    assert placed.title == "Anomaly mode, which costs most in forward() (net.py:7)"
    assert told.status is Status.INFO
    assert "what is lost to it" in told.summary
    assert told.actions == ()
    at = Frame("main", "/job/train.py", 3)
    set_at = replace(mode, title="Anomaly mode, switched on in main() (train.py:3)", where=(at,))
    switched, _ = with_remedy(run, [replace(lost, is_elsewhere=True), set_at])
    assert switched.title == "Anomaly mode, switched on in main() (train.py:3)"
    assert not switched.is_elsewhere
    eager = replace(mode, status=Status.FAIL)
    assert with_remedy(run, [lost, eager]) == (lost, eager)
