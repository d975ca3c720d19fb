"""The invariants of the result hold for every run that there is, and find what is wrong."""

import contextlib
import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from perfscope.cli.main import main
from perfscope.document import sums
from perfscope.document.analysis import analysis
from perfscope.document.invariants import INVARIANTS, broken
from perfscope.errors import ExitCode, UnreadableInputError, UsageError
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.schema.read import read_analysis
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze
from tests.findings.training_runs import Plan, training_run
from tests.support.environments import REPOSITORY
from tests.support.random_traces import traces

SAMPLES = sorted(path.name for path in (REPOSITORY / "sample_traces").iterdir() if path.is_dir())
REFERENCES = (
    *("otf2", "paraver_epoch", "horovod", "kineto", "nsys", "torch_gloo4", "samples", "xplane"),
)
PARTS = (".def", ".evt", ".pcf", ".row", ".csv", ".md")
"""Of a trace that another file names, or no trace."""
PLANS = (
    Plan(ranks=1, evaluate_s=1.0),
    Plan(ranks=2, slow_rank=1, slow_factor=3.0),
    Plan(slow_rank=0, slow_factor=2.0, evaluate_s=1.0),
    Plan(starved_rank=1, starved_s=0.1, unlucky_s=0.1, input_s=0.05),
    Plan(evaluate_s=1.0, evaluators=4, noise=0.3, tail=0.05),
    Plan(markers=False, slow_rank=1, slow_forward_s=0.1, allreduce_s=0.2),
)
FOCI = (None, "2:4", "2.1:2.100001", "phase:backward", "step:3-3", "0:1.5")


@settings(max_examples=30)
@given(traces())
def test_random_runs(trace: Trace) -> None:
    found = broken(analysis(trace, Options()))
    assert not found, found


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_runs(name: str) -> None:
    trace = open_trace(REPOSITORY / "sample_traces" / name)
    assert broken(analysis(trace, Options())) == []


@pytest.mark.parametrize("folder", REFERENCES)
def test_reference_traces(folder: str, reference: Callable[[str], Path]) -> None:
    """Every file that is a trace, and every directory: the files of all ranks together."""
    place = reference(folder)
    paths = [path for path in (place, *sorted(place.rglob("*"))) if path.suffix not in PARTS]
    opened = 0
    for path in paths:
        with contextlib.suppress(UnreadableInputError):
            trace = open_trace(path)
            opened += 1
            assert broken(analysis(trace, Options())) == [], path
    assert opened


def test_no_reference_trace_is_left_out(reference: Callable[[str], Path]) -> None:
    folders = {path.name for path in reference("expected.json").parent.iterdir() if path.is_dir()}
    assert folders == set(REFERENCES)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("plan", PLANS)
def test_runs_with_faults(plan: Plan, seed: int) -> None:
    trace = training_run(replace(plan, steps=40, seed=seed))
    for focus in FOCI[:: len(FOCI) if seed == 2 else 1]:
        with contextlib.suppress(UsageError):  # without markers there are no steps to ask for
            assert broken(analysis(trace, Options(focus=focus))) == [], focus


def changed(document: Any, *path: str | int, value: Any) -> Any:
    """A copy with one figure replaced."""
    result = copy.deepcopy(document)
    place = result
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return result


def test_every_wrong_figure_is_found() -> None:
    document: Any = analyze(Plan(ranks=2, steps=40, evaluate_s=1.0), is_shown=True).document()
    assert broken(document) == []
    wrong = {
        "numbers": changed(document, "run", "wall_s", value=-1.0),
        "declaration": changed(document, "run", "ranks", value="2"),
        "ledger": changed(document, "ledger", 0, "seconds", value=1e6),
        "waits": changed(document, "replay", "delay_costs", "waiting_s", value=91.3),
        "efficiencies": changed(document, "metrics", "load_balance", "value", value=0.1),
        "replay": changed(document, "replay", "critical_path", "work_s", value=0.0),
        "steps": changed(document, "steps", "count", value=7),
        "ranks": changed(document, "run", "ranks", value=3),
        "gains": changed(document, "findings", 0, "gain_s", value=1e6),
        "phases": changed(document, "phases", 0, "ranks", value=[]),
        "damage": changed(document, "run", "missing_ranks", value=[2]),
        "lives": changed(document, "run", "endings", 0, "start_s", value=0.5),
        "ledger_parts": changed(document, "unlabeled", "seconds", value=9.0),
        "losses": changed(document, "losses", "entries", 0, "ns", value=1),
        "work": changed(document, "metrics", "useful_s_by_rank", 1, value=9.0),
        "communication": changed(document, "collectives", "operations", 0, "seconds", value=1.0),
        "phase_parts": changed(document, "phases", 0, "seconds_by_rank", 0, value=1e3),
        "path_parts": changed(
            document, "replay", "critical_path", "by_rank", 0, "work_s", value=0.0
        ),
        "savings": changed(document, "findings", 0, "gain_run_share", value=0.9),
        "efficiency_told": changed(document, "verdict", "efficiency", "value", value=0.123),
        "timeline": changed(document, "timeline", "length_s", value=1.0),
    }
    negative = changed(document, "findings", 0, "gain_s", value=-1e-6)
    assert any("claims a saving" in said for said in broken(negative))
    for share in (0.001, 0.999):
        other = changed(document, "findings", 0, "gain_share", value=share)
        assert any(said.startswith("gains: ") for said in broken(other)), share
    for rule, one in wrong.items():
        assert any(said.startswith(f"{rule}: ") for said in broken(one)), rule
    rules = {rule.id for rule in INVARIANTS} | {"declaration", "numbers"}
    assert set(wrong) | {"devices", "device_parts"} == rules


