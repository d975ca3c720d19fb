"""Makes the report: one HTML file that needs no network, and no script to be read."""

import base64
import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from perfscope.errors import UsageError
from perfscope.files import replace_file
from perfscope.registry import members
from perfscope.report import formats
from perfscope.report.palette import Fill, lost_rules, used_fills
from perfscope.report.sections import ORDER
from perfscope.report.sections.busy_host import own_sentence
from perfscope.report.sections.findings import verdict_word
from perfscope.report.sections.section import Context, Section
from perfscope.report.text import (
    bound,
    coded,
    sentence,
    sentences,
    shortened,
    stopped,
    visible_document,
    whole_sentences,
)
from perfscope.schema.analysis import Analysis
from perfscope.schema.run import Tool
from perfscope.schema.write import as_json, document_text
from perfscope.structures import dataclass

HERE = Path(__file__).parent
SCRIPTS = ("page.js", "tables.js")
"""What moves on every page: of a run, and of a study."""
TIMELINE = ("timeline_words.js", "timeline_paint.js", "timeline.js", "timeline_window.js")
"""What moves on the page of a run besides; the order counts."""
TITLE_LENGTH = 120
MOST_HELD = 300_000
"""Characters: a document that packs into no less stays out of its page."""
BLOCK_BYTES = 1 << 18
"""So much at a time is packed, until it is known to be too long."""


def build_html(result: Analysis, text: str = "") -> str:
    """The whole report as one HTML page; the same result gives the same page, byte for byte.

    The result's texts come from the recorded job and are not trusted. `text` is that of
    analysis.json, where it is at hand; else it is made from the result.
    """
    text = text or document_text(as_json(result))
    result = _visible(result)
    style = _style()
    script = "".join(map(asset, (*SCRIPTS, *TIMELINE)))
    page = Page("report", "analysis.json", text, result.tool, _title(result), style, script)
    return render(result, _sections(), _environment(), page)


def asset(name: str) -> str:
    """A style sheet or script of the report."""
    return (HERE / "assets" / name).read_text(encoding="utf-8")


def _style() -> str:
    """The style sheet of a report, whole or a section of it."""
    return asset("report.css") + lost_rules()


def contexts(result: Analysis) -> list[Context]:
    """What the sections of a report show of a result, before it is a page."""
    safe = _visible(result)
    return [section.context(safe) for section in _sections()]


def section_names() -> list[str]:
    """What the sections of a report are called, in their order on the page."""
    return [section.id for section in _sections()]


def build_excerpt(result: Analysis, name: str) -> str:
    """One section of the report as a page without scripts, for what shows it inside another one.

    Raises:
        UsageError: there is no section of this name.
    """
    section = next((section for section in _sections() if section.id == name), None)
    if section is None:
        raise UsageError(
            f"The report has no section {name!r}.",
            why=f"Its sections are {', '.join(section_names())}.",
            action="Ask for one of these.",
        )
    style, environment = _style(), _environment()
    page = Page("report", "", "", result.tool, section.title, style, "")
    body = _body(section, section.context(_visible(result)), environment)
    template = environment.get_template("excerpt.html")
    return template.render(
        title=page.title,
        policy=_policy(page),
        style=Markup(style),
        section=body,
        fills=_fills([body]),
    )


@dataclass(frozen=True)
class Page:
    """What a page is: of a run, or of a study."""

    noun: str  # what it is called
    source: str  # the file that holds all that it shows
    text: str  # of that file; unless it is large the page holds it, and saves it when asked to
    tool: Tool  # what made that
    title: str  # of the browser's tab
    style: str  # its style sheet
    script: str  # what moves on it


def render(result: Any, sections: Sequence[Section], environment: Environment, page: Page) -> str:
    """A page of sections under a policy that allows its style sheet, its script and nothing else.

    The result has been made visible already.
    """
    bodies = [_body(section, section.context(result), environment) for section in sections]
    return environment.get_template("page.html").render(
        noun=page.noun,
        source=page.source,
        held=_packed(page.text),
        title=page.title,
        policy=_policy(page),
        style=Markup(page.style),
        script=Markup(page.script),
        generator=f"{page.tool.name} {page.tool.version}".strip() or "perfscope",
        sections=bodies,
        fills=_fills(bodies),
    )


