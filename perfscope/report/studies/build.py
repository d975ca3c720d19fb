"""Makes the page of a study: study.html, offline as the report of a run."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment

from perfscope.registry import members
from perfscope.report import build
from perfscope.report.labels import status_word
from perfscope.report.studies.access import Document, text
from perfscope.report.studies.section import StudySection
from perfscope.report.text import shortened, visible_document
from perfscope.schema.run import Tool
from perfscope.schema.write import document_text

HERE = Path(__file__).parent
PAGE_FILE = "study.html"
KINDS = {
    "scaling": "Scaling",
    "sweep": "Sweep",
    "compare": "Comparison",
    "history": "History",
}


def build_html(document: Document) -> str:
    """The study as one HTML page; the same document gives the same page, byte for byte.

    Args:
        document: as study.json holds it. Its texts come from recorded jobs and are not trusted.
    """
    safe: Document = visible_document(dict(document))
    sheets = sorted((HERE / "assets").glob("*.css"))
    style = build.asset("report.css") + "".join(one.read_text(encoding="utf-8") for one in sheets)
    script = "".join(map(build.asset, build.SCRIPTS))
    tool = Tool(text(safe, "tool", "name"), text(safe, "tool", "version"))
    held = document_text(dict(document))
    page = build.Page("study", "study.json", held, tool, _title(safe), style, script)
    return build.render(safe, _sections(safe), _environment(), page)


def write_page(document: Document, path: Path) -> None:
    """Writes the page of a study to a file, replacing one that is there.

    Raises:
        OSError: the file cannot be written.
    """
    build.write_page(build_html(document), path)


def _title(document: Document) -> str:
    kind = KINDS.get(text(document, "kind"), "Study")
    sentence = text(document, "verdict", "sentence")
    status = status_word(document.get("verdict", {}).get("status")).word
    return shortened(f"{kind}: {status}: {sentence}" if sentence else kind, build.TITLE_LENGTH)


def _sections(document: Document) -> list[StudySection]:
    kind = text(document, "kind")
    found = [
        section
        for section in _all_sections()
        if (not section.kinds or kind in section.kinds) and section.applies(document)
    ]
    return sorted(found, key=lambda section: (section.place, section.id))


@cache
def _all_sections() -> tuple[StudySection, ...]:
    return tuple(members("perfscope.report.studies.sections", "SECTION"))


@cache
def _environment() -> Environment:
    return build.environment_of(HERE / "templates", build.HERE / "templates")
