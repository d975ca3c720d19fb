"""study.json: one document for every kind of study; docs/study-json.md lists its fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import perfscope
from perfscope.document.build import plain, sort_findings

if TYPE_CHECKING:
    from perfscope.findings.core.finding import Finding
    from perfscope.studies.common.run import StudyRun

Json = dict[str, Any]
SCHEMA_VERSION = "1"
STUDY_FILE = "study.json"
KINDS = ("scaling", "sweep", "compare", "history")


def build(
    kind: str,
    runs: Sequence[StudyRun | Json],
    *,
    verdict: tuple[str, str],
    body: Json,
    findings: Sequence[Finding] = (),
    how_measured: Sequence[tuple[str, str]] = (),
) -> Json:
    """The document of a study.

    Args:
        kind: one of `KINDS`; the body stands under this name.
        runs: in the order of the study; an object where a run left no recording.
        verdict: status (`pass`, `warn`, `fail`, `info`) and the sentence on the first screen.
        body: what the kind of study found.
        findings: outcomes of the study's diagnoses.
        how_measured: pairs of term and text.
    """
    assert kind in KINDS
    status, sentence = verdict
    document = {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "tool": {"name": "perfscope", "version": perfscope.__version__},
        "verdict": {"status": status, "sentence": sentence},
        "runs": [run if isinstance(run, dict) else run.as_json() for run in runs],
        kind: body,
        "findings": [finding.row for finding in sort_findings(findings)],
        "how_measured": [{"term": term, "text": text} for term, text in how_measured],
    }
    cleaned = plain(document)
    assert isinstance(cleaned, dict)
    return cleaned
