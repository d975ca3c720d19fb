"""What is shown of a study, from what its study.json holds."""

import io
from typing import Any

from rich.console import Console

from perfscope.report.studies.badge import badge_svg
from perfscope.report.studies.build import build_html
from perfscope.report.studies.markdown import comparison
from perfscope.report.studies.terminal import print_study
from perfscope.schema.read import known
from perfscope.schema.study import Study

Json = dict[str, Any]


def page_of(document: Json) -> str:
    return build_html(known(document, Study))


def printed(document: Json, width: int = 100) -> str:
    """What a terminal of a width shows."""
    out = io.StringIO()
    print_study(known(document, Study), Console(file=out, width=width, color_system=None))
    return out.getvalue()


def markdown_of(document: Json) -> str:
    return comparison(known(document, Study))


def badge_of(document: Json) -> str:
    history = known(document, Study).history
    assert history is not None
    return badge_svg(history)
