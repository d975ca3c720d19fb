"""The report of documents that the analysis made, so that both sides mean the same fields."""

import pytest

from perfscope.report.build import build_html
from perfscope.schema.common import NO_REASON
from perfscope.schema.read import read_known
from tests.findings.analyzed import analyze
from tests.findings.training_runs import Plan
from tests.report.page_outline import Outline

PLANS = {
    "healthy": Plan(steps=60),
    "evaluation": Plan(steps=60, evaluate_s=1.0),
    "sampled": Plan(steps=60, evaluate_s=1.0, markers=False),
    "one rank": Plan(steps=20, ranks=1),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_page_of_an_analysis_is_sound(plan: Plan) -> None:
    page = build_html(read_known(analyze(plan, is_shown=True).document()))
    outline = Outline(page)
    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.targets) <= set(outline.ids)
    assert all(table["caption"] and table["scopes"] for table in outline.tables)
    assert NO_REASON not in page  # every figure that the page shows is in the document