def _body(section: Section, context: Context, environment: Environment) -> Context:
    """What the page shows of a section."""
    absent, takeaway, later = _summary(**context)
    absent = absent if section.is_folded else ""
    template = environment.get_template(section.template)
    return {
        "id": section.id,
        "title": section.title,
        "is_folded": section.is_folded,
        "is_summary": section.is_summary,
        "absent": absent,
        "takeaway": takeaway,
        "anchor": f"{section.id}-evidence" if section.is_folded and not absent else section.id,
        "later": later,
        "body": "" if absent else Markup(template.render(context)),
    }


def _fills(bodies: Sequence[Context]) -> list[Fill]:
    """The patterns of losses that some sections show."""
    return used_fills("".join(str(told) for body in bodies for told in body.values()))


def _summary(
    *, absent: str = "", takeaway: str = "", later: str = "", **_: Any
) -> tuple[str, str, str]:
    """What of a context is shown where its section is folded, and what its script asks for."""
    return absent, takeaway, later


def write_report(result: Analysis, path: Path, text: str = "") -> None:
    """Writes the report of a result to a file, replacing one that is there; see `build_html`.

    Raises:
        OSError: the file cannot be written.
    """
    write_page(build_html(result, text), path)


def write_page(page: str, path: Path) -> None:
    """Writes a page to a file, replacing one that is there at once.

    Raises:
        OSError: the file cannot be written.
    """
    replace_file(path, page.encode("utf-8"))


def _title(result: Analysis) -> str:
    status, said = verdict_word(result).word, own_sentence(result.verdict)
    return shortened(f"{status}: {said}" if said else "perfscope report", TITLE_LENGTH)


def _visible(result: Analysis) -> Analysis:
    """The result with its texts made visible; the timeline's section checks its long rows."""
    safe = visible_document(result)
    assert isinstance(safe, Analysis)
    rows = result.timeline
    behind = safe.timeline.behind
    if behind is not None and rows.behind is not None:
        behind = replace(behind, rows=rows.behind.rows)
    return replace(safe, timeline=replace(safe.timeline, levels=rows.levels, behind=behind))


def _policy(page: Page) -> str:
    """Allows the page's own style sheet and script and nothing else: no network, no frame."""
    return (
        f"default-src 'none'; style-src {_source(page.style)}; "
        f"script-src {_source(page.script)}; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _packed(text: str) -> str:
    """A text as a page holds it: zlib's stream in base64, a fifth of its size; "" if too long."""
    packer, whole, packed = zlib.compressobj(9), text.encode("utf-8"), b""
    for start in range(0, len(whole), BLOCK_BYTES):
        packed += packer.compress(whole[start : start + BLOCK_BYTES])
        if len(packed) > MOST_HELD * 3 // 4:
            return ""
    held = base64.b64encode(packed + packer.flush()).decode("ascii")
    return held if len(held) <= MOST_HELD else ""


def _source(content: str) -> str:
    """What a policy calls the style sheet or script with exactly this content."""
    digest = base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


@cache
def _sections() -> tuple[Section, ...]:
    found: list[Any] = members("perfscope.report.sections", "SECTION", order=ORDER)
    return tuple(found)


@cache
def _environment() -> Environment:
    return environment_of(HERE / "templates")


def environment_of(*folders: Path) -> Environment:
    """What renders the templates of some folders, the first one first."""
    environment = Environment(
        loader=FileSystemLoader(folders),
        autoescape=select_autoescape(["html"], default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shortened": shortened,
        "whole_sentences": whole_sentences,
        "sentence": sentence,
        "sentences": sentences,
        "bound": bound,
        "stopped": stopped,
        "coded": coded,
        "seconds": formats.seconds,
        "percent": formats.percent,
    }
    return environment
