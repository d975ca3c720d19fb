"""A browser that the tests of pages share: each start of one takes longer than most of them."""

from collections.abc import Iterator

import pytest

from benchmarks.browser import Browser, browser
from tests.support.requirements import require_browser


@pytest.fixture(scope="session")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests of a process; a test leaves it as it was."""
    with browser(str(require_browser()), tmp_path_factory.mktemp("profile")) as opened:
        yield opened
