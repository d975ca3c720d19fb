"""The report of documents that the analysis made, so that both sides mean the same fields."""

from typing import Any

import pytest

from perfscope.report.build import build_html
from perfscope.schema.common import NO_REASON
from perfscope.schema.read import read_known
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import Plan
from tests.metrics.communication.test_collective_cost import SIZES, recorded
from tests.report.page_outline import Outline
from tests.report.sample_document import two_ranks_evaluation

OPTIONAL = ("productive_split", "cost.fusion")
"""What only some runs have."""

PLANS = {
    "healthy": Plan(steps=60),
    "evaluation": Plan(steps=60, evaluate_s=1.0),
    "sampled": Plan(steps=60, evaluate_s=1.0, markers=False),
    "one rank": Plan(steps=20, ranks=1),
}


def keys(value: Any, path: str = "") -> set[str]:
    """The paths of all objects' keys, each array by its first element."""
    if isinstance(value, dict):
        own = {f"{path}.{key}" for key in value}
        return own.union(*(keys(item, f"{path}.{key}") for key, item in value.items()))
    if isinstance(value, list) and value:
        return keys(value[0], f"{path}[]")
    return set()


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_page_of_an_analysis_is_sound(plan: Plan) -> None:
    page = build_html(read_known(analyze(plan).document()))
    outline = Outline(page)
    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.targets) <= set(outline.ids)
    assert all(table["caption"] and table["scopes"] for table in outline.tables)
    assert NO_REASON not in page  # every figure that the page shows is in the document


def test_sample_documents_have_the_keys_of_real_ones() -> None:
    real = keys(analyze(PLANS["evaluation"]).document())
    real |= keys(analyze_trace(recorded("MPI_Allreduce", SIZES)).document())
    sample = keys(two_ranks_evaluation())
    parts = (
        "verdict",
        "ledger",
        "metrics",
        "phases",
        "collectives",
        "replay",
        "quality",
        "findings",
    )
    for part in parts:
        wanted = {
            key for key in sample if key.startswith(f".{part}") and not key.endswith("reason")
        }
        assert not {key for key in wanted - real if not any(o in key for o in OPTIONAL)}, part
