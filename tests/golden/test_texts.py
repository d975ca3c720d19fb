"""What every text of the golden net has in common: numbers agree with the words beside them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden.cases import CASES, EXPECTED, SAMPLES, STUDIES
from tests.support.environments import REPOSITORY

REPORTS = REPOSITORY / "reports"
FILES = sorted(
    [
        *(path for path in EXPECTED.rglob("*") if path.suffix in {".json", ".txt", ".md"}),
        *(REPORTS / name / "analysis.json" for name in SAMPLES),
        *(REPORTS / "studies" / name / "study.json" for name in STUDIES),
    ]
)
# a number before a word that ends like a plural; that of a rank, node or step is its name
ONE = re.compile(
    r"(?<![\w.,/\u2013%+-])(?<!rank )(?<!node )(?<!step )(?<!ranks )1 "
    r"(?:more |other |MPI )?([a-z]+s)\b",
    re.IGNORECASE,
)
SINGULAR = {"is", "was", "has", "does", "process", "less", "pass", "class", "needs", "works"}
DUST = re.compile(r"\d(?:\.\d+)?e-\d\d|(?<![\w.])-0(?:\.0+)? |(?<!\w)-?0?\.\d+ ns\b")


def texts(value: Any) -> Iterator[str]:
    """Every text inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def lines_of(path: Path) -> list[str]:
    content = path.read_text(encoding="utf-8")
    return list(texts(json.loads(content))) if path.suffix == ".json" else content.splitlines()


def plural_of_one(text: str) -> list[str]:
    return [found[0] for found in ONE.finditer(text) if found[1].lower() not in SINGULAR]


def test_a_plural_of_one_would_be_seen() -> None:
    assert plural_of_one("and 1 MPI calls, of rank 1 records") == ["1 MPI calls"]
    assert all(DUST.search(text) for text in ("-2.9e-11 s", "takes -0 s", "0.3 ns"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_numbers_agree_with_their_words(path: Path) -> None:
    lines = lines_of(path)
    assert lines
    assert [found for text in lines for found in plural_of_one(text)] == []
    assert [text for text in lines if DUST.search(text)] == []


def test_every_case_has_texts() -> None:
    assert {path.parts[-2] for path in FILES} >= {name for name in CASES if "sample" not in name}


def test_the_verdict_that_is_quoted_beside_other_tools_is_that_of_the_kept_recording() -> None:
    page = (REPOSITORY / "docs" / "seen-by-others.md").read_text(encoding="utf-8")
    printed = (EXPECTED / "sample-ddp_slow_rank" / "terminal.txt").read_text(encoding="utf-8")
    quoted = " ".join(re.findall(r"^> (.*)$", page, re.MULTILINE))
    said = " ".join(printed.split())
    assert quoted.startswith("Rank 1 is slower")
    assert quoted in said
    (row,) = re.findall(
        r"^\| perfscope .*\| rank 1 in forward: (.*? %) of all waiting", page, re.MULTILINE
    )
    assert f"{row} of it is due to forward on rank 1" in said
