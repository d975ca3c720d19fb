"""The first action names what was seen, or the option that would show it: never "find out"."""

import ast
import re

import pytest

from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import TRAINER, Plan
from tests.support.environments import REPOSITORY
from tests.support.trace_builder import TraceBuilder

FINDINGS = sorted(
    path
    for folder in ("findings", "studies/findings")
    for path in (REPOSITORY / "perfscope" / folder).rglob("*.py")
)
TYPED = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+=\w|\b[Uu]nset ([A-Z]|$)")
SEARCHED = re.compile(r"(Inspect|Check|Compare|Find|Look (at|for|in|into)|See)\b")
VAGUE = re.compile(r"\b(find out|investigate|figure out|look into)\b", re.IGNORECASE)


def test_no_text_of_a_finding_leaves_the_search_to_the_reader() -> None:
    found = {
        f"{path.name}:{node.lineno}: {node.value[:60]}"
        for path in FINDINGS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if VAGUE.search(node.value)
    }
    assert found == set()


def test_what_is_told_begins_with_a_change_and_with_no_search() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in FINDINGS]
    texts = {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    told = {
        ast.get_docstring(node, clean=False)
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, documented)
    }
    assert {text for text in texts - told if SEARCHED.match(text)} == set()
    assert any(text.startswith("Give the late rank less") for text in texts)


def test_every_setting_that_is_recommended_can_be_copied() -> None:
    """What a shell takes stands between backticks, which is what a page offers to copy."""
    found = {
        f"{path.name}:{node.lineno}: {node.value[:60]}"
        for path in FINDINGS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        if TYPED.search(re.sub("`[^`]*(`|$)", "", node.value))
    }
    assert found == set()


@pytest.mark.parametrize("markers", [True, False])
def test_a_place_that_was_seen_is_named_with_seconds_and_rank(markers: bool) -> None:
    """Rank 1 works 0.2 s longer in each of 200 steps."""
    found = analyze(Plan(slow_rank=1, slow_forward_s=0.2, markers=markers)).findings.values()
    told = next(
        one
        for one in found
        if one.id in {"straggler", "load_imbalance"} and one.status is Status.FAIL
    )
    function, file, line = TRAINER
    both = r"rank 1 spends ([\d.]+) s in (?:that function|forward), the others ([\d.]+) s in "
    both += "the median"
    assert f"{function}() ({file.rpartition('/')[2]}:{line})" in told.actions[0]
    spent = re.search(both, told.actions[0])
    assert spent
    assert float(spent[1]) - float(spent[2]) == pytest.approx(40.0, abs=2.0)


@pytest.mark.parametrize("samples", [False, True])
def test_where_nothing_was_seen_the_option_is_named(samples: bool) -> None:
    builder = TraceBuilder(2, end_s=100.0)
    for number, work_s in enumerate((1.0, 2.0)):
        rank = builder.rank(number).init(1.0)
        for step in range(40):
            begin, end = 1.0 + 2.01 * step, 3.01 + 2.01 * step
            rank.op("MPI_Allreduce", begin + work_s, end, sent=8, received=8)
        if samples:
            rank.stack(0.5, [("import", "", 0)])
        rank.finalize(81.4)
    found = analyze_trace(builder.build()).findings
    told = next(one for one in found.values() if one.status is Status.FAIL)
    option = "--stacks" if samples else "--stack-hz 50 (the default)"
    assert told.actions[0].startswith(f"Record once more with {option}")
    assert "rank 1 works up to 39.0 s longer than rank 0" in told.actions[0]
