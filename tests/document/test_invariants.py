"""The invariants of the result hold for every run that there is, and find what is wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from perfscope.cli.main import main
from perfscope.document.analysis import analysis
from perfscope.document.invariants import INVARIANTS, broken
from perfscope.errors import ExitCode
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.trace.model import Trace
from tests.findings.analysed import analyse
from tests.findings.training_runs import Plan
from tests.support.environments import REPOSITORY
from tests.support.random_traces import traces

SAMPLES = sorted(path.name for path in (REPOSITORY / "sample_traces").iterdir() if path.is_dir())
REFERENCES = (
    "otf2/ping_pong/traces.otf2",
    "paraver_epoch/epoch_2proc.prv.gz",
    "horovod/hvd_torch_timeline_killed.json",
    "kineto/hta/trace_filter/sampled_rank-0.json.gz",
    "kineto/tracelens/mi300/resnet_act_checkpoint.json.gz",
)


@settings(max_examples=30)
@given(traces())
def test_random_runs(trace: Trace) -> None:
    found = broken(analysis(trace, Options()))
    assert not found, found


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_runs(name: str) -> None:
    trace = open_trace(REPOSITORY / "sample_traces" / name)
    assert broken(analysis(trace, Options())) == []


@pytest.mark.parametrize("name", REFERENCES)
def test_reference_traces(name: str, reference: Callable[[str], Path]) -> None:
    assert broken(analysis(open_trace(reference(name)), Options())) == []


def changed(document: Any, *path: str | int, value: Any) -> Any:
    """A copy with one figure replaced."""
    result = copy.deepcopy(document)
    place = result
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return result


def test_every_wrong_figure_is_found() -> None:
    document: Any = analyse(Plan(ranks=2, steps=40, evaluate_s=1.0)).document()
    assert broken(document) == []
    wrong = {
        "numbers": changed(document, "run", "wall_s", value=-1.0),
        "ledger": changed(document, "ledger", 0, "seconds", value=1e6),
        "waits": changed(document, "replay", "delay_costs", "waiting_s", value=91.3),
        "efficiencies": changed(document, "metrics", "load_balance", "value", value=0.1),
        "replay": changed(document, "replay", "critical_path", "work_s", value=0.0),
        "steps": changed(document, "steps", "count", value=7),
        "ranks": changed(document, "run", "ranks", value=3),
        "gains": changed(document, "findings", 0, "gain_s", value=1e6),
        "phases": changed(document, "phases", 0, "ranks", value=[]),
        "damage": changed(document, "run", "missing_ranks", value=[2]),
    }
    negative = changed(document, "findings", 0, "gain_s", value=-1e-6)
    together = changed(document, "verdict", "combined_gain_s", value=1e3)
    assert any("claims a saving" in said for said in broken(negative))
    assert any("one by one" in said for said in broken(together))
    for rule, one in wrong.items():
        assert any(said.startswith(f"{rule}: ") for said in broken(one)), rule
    assert set(wrong) | {"devices"} == {rule.id for rule in INVARIANTS}


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