def test_savings_together_lie_between_the_best_and_the_sum() -> None:
    plan = Plan(ranks=2, steps=40, evaluate_s=1.0, slow_rank=1)
    document: Any = analyze(plan, is_shown=True).document()
    length = sums.focus_s(read_analysis(document))
    document["losses"]["lost_ns"] = int(3.4e9)
    first: dict[str, Any] = {"gain_s": 2.0, "gain_share": 2.0 / length, "gain_run_share": None}
    first |= {"gain_interval_s": None, "gain_basis": "upper_bound"}
    for finding in document["findings"]:
        finding["first_action"] = None
    for place, gain_s in enumerate((2.0, 1.0)):
        own = first | {"gain_s": gain_s, "gain_share": gain_s / length}
        document["findings"][place] |= {**own, "first_action": own}
    ids = [finding["id"] for finding in document["findings"][:2]]
    for together_s, said in ((1.5, "the best alone 2.0"), (2.5, ""), (3.5, "one by one 3.0")):
        verdict = {"combined_gain_s": together_s, "combined_of": ids}
        verdict |= {"combined_gain_share": together_s / length, "combined_gain_run_share": None}
        document["verdict"] |= verdict
        found = list(sums.savings(read_analysis(document)))
        assert len(found) == (0 if not said else 1 + (together_s > 3.4))
        assert said in "".join(found)
    document["verdict"]["combined_of"] = []
    assert list(sums.savings(read_analysis(document)))


@pytest.mark.parametrize(
    ("name", "is_of_waiting"),
    [
        ("rank_zero_evaluation", True),
        ("transient_imbalance", True),
        ("lost_to_varying_waiting", True),
        ("slow_operands", False),
    ],
)
def test_who_waits_saves_no_more_than_was_waited(name: str, *, is_of_waiting: bool) -> None:
    document: Any = analyze(Plan(ranks=2, steps=40, evaluate_s=1.0), is_shown=True).document()
    waits = document["collectives"]
    ends = [one["end_s"] for one in document["run"]["endings"]]
    waited_s = sum(waits["wait_s_by_rank"]) + sum(waits["other_s_by_rank"])
    waited_s += sum(max(ends) - one for one in ends)
    evaluated = next(one for one in document["ledger"] if one["id"] == "evaluation")
    assert evaluated["seconds"] > 0
    waited_s += evaluated["seconds"]
    for part, is_wrong in ((0.99, False), (1.01, is_of_waiting)):
        document["findings"][0] |= {"id": name, "gain_s": part * waited_s, "first_action": None}
        said = [one for one in sums.savings(read_analysis(document)) if "ranks waited" in one]
        assert len(said) == is_wrong, said


def test_users_can_check_a_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = str(REPOSITORY / "sample_traces" / "ddp_slow_rank")
    command = ["analyze", sample, "-o", str(tmp_path), "--no-report", "--check"]
    assert main(command) == ExitCode.OK
    assert json.loads((tmp_path / "analysis.json").read_text())["run"]["damage"] == []
    monkeypatch.setattr("perfscope.document.invariants.broken", lambda _: ["waits: wrong"])
    capsys.readouterr()
    assert main(command) == ExitCode.GATE_FAILED
    assert "Check failed: waits: wrong" in capsys.readouterr().err
