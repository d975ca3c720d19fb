"""A picture as a page that loads itself again; it needs no server and no script."""

import base64
import hashlib
import time
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from perfscope.report.build import asset, environment_of, write_page
from perfscope.watch.blocks import Block

_TEMPLATES = Path(__file__).parent / "templates"
_LAYOUT = """
main { max-width: 1100px; margin: 0 auto; padding: 20px 16px 40px; display: grid; gap: 24px; }
h1 { font-size: 1.1rem; }
h2 { font-size: 1.1rem; margin-bottom: 6px; }
section { min-width: 0; padding: 0; border: 0; margin: 0; }
section p { margin: 0 0 4px; max-width: none; }
section[role="alert"] { background: var(--fail-bg); border-radius: 10px; padding: 14px 18px; }
section[role="alert"] h2 { color: var(--fail); }
"""
"""One column: a report's style puts its contents beside it."""


def page(blocks: Sequence[Block], *, source: str, refresh_s: float | None) -> str:
    """The page.

    A browser looks again after `refresh_s`, None for no more.
    """
    style = asset("report.css") + _LAYOUT
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    return (
        environment_of(_TEMPLATES)
        .get_template("watch.html")
        .render(
            blocks=blocks,
            source=source,
            refresh_s=None if refresh_s is None else max(1, round(refresh_s)),
            style=Markup(style),
            policy=f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:",
            written=time.strftime("%Y-%m-%d %H:%M:%S"),
        )
    )


def write(blocks: Sequence[Block], path: Path, *, source: str, refresh_s: float | None) -> None:
    """Writes the page in one step: a browser sees the old one or the new one.

    Raises:
        OSError: the file cannot be written.
    """
    write_page(page(blocks, source=source, refresh_s=refresh_s), path)
