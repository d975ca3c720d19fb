"""The documentation as a site: every page is in its contents, and every link stays on it."""

import re
from typing import Any

import pytest
import yaml

from scripts import docs_links
from tests.support.environments import REPOSITORY

DOCS = REPOSITORY / "docs"


def pages(entry: Any) -> list[str]:
    """The pages of a part of the contents."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [page for part in parts for page in pages(part)]


def test_every_page_is_in_the_contents_once() -> None:
    config = yaml.safe_load((REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(pages(config["nav"])) == sorted(
        ["index.md", *(path.name for path in DOCS.glob("*.md"))]
    )


@pytest.mark.parametrize("name", ["README.md", *(f"docs/{p.name}" for p in DOCS.glob("*.md"))])
def test_no_link_leaves_the_site(name: str) -> None:
    path = REPOSITORY / name
    found = docs_links.LINK.sub(
        lambda link: docs_links._inside(link, path.parent), path.read_text(encoding="utf-8")
    )
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", found):
        assert target.startswith("https://") or (DOCS / target).is_file()
