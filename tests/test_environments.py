"""Environments that are made while tests run, as in `make test`."""

from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from scripts import environments as making
from tests.support import environments


def test_who_needs_one_that_is_being_made_gets_it_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "ROOT", tmp_path)
    monkeypatch.setattr(environments, "REPOSITORY", tmp_path)
    python = tmp_path / ".envs" / "some" / "bin" / "python"
    with ThreadPoolExecutor(1) as pool:
        with making.lock("some"):
            asked = pool.submit(environments.environment, "some")
            assert not wait([asked], 0.2).done
            python.parent.mkdir(parents=True)
            python.touch()
        assert asked.result().python == python
