"""Environments that are made while tests run, as in `make test`."""

import signal
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from scripts import environments as making
from tests.support import environments
from tests.support.waiting import wait_for


def left_s() -> float:
    """What is left of a test's time."""
    return signal.getitimer(signal.ITIMER_REAL)[0]


@pytest.mark.timeout(120, method="signal")
def test_who_needs_one_that_is_being_made_gets_it_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "ROOT", tmp_path)
    monkeypatch.setattr(environments, "REPOSITORY", tmp_path)
    python = tmp_path / ".envs" / "some" / "bin" / "python"
    before_s = left_s()
    assert before_s > 0
    with ThreadPoolExecutor(1) as pool:
        with making.lock("some"):
            asked = pool.submit(environments.environment, "some")
            wait_for("the test's clock to stand", lambda: left_s() == 0)
            assert not wait([asked], 0.2).done
            python.parent.mkdir(parents=True)
            python.touch()
        assert asked.result().python == python
        assert 0 < left_s() <= before_s
