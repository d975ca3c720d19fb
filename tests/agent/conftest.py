"""Fixtures of the agent's tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.jobs import Job, run


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    """Runs a program text as a recorded Python process."""

    def run_text(text: str, *, arguments: tuple[str, ...] = (), **settings: Any) -> Job:
        script = tmp_path / settings.pop("name", "program.py")
        script.write_text(text, encoding="utf-8")
        directory = settings.pop("directory", tmp_path / "trace")
        return run([*settings.pop("options", ()), script, *arguments], directory, **settings)

    return run_text
