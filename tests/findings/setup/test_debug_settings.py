"""Settings for debugging that are left on: told where training takes time, silent elsewhere."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import NoInterval, PhaseKind, Status
from perfscope.schema.read import read_analysis
from perfscope.trace.devices import DeviceActivity, DeviceInfo
from tests.findings.analyzed import Analyzed, analyze_trace
from tests.support.trace_builder import TraceBuilder


def judged(
    *, trains: bool = True, ranks: int = 2, devices: DeviceActivity | None = None, **facts: Any
) -> Finding | None:
    """Ranks of which the first has these facts in its metadata; None where it is not listed."""
    builder = TraceBuilder(ranks, end_s=20.0)
    for number in range(ranks):
        rank = builder.rank(number).init(1.0).finalize(19.0)
        rank.set(metadata=facts if number == 0 else {}, devices=devices)
        for step in range(16):
            rank.op("MPI_Allreduce", 3.0 + step, 3.001 + step, sent=8, received=8)
            if trains:
                rank.phase(PhaseKind.TRAIN, 2.1 + step, 2.9 + step)
    return analyze_trace(builder.build()).findings.get("debug_settings")


@pytest.mark.parametrize(
    ("frameworks", "status", "word"),
    [
        ({"keras": {"run_eagerly": True}}, Status.FAIL, "run_eagerly"),
        ({"tensorflow": {"functions_run_eagerly": True}}, Status.FAIL, "run_functions_eagerly"),
        ({"jax": {"disable_jit": True}}, Status.FAIL, "JAX_DISABLE_JIT"),
        ({"torch": {"anomaly_mode": True}}, Status.WARN, "set_detect_anomaly"),
    ],
)
def test_what_frameworks_were_told(frameworks: dict[str, Any], status: Status, word: str) -> None:
    finding = judged(frameworks=frameworks)
    assert finding is not None
    assert finding.status is status
    assert finding.ranks == (0,)
    assert word in finding.actions[0]
    assert finding.gain is None


@pytest.mark.parametrize(
    ("environment", "status"),
    [
        ({"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}, Status.INFO),
        ({"PYTHONMALLOC": "debug"}, Status.INFO),
    ],
)
def test_what_the_environment_tells(environment: dict[str, str], status: Status) -> None:
    finding = judged(environment=environment)
    assert finding is not None
    assert finding.status is status


def test_allocations_that_are_traced_are_told() -> None:
    finding = judged(tracemalloc_frames=1)
    assert finding is not None
    assert finding.status is Status.FAIL
    assert "tracemalloc.start()" in finding.actions[0]


def test_a_profiler_that_is_left_on_is_told() -> None:
    finding = judged(profile_function=97)
    assert finding is not None
    assert finding.status is Status.WARN
    assert "cProfile" in finding.actions[0]


@pytest.mark.parametrize("name", ["CUDA_LAUNCH_BLOCKING", "PYTORCH_NO_CUDA_MEMORY_CACHING"])
def test_what_slows_devices_down_is_told_where_there_are_some(name: str) -> None:
    device = DeviceActivity(devices=(DeviceInfo(0, "A GPU"),), watched=(10**9, 19 * 10**9))
    finding = judged(devices=device, environment={name: "1"})
    assert finding is not None
    assert finding.status is Status.WARN
    assert name in finding.title


def test_the_costliest_comes_first_and_all_are_listed() -> None:
    finding = judged(
        frameworks={"keras": {"run_eagerly": True}},
        environment={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"},
        trace_function="pdb",
    )
    assert finding is not None
    assert "run_eagerly" in finding.title
    assert len(finding.evidence) == len(finding.actions) == 3


@pytest.mark.parametrize(
    "facts",
    [
        {"frameworks": {"keras": {"run_eagerly": False}}},
        {"frameworks": {"torch": {"anomaly_mode": False}}},
    ],
)
def test_without_them_it_passes(facts: dict[str, Any]) -> None:
    finding = judged(**facts)
    assert finding is not None
    assert finding.status is Status.PASS


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"frameworks": {"torch": {"threads": 1}}},
        {"environment": {"TORCH_DISTRIBUTED_DEBUG": "INFO", "PYTHONDEVMODE": ""}},
        {"environment": {"CUDA_LAUNCH_BLOCKING": "1"}},  # and no device
        {"environment": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}},
    ],
)
def test_what_is_no_such_setting_is_not_listed(facts: dict[str, Any]) -> None:
    assert judged(**facts) is None


def test_where_little_is_trained_it_is_only_told() -> None:
    builder = TraceBuilder(1, end_s=100.0)
    rank = builder.rank(0).set(metadata={"frameworks": {"keras": {"run_eagerly": True}}})
    rank.phase(PhaseKind.EVALUATE, 0.5, 99.0)
    rank.phase(PhaseKind.TRAIN, 99.0, 99.5)
    finding = analyze_trace(builder.build()).findings["debug_settings"]
    assert finding.status is Status.INFO


STEPS = 80
MAIN = ("main", "/job/train.py", 40)
FORWARD = ("forward", "/job/net.py", 7)


HALF = {"searched_ns": 50, "whole_ns": 100, "looks": 4, "in_mode_ns": 400, "passes_ns": 400}


def anomaly(lines: Sequence[int] = (11,), **torch: Any) -> Analyzed:
    """Steps of 100 ms of two ranks: 40 ms forward, half of it in tracebacks, then backward."""
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    places = [f"<module>\x1f/job/train.py\x1f{line}" for line in lines]
    switches = {"anomaly_mode": [*places, 7, "odd"]}
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.1 * STEPS)
        told = {"anomaly_mode": True, **torch}
        rank.set(metadata={"frameworks": {"torch": told}, "switches": switches})
        for step in range(STEPS):
            begin = 1.0 + 0.1 * step
            for part in range(10):
                inner = ("traceback.format_stack" if part < 2 else "numpy.dot", BUILT_IN, 0)
                rank.stack(begin + 0.01 * part + 0.005, [MAIN, FORWARD, inner])
            rank.phase(PhaseKind.BACKWARD, begin + 0.04, begin + 0.099, step=step)
            rank.op("MPI_Allreduce", begin + 0.099, begin + 0.0999, seq=step)
            rank.step(step, begin, begin + 0.1)
    return analyze_trace(builder.build())


def test_a_mode_is_named_at_the_line_that_sets_it_and_priced_by_all_that_was_measured() -> None:
    """20 ms of tracebacks in each step, and half of 59 ms in which gradients are searched."""
    found = anomaly(searched_for_nan=HALF)
    finding = found.findings["lost_to_debugging"]
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx((0.02 + 0.0295) * STEPS, rel=0.05)
    assert (finding.where[0].file, finding.where[0].line) == ("/job/train.py", 11)
    assert finding.title.endswith(", switched on in train.py:11")
    assert finding.actions[0].startswith("In train.py:11: remove set_detect_anomaly(True)")
    assert not finding.is_elsewhere
    assert finding.gain is not None
    assert finding.gain.no_interval is NoInterval.PARTS
    assert finding.gain.spent is not None
    # what ranks wait for each other in these passes is no search
    assert finding.gain.spent.seconds == pytest.approx((0.02 + 0.0295) * STEPS, rel=0.05)
    assert found.findings["debug_settings"].status is Status.INFO


def test_the_search_is_priced_in_passes_of_the_mode_alone() -> None:
    found = anomaly(searched_for_nan={**HALF, "passes_ns": 4000}).findings["lost_to_debugging"]
    assert found.gain_s == pytest.approx((0.02 + 0.0295 / 10) * STEPS, rel=0.05)


def test_of_several_lines_it_is_not_said_that_the_first_one_did_it() -> None:
    found = anomaly(lines=(11, 30), searched_for_nan=HALF).findings["lost_to_debugging"]
    assert found.title.endswith(", which may be switched on in train.py:11, or at 1 more")


def test_what_other_tools_switch_on_is_not_said_to_be_the_programs_doing() -> None:
    switches = {"profile_function": ["main\x1f/job/train.py\x1f11"]}
    finding = judged(profile_function=100, switches=switches)
    assert finding is not None
    assert finding.title.endswith(", which may be switched on in main() (train.py:11)")


def test_where_not_all_gradients_were_timed_the_saving_may_be_more() -> None:
    found = anomaly(searched_for_nan={**HALF, "missed": 1})
    finding = found.findings["lost_to_debugging"]
    assert finding.gain_s == pytest.approx((0.02 + 0.0295) * STEPS, rel=0.05)
    assert finding.gain is not None
    assert finding.gain.no_interval is NoInterval.UNSEEN


@pytest.mark.parametrize("told", [None, 7, {**HALF, "searched_ns": 200}, {"searched_ns": 50}])
def test_without_a_measure_of_its_compiled_part_the_saving_may_be_more(told: Any) -> None:
    found = anomaly(searched_for_nan=told)
    finding = found.findings["lost_to_debugging"]
    assert finding.gain_s == pytest.approx(0.02 * STEPS, rel=0.05)
    document = read_analysis(found.document())
    assert re.search(r"The fix would save about 1\.\d+ s or more of ", document.verdict.sentence)


@pytest.mark.parametrize(
    ("facts", "title"),
    [
        ({"frameworks": {"torch": {"deterministic": True}}}, "deterministic algorithms"),
        ({"environment": {"MALLOC_PERTURB_": "165"}}, "fills each block"),
    ],
)
def test_what_is_slower_on_purpose_is_only_told(facts: dict[str, Any], title: str) -> None:
    finding = judged(**facts)
    assert finding is not None
    assert finding.status is Status.INFO
    assert title in finding.title
