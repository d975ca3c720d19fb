"""Gates in forms that CI systems read, and the templates that use them."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from perfscope.integrations.junit import Case, junit
from perfscope.integrations.sarif import sarif
from perfscope.schema.enums import Status
from perfscope.schema.read import read_known
from tests.report.sample_document import two_ranks_evaluation
from tests.support.environments import REPOSITORY
from tests.support.recording import analyze, job_variables

SAMPLE = REPOSITORY / "sample_traces" / "rank_zero_evaluation"
TEMPLATES = REPOSITORY / "packaging" / "ci"


def test_gates_and_findings_of_an_analysis(tmp_path: Path) -> None:
    xml, findings = tmp_path / "junit.xml", tmp_path / "found.sarif"
    options = ("--fail-on", "rank_zero_evaluation", "--fail-under", "0.1", "--no-report")
    done = analyze(SAMPLE, *options, "--junit", xml, "--sarif", findings, "-o", tmp_path)
    assert done.returncode == 1
    suite = ET.fromstring(xml.read_text(encoding="utf-8"))[0]
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert (failed, suite.get("failures")) == (["rank_zero_evaluation"], "1")
    assert suite[0].get("name") == "parallel efficiency"
    document = json.loads((tmp_path / "analysis.json").read_text(encoding="utf-8"))
    assert len(suite) == len(document["findings"]) + 1
    run = json.loads(findings.read_text(encoding="utf-8"))["runs"][0]
    found = next(row for row in run["results"] if row["ruleId"] == "rank_zero_evaluation")
    place = found["locations"][0]["physicalLocation"]
    assert (found["level"], place["region"]["startLine"]) == ("error", 96)
    assert place["artifactLocation"]["uri"].endswith("rank_zero_evaluation/train_numpy.py")
    assert {row["level"] for row in run["results"]} <= {"error", "warning"}
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {row["ruleId"] for row in run["results"]} == rules


def test_a_code_host_gets_what_it_demands_of_findings(tmp_path: Path) -> None:
    """A finding without a line stands at the program; a checkout elsewhere is the same checkout."""
    document = read_known(two_ranks_evaluation())
    placed = next(row for row in document.findings if row.where)
    here = replace(placed.where[0], file="/cluster/me/job/src/train.py")
    other = replace(here, file="/usr/lib/other.py")
    inside = replace(placed, status=Status.FAIL, where=(here, other))
    nowhere = replace(inside, id="somewhere_else", where=())
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").touch()
    run = replace(document.run, command=("mpirun", "-n", "2", "python", "src/train.py"))
    result = replace(document, findings=(nowhere, inside), run=run)
    told = json.loads(sarif(result, {placed.id: "What is looked for."}, root=tmp_path))["runs"][0]
    uris = [
        [place["physicalLocation"]["artifactLocation"]["uri"] for place in row["locations"]]
        for row in told["results"]
    ]
    assert uris == [["src/train.py"], ["src/train.py", "file:///usr/lib/other.py"]]
    rules = {rule["id"]: rule for rule in told["tool"]["driver"]["rules"]}
    assert rules[placed.id]["fullDescription"]["text"] == "What is looked for."
    assert all(rule["help"]["text"] and rule["fullDescription"]["text"] for rule in rules.values())


def test_texts_of_the_job_cannot_break_the_report() -> None:
    hostile = '"><x>&\x00\x1b]]>'
    root = ET.fromstring(junit(hostile, [Case(hostile, hostile, hostile)]))
    assert len(list(root.iter("testcase"))) == 1


def script_of(name: str) -> str:
    document = yaml.safe_load((TEMPLATES / name).read_text(encoding="utf-8"))
    if name == "action.yml":
        return str(document["runs"]["steps"][1]["run"])
    return "\n".join(document[".perfscope-compare"]["script"])


@pytest.mark.parametrize(("name", "shell"), [("action.yml", "bash"), ("gitlab.yml", "sh")])
def test_the_script_of_a_template(name: str, shell: str, tmp_path: Path) -> None:
    """What GitHub and GitLab would run, with the variables that they would set."""
    for side, name_of_run in (("before", "rank_zero_evaluation"), ("after", "ddp_slow_rank")):
        shutil.copytree(REPOSITORY / "sample_traces" / name_of_run, tmp_path / side)
    variables = {
        "BEFORE": "before/",
        "AFTER": "after/",
        "FAIL_ON": "unlike unclear",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        [shell, "-e", "-c", script_of(name)],
        cwd=tmp_path,
        env=job_variables(variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    report = ET.fromstring((tmp_path / "perfscope-junit.xml").read_text(encoding="utf-8"))
    assert report.get("failures") == "1"
    told = (tmp_path / "perfscope.md").read_text(encoding="utf-8")
    assert told
    if name == "action.yml":
        assert (tmp_path / "summary").read_text(encoding="utf-8") == told
