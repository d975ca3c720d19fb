"""What MkDocs calls while it builds the site: links that lead out of docs/ become names of files.

README.md is the first page. All pages are written to be read in the repository, where a link to a
program works; on a site that holds the documentation alone the name of the file is left of it.
"""

import importlib
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?!https?://)[^)#]+)(#[^)]*)?\)")


def on_files(files: Any, *, config: Any) -> Any:
    """README.md becomes the page that the site opens with."""
    file = importlib.import_module("mkdocs.structure.files").File
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    inside = LINK.sub(lambda found: _inside(found, ROOT), text)
    files.append(file.generated(config, "index.md", content=inside))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Links to files that are not on the site become the names of these files."""
    if page.file.src_uri == "index.md":
        return markdown
    return LINK.sub(lambda found: _inside(found, ROOT / "docs"), markdown)


def _inside(found: re.Match[str], home: Path) -> str:
    """A link as it is on the site."""
    image, text, target, place = found[1], found[2], found[3], found[4] or ""
    path = Path(home / target).resolve()
    docs = ROOT / "docs"
    if path.is_relative_to(docs) and path.is_file():
        return f"{image}[{text}]({path.relative_to(docs)}{place})"
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else target
    return f"{text} (`{name}`)" if text and text != str(name) else f"`{name}`"
