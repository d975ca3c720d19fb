"""`pytest --perfscope`: records the tests; each test is a phase of the report.

pytest loads this file wherever perfscope is installed: it imports nothing until it is asked to.
"""

import os
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

RECORDED = "PERFSCOPE_DIR"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options; `--perfscope` takes no value, which might be the path of a test."""
    group = parser.getgroup("perfscope")
    group.addoption(
        "--perfscope",
        action="store_true",
        help="record the tests; each is a phase in `perfscope analyze trace`",
    )
    group.addoption(
        "--perfscope-dir",
        default="trace",
        metavar="DIR",
        help="where --perfscope records to [trace]",
    )


_TAKES = "WXmc"
"""The interpreter's options that take a value, behind them in the same word or in the next one."""


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Runs the same pytest again under `perfscope run`; a library cannot be preloaded later."""
    if not config.getoption("--perfscope") or os.environ.get(RECORDED):
        return None
    directory = config.getoption("--perfscope-dir")
    command = [sys.executable, "-m", "perfscope", "run", "--output", directory, "--"]
    command += [sys.executable, *_how_started(sys.orig_argv[1:]), *config.invocation_params.args]
    sys.stdout.flush()
    os.chdir(config.invocation_params.dir)
    os.execv(sys.executable, command)


def _how_started(words: Sequence[str]) -> list[str]:
    """The interpreter's options (`-O`, `-X dev`) and what makes it pytest.

    Args:
        words: what the interpreter was started with. A program that calls `pytest.main` is not
            started again, pytest is.
    """
    flags: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        place = next((n for n, one in enumerate(word) if one in _TAKES and word[1] != "-"), -1)
        if place > 0 and word[place] in "mc":  # what runs, behind switches of the same word
            flags += [word[:place]] if place > 1 else []
            rest.clear()
            continue
        is_open = word == "--check-hash-based-pycs" or place == len(word) - 1
        flags += [word, *rest[:is_open]]
        del rest[:is_open]
    is_script = bool(rest) and Path(rest[0]).name in ("pytest", "py.test")
    return [*flags, *(rest[:1] if is_script else ["-m", "pytest"])]


def pytest_configure(config: pytest.Config) -> None:
    """Names the tests as phases where they are recorded."""
    if config.getoption("--perfscope") and os.environ.get(RECORDED):
        config.pluginmanager.register(_phases(), "perfscope-phases")


def _phases() -> object:
    """A plugin that makes a phase of each test."""
    import perfscope  # noqa: PLC0415

    class Phases:
        """Hooks of pytest."""

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
            """Marks a test while it is called."""
            with perfscope.phase(item.nodeid):
                yield

    return Phases()
