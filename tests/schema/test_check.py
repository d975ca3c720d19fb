"""The declaration of analysis.json finds what a document has wrong, and its files are current."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import GenericAlias
from typing import Any

import pytest

from benchmarks.machine import between
from perfscope.schema.analysis import Analysis
from perfscope.schema.check import kinds_of, problems
from perfscope.schema.enums import EndKind, Status
from perfscope.schema.read import NotAsDeclaredError, read_analysis
from perfscope.schema.study import Study
from perfscope.schema.write import as_json, document_text
from scripts import make_schema
from scripts.json_schema import json_schema
from tests.report import sample_document
from tests.support.environments import REPOSITORY

Json = dict[str, Any]
KEPT = REPOSITORY / "tests" / "golden" / "expected"
SPOILED: dict[str, tuple[Callable[[Json], object], str]] = {
    "missing": (lambda d: d["run"].pop("ranks"), ".run: without ['ranks']"),
    "not declared": (lambda d: d["run"].update(guess=1), ".run: not declared: ['guess']"),
    "text for a number": (lambda d: d["run"].update(ranks="2"), ".run.ranks: '2' is no int"),
    "truth for a number": (lambda d: d["run"].update(ranks=True), ".run.ranks: True is no int"),
    "not finite": (lambda d: d["run"].update(wall_s=float("inf")), ".run.wall_s: inf is no float"),
    "null": (lambda d: d["run"].update(wall_s=None), ".run.wall_s: None is no float"),
    "number for a list": (lambda d: d.update(ledger=5), ".ledger: no list"),
    "text for an object": (lambda d: d.update(run="x"), ".run: no object"),
    "list for a map": (lambda d: d["run"].update(versions=[]), ".run.versions: no object"),
    "too short": (
        lambda d: d["run"].update(focus_of_analysis_s=[1.0]),
        ".run.focus_of_analysis_s: 1 items instead of 2",
    ),
    "none of a closed set": (
        lambda d: d["findings"][0].update(status="bad"),
        ".findings[0].status: 'bad' is no Status",
    ),
    "no reason": (
        lambda d: d["metrics"].update(load_balance={"value": None, "unit": "ratio"}),
        ".metrics.load_balance: null without a reason",
    ),
    "none of two structures": (lambda d: d.update(stacks=3), ".stacks: no object"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_what_is_not_as_declared_is_named_with_its_place(name: str) -> None:
    spoil, line = SPOILED[name]
    document = copy.deepcopy(sample_document.two_ranks_evaluation())
    assert list(problems(document)) == []
    spoil(document)
    assert list(problems(document)) == [line]


OTHERS: tuple[Any, ...] = (
    None,
    3,
    -1.5,
    "x",
    True,
    [],
    {},
    [None],
    {"value": None},
    float("inf"),
    10**400,
)


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where parts of a document stand."""
    yield path
    if isinstance(document, dict | list):
        rows = document.items() if isinstance(document, dict) else enumerate(document)
        for key, part in rows:
            yield from places(part, (*path, key))


@pytest.mark.parametrize("part", ["run", "metrics", "phases", "findings", "replay", "stacks"])
def test_whatever_is_changed_is_a_problem_by_itself_where_it_is_one_among_others(
    part: str,
) -> None:
    """Whether there is any is looked at first, and problems are told where there is one."""
    kind, chance = kinds_of(Analysis)[part], random.Random(part)
    document = copy.deepcopy(sample_document.two_ranks_evaluation()[part])
    assert list(problems(document, kind)) == []
    with_another = GenericAlias(tuple, (kind, int))
    found = set()
    known = list(places(document))[1:]
    for *path, last in chance.sample(known, min(len(known), 8)):
        holder = document
        for key in path:
            holder = holder[key]
        kept = holder[last]
        for other in OTHERS:
            holder[last] = other
            for is_whole in (True, False):
                alone = list(problems(document, kind, is_whole=is_whole))
                two = [document, "no number"]
                among = list(problems(two, with_another, is_whole=is_whole))
                assert among == [*(f"[0]{line}" for line in alone), "[1]: 'no number' is no int"]
                found.add((is_whole, bool(alone)))
        holder[last] = kept
    assert len(found) == 4


@pytest.mark.parametrize("end", EndKind, ids=lambda end: end.name)
def test_every_way_to_end_is_declared(end: EndKind) -> None:
    document = copy.deepcopy(sample_document.two_ranks_evaluation())
    document["run"]["endings"][0]["kind"] = end.value
    assert list(problems(document)) == []


@pytest.mark.parametrize("document", [None, 3, "x", [], {}, {"run": {"endings": [[]]}}, [{}]])
def test_what_is_no_result_at_all_is_told(document: Any) -> None:
    assert list(problems(document))


@pytest.mark.parametrize("target", make_schema.DOCUMENTS, ids=lambda path: path.name)
def test_the_schema_for_others_is_that_of_the_declaration(target: Path) -> None:
    kept = target.read_text(encoding="utf-8")
    assert kept == make_schema.text(target), "make it again: python scripts/make_schema.py"


@pytest.mark.parametrize("name", make_schema.PARTS)
def test_the_documentation_is_that_of_the_declarations(name: str) -> None:
    document, made = make_schema.PARTS[name]
    assert between(document, name) == made() + "\n", "make it again: make schema"


def test_every_reference_of_the_schema_leads_somewhere() -> None:
    schema = json_schema(Analysis, "analysis.json")
    named = {f"#/$defs/{name}" for name in schema["$defs"]}
    text = json.dumps(schema)
    used = {part.split('"')[0] for part in text.split('"$ref": "')[1:]}
    assert used == named
    assert all(schema["$defs"].values())


def test_a_document_is_read_into_the_structures_that_it_is_written_from() -> None:
    document = sample_document.two_ranks_evaluation()
    found = read_analysis(document)
    assert found.verdict.status is Status.FAIL
    assert found.findings[0].first_action is None or found.findings[0].first_action.gain_s > 0
    assert json.loads(document_text(as_json(found))) == json.loads(json.dumps(document))


@pytest.mark.parametrize("name", SPOILED)
def test_what_is_not_as_declared_is_not_read(name: str) -> None:
    spoil, line = SPOILED[name]
    document = copy.deepcopy(sample_document.two_ranks_evaluation())
    spoil(document)
    with pytest.raises(NotAsDeclaredError) as raised:
        read_analysis(document)
    assert str(raised.value) == line


@pytest.mark.parametrize("kind", ["compare", "scaling"])
def test_a_study_is_as_declared_and_what_is_not_is_named(kind: str) -> None:
    document = json.loads((KEPT / kind / "study.json").read_text(encoding="utf-8"))
    assert list(problems(document, Study)) == []
    document["runs"][0]["steps"] = "many"
    assert list(problems(document, Study)) == [".runs[0].steps: 'many' is no int"]
