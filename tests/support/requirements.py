"""What a test needs beyond the repository: skipped where it lacks, a failure in CI."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

_REPOSITORY = Path(__file__).resolve().parents[2]
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def in_ci() -> bool:
    """Whether a missing tool is a failure."""
    return os.environ.get("CI", "").lower() in ("true", "1")


def missing(what: str) -> NoReturn:
    """Ends a test that cannot run here: skipped for people, failed in CI."""
    if in_ci():
        pytest.fail(f"missing in CI: {what}", pytrace=False)
    pytest.skip(f"missing: {what}")


def require_tool(*names: str) -> Path:
    """The first of some programs found in PATH."""
    for name in names:
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    missing(" or ".join(names))


def require_browser() -> Path:
    """A Chromium, for pages seen as a person sees them."""
    return require_tool(*_BROWSERS)


def require_reference(path: str) -> Path:
    """A file or directory of the reference traces, below PERFSCOPE_REFERENCE."""
    default = _REPOSITORY.parent / "shared" / "reference"
    place = Path(os.environ.get("PERFSCOPE_REFERENCE", default)) / path
    if not place.exists():
        missing(f"reference trace {path} (set PERFSCOPE_REFERENCE)")
    return place


def require_root(purpose: str) -> None:
    """Root, for tests that change what a file system or namespace does."""
    if os.geteuid() != 0:
        missing(f"root, to {purpose}")
