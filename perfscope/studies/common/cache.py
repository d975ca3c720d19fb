"""Results of an analysis kept beside what was analyzed, so that a second study need not repeat it.

A kept result counts only for the very files, tool and options that it was made from.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import perfscope
from perfscope import files
from perfscope.schema.check import problems
from perfscope.schema.read import version_of

Json = dict[str, Any]
DIRECTORY_CACHE = ".perfscope-analysis.json"
OWN_RESULTS = frozenset({"analysis.json", "report.html", "study.json", "study.html"})
MOST_FILES = 20_000


def kept_result(path: Path, key: str) -> Json | None:
    """The result kept for a path under this key; None when there is none that counts."""
    try:
        stored = files.read_json(_place(path))
    except (OSError, ValueError):
        return None
    match stored:
        case {"key": known, "document": dict() as document} if known == key:
            return None if any(problems(document)) else document
    return None


def keep_result(path: Path, key: str, document: Json) -> None:
    """Keeps a result; where nothing can be written the next study analyzes again."""
    place = _place(path)
    if not _may_write(place.parent):
        return
    # begins like a result of perfscope, which no reader takes for a trace
    stored = {
        "schema_version": version_of(document),
        "tool": {"name": "perfscope", "version": perfscope.__version__},
        "key": key,
        "document": document,
    }
    with suppress(OSError):
        files.replace_file(place, json.dumps(stored, ensure_ascii=False).encode("utf-8"))


def key_of(path: Path, options: str) -> str:
    """What a result of the path depends on: its files, the tool, and how it was asked for."""
    digest = hashlib.sha256()
    for line in (perfscope.__version__, options, *_tool_files(), *_input_files(path)):
        digest.update(line.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _may_write(folder: Path) -> bool:
    """Whether its owner lets it be written to: root could, but it was made read-only on purpose."""
    try:
        return bool(folder.stat().st_mode & 0o222)
    except OSError:
        return False


def _place(path: Path) -> Path:
    if path.is_dir():
        return path / DIRECTORY_CACHE
    return path.with_name(f".{path.name}{DIRECTORY_CACHE}")


def _input_files(path: Path) -> Iterator[str]:
    """Name, size and time of every file that the analysis may read."""
    # files that belong to a trace (definitions, names) lie beside it
    top = path if path.is_dir() else path.parent
    yield path.name if path.is_file() else ""
    count = 0
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            if name in OWN_RESULTS or DIRECTORY_CACHE in name or name.endswith(".partial"):
                continue
            count += 1
            if count > MOST_FILES:
                return
            yield _stamp(Path(folder, name), top)


@cache
def _tool_files() -> tuple[str, ...]:
    """The same of perfscope itself: a checkout changes without a new version."""
    package = Path(perfscope.__file__).parent
    return tuple(_stamp(file, package) for file in sorted(package.rglob("*.py")))


def _stamp(file: Path, top: Path) -> str:
    try:
        found = file.stat()
    except OSError:
        return f"{file.relative_to(top)} is gone"
    return f"{file.relative_to(top)} {found.st_size} {found.st_mtime_ns}"
