"""Makes the page of a study: study.html, offline as the report of a run."""

from functools import cache
from pathlib import Path

from jinja2 import Environment

from perfscope.registry import members
from perfscope.report import build
from perfscope.report.labels import status_word
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.text import shortened, visible_document
from perfscope.schema.study import Study
from perfscope.schema.write import as_json, document_text

HERE = Path(__file__).parent
PAGE_FILE = "study.html"
KINDS = {
    "scaling": "Scaling",
    "sweep": "Sweep",
    "compare": "Comparison",
    "history": "History",
    "restarts": "Restarts",
}


def build_html(study: Study) -> str:
    """The study as one HTML page; the same study gives the same page, byte for byte.

    Args:
        study: as study.json holds it. Its texts come from recorded jobs and are not trusted.
    """
    safe: Study = visible_document(study)
    sheets = sorted((HERE / "assets").glob("*.css"))
    style = build.asset("report.css") + "".join(one.read_text(encoding="utf-8") for one in sheets)
    script = "".join(map(build.asset, build.SCRIPTS))
    held = document_text(as_json(study))
    page = build.Page("study", "study.json", held, safe.tool, _title(safe), style, script)
    return build.render(safe, _sections(safe), _environment(), page)


def contexts(study: Study) -> list[Context]:
    """What the sections of a study's page show, before it is a page."""
    safe: Study = visible_document(study)
    return [section.context(safe) for section in _sections(safe)]


def write_page(study: Study, path: Path) -> None:
    """Writes the page of a study to a file, replacing one that is there.

    Raises:
        OSError: the file cannot be written.
    """
    build.write_page(build_html(study), path)


def _title(study: Study) -> str:
    kind, verdict = KINDS[study.kind], study.verdict
    told = f"{kind}: {status_word(verdict.status).word}: {verdict.sentence}"
    return shortened(told if verdict.sentence else kind, build.TITLE_LENGTH)


def _sections(study: Study) -> list[StudySection]:
    found = [
        section
        for section in _all_sections()
        if (not section.kinds or study.kind in section.kinds) and section.applies(study)
    ]
    return sorted(found, key=lambda section: (section.place, section.id))


@cache
def _all_sections() -> tuple[StudySection, ...]:
    return tuple(members("perfscope.report.studies.sections", "SECTION"))


@cache
def _environment() -> Environment:
    return build.environment_of(HERE / "templates", build.HERE / "templates")
