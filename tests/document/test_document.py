"""analysis.json: as described, finite, exact, and the same bytes every time."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.document import build as document
from perfscope.errors import ExitCode, PerfscopeError
from perfscope.findings.core.finding import Finding, Gain
from perfscope.schema.check import problems
from perfscope.schema.enums import Basis, Status
from perfscope.schema.write import Json, document_text, plain
from tests.findings.analyzed import Analyzed, analyze, analyze_trace
from tests.findings.training_runs import Plan, training_run
from tests.report import sample_document
from tests.support.trace_builder import TraceBuilder

PLANS = {
    "evaluation": Plan(steps=60, evaluate_s=1.0),
    "imbalance": Plan(steps=60, slow_rank=1, slow_forward_s=0.1, samples=(32,) * 4),
    "unmarked": Plan(steps=60, evaluate_s=1.0, markers=False),
    "one rank": Plan(ranks=1, steps=30, evaluate_s=1.0),
}


def built(analyzed: Analyzed) -> Json:
    return analyzed.document()


@pytest.mark.parametrize("name", PLANS)
def test_is_as_described(name: str) -> None:
    assert list(problems(built(analyze(PLANS[name], is_shown=True)))) == []


def test_the_barest_trace_is_as_described() -> None:
    barest = analyze_trace(TraceBuilder(2, end_s=1.0).build(), is_shown=True)
    assert list(problems(built(barest))) == []


@pytest.mark.parametrize("name", ["two_ranks_evaluation", "everything_null", "thousand_ranks"])
def test_samples_of_the_report_are_as_described(name: str) -> None:
    assert list(problems(getattr(sample_document, name)())) == []


@pytest.mark.parametrize("name", PLANS)
def test_ledger_is_exact(name: str) -> None:
    analyzed = analyze(PLANS[name])
    rows = built(analyzed)["ledger"]
    for position, rank in enumerate(analyzed.results.trace.ranks):
        assert sum(row["ns_by_rank"][position] for row in rows) == rank.end_ns - rank.start_ns
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)


def test_same_trace_same_bytes() -> None:
    one, two = (document_text(built(analyze(PLANS["evaluation"], is_shown=True))) for _ in range(2))
    assert one == two


def test_serialization_times_transfer_is_communication_efficiency() -> None:
    metrics = built(analyze(PLANS["evaluation"]))["metrics"]
    product = metrics["serialization_efficiency"]["value"] * metrics["transfer_efficiency"]["value"]
    assert product == pytest.approx(metrics["communication_efficiency"]["value"], rel=1e-6)


def test_findings_come_by_status_and_gain() -> None:
    def finding(name: str, status: Status, gain_s: float | None = None) -> Finding:
        gain = None if gain_s is None else Gain(gain_s, gain_s / 100)
        return Finding(id=name, status=status, title="", summary="", gain=gain)

    ordered = document.sort_findings(
        [
            finding("error", Status.ERROR),
            finding("pass", Status.PASS, 9.0),
            finding("small", Status.FAIL, 1.0),
            finding("unmeasured", Status.NOT_MEASURED),
            finding("warn", Status.WARN, 7.0),
            finding("large", Status.FAIL, 2.0),
            finding("inapplicable", Status.NOT_APPLICABLE),
            finding("info", Status.INFO),
        ]
    )
    assert [item.id for item in ordered] == [
        "large",
        "small",
        "warn",
        "info",
        "unmeasured",
        "inapplicable",
        "pass",
        "error",
    ]


def test_a_replayed_saving_comes_before_a_bound_of_which_it_is_the_main_part() -> None:
    def finding(name: str, gain_s: float, basis: Basis, first: Gain | None = None) -> Finding:
        gain = Gain(gain_s, gain_s / 100, basis=basis)
        return Finding(id=name, status=Status.FAIL, title="", summary="", gain=gain, first=first)

    ordered = document.sort_findings(
        [
            finding("first action", 20.0, Basis.REPLAY, Gain(3.0, 0.03, basis=Basis.REPLAY)),
            finding("bound", 5.53, Basis.UPPER_BOUND),
            finding("replayed", 4.71, Basis.REPLAY),
            finding("large bound", 9.6, Basis.UPPER_BOUND),
        ]
    )
    names = [item.id for item in ordered]
    assert names == ["large bound", "replayed", "first action", "bound"]


def test_plain_knows_json_only() -> None:
    made = plain(
        {
            "array": np.array([1.5, math.inf]),
            "number": np.int64(3),
            "flag": np.bool_(True),
            "nan": math.nan,
            "tuple": (1, 2),
            "torn \ud800": "lone \udcff",
        }
    )
    assert made == {
        "array": [1.5, None],
        "number": 3,
        "flag": True,
        "nan": None,
        "tuple": [1, 2],
        "torn ?": "lone ?",
    }
    assert type(made["number"]) is int
    assert json.loads(document_text(made)) == made


def test_write_replaces_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "analysis.json"
    document.write(path, {"a": 1})
    document.write(path, {"a": 2})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": 2}
    assert list(path.parent.iterdir()) == [path]


def test_unwritable_place_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(PerfscopeError) as caught:
        document.write(tmp_path / "file" / "analysis.json", {})
    assert "--output" in caught.value.action
    assert caught.value.exit_code == ExitCode.USAGE


def test_versions_and_environment_come_from_the_ranks() -> None:
    def note(builder: TraceBuilder) -> None:
        builder.rank(0).set(
            metadata={
                "python": "3.11.7",
                "versions": {"numpy": "2.4"},
                "environment": {"OMP_NUM_THREADS": "1"},
                "batch_size": 32,
                "topology": {"cores": 2},
            },
            mpi_library="/lib/libmpi.so\nMPICH  Version: 5.0\nmore",
        )

    run = built(analyze_trace(training_run(Plan(steps=5), change=note)))["run"]
    assert run["versions"] == {
        "MPI": "MPICH Version: 5.0 (/lib/libmpi.so)",
        "numpy": "2.4",
        "python": "3.11.7",
    }
    assert run["environment"] == {"OMP_NUM_THREADS": "1"}
    assert run["batch_size"] == 32
    assert run["topology"] == [{"host": "node0", "cores": 2}]


def test_the_words_beside_an_efficiency_are_explained() -> None:
    document: Any = analyze(Plan(steps=5), is_shown=True).document()
    terms = {row["term"] for row in document["how_measured"]}
    assert {"Useful time", "Focus of analysis"} <= terms
    assert "->" not in document["run"]["focus_reason"]
