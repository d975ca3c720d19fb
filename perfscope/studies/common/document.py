"""study.json: one document for every kind of study."""

from collections.abc import Sequence
from typing import Any, Final, cast

import perfscope
from perfscope.document.build import sort_findings
from perfscope.findings.core.finding import Finding
from perfscope.schema.compare import Compare
from perfscope.schema.findings import HowMeasured
from perfscope.schema.history import History
from perfscope.schema.read import known
from perfscope.schema.restarts import Restarts
from perfscope.schema.run import Tool
from perfscope.schema.scaling import ScalingResult
from perfscope.schema.study import Study, StudyFindingRow, StudyKind, StudyRunRow, StudyVerdict
from perfscope.schema.sweep_result import SweepResult
from perfscope.schema.write import as_json
from perfscope.studies.common.run import StudyRun

Body = Compare | History | Restarts | ScalingResult | SweepResult
SCHEMA_VERSION: Final = "1"
STUDY_FILE = "study.json"


def build(
    kind: StudyKind,
    runs: Sequence[StudyRun | StudyRunRow],
    *,
    verdict: tuple[str, str],
    body: Body,
    findings: Sequence[Finding] = (),
    how_measured: Sequence[tuple[str, str]] = (),
) -> Study:
    """A study, as its document holds it.

    The body stands under the kind's name. A verdict is a status (`pass`, `warn`, `fail`, `info`)
    and a sentence, `how_measured` are pairs of term and text.
    """
    status, sentence = verdict
    found: dict[str, Any] = {kind: body}
    made = as_json(
        Study(
            schema_version=SCHEMA_VERSION,
            kind=kind,
            tool=Tool("perfscope", perfscope.__version__),
            verdict=StudyVerdict(status, sentence),
            runs=tuple(run if isinstance(run, StudyRunRow) else run.row() for run in runs),
            findings=cast(
                "tuple[StudyFindingRow, ...]", tuple(one.row for one in sort_findings(findings))
            ),
            how_measured=tuple(HowMeasured(term, text) for term, text in how_measured),
            **found,
        )
    )
    return known(made, Study)
