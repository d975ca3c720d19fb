"""Nothing that perfscope writes or prints changes unseen: see tests/golden/cases.py."""

from pathlib import Path

import pytest

from tests.golden.cases import CASES, EXPECTED, STUDIES, Case, study_page
from tests.report.page_outline import HELD

HOW = "If this change is meant, `make golden` keeps it; look at each difference before."


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: str(case.name))
def test_outputs_are_those_kept(case: Case, tmp_path: Path) -> None:
    for file, content in case.outputs(tmp_path).items():
        kept = case.kept_at(file).read_text(encoding="utf-8")
        assert comparable(content.decode()) == comparable(kept), (
            f"{case.name}/{file} differs. {HOW}"
        )


def test_every_kept_folder_belongs_to_a_case() -> None:
    assert {path.name for path in EXPECTED.iterdir()} == set(CASES)


@pytest.mark.parametrize("name", STUDIES)
def test_pages_of_studies_are_made_from_their_documents(name: str) -> None:
    page, text = study_page(name)
    assert comparable(text) == comparable(page.read_text(encoding="utf-8")), HOW


def comparable(text: str) -> str:
    """Without what a page packs: how it is packed differs from one build of zlib to another."""
    return HELD.sub("", text)
