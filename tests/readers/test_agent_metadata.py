"""JSON of jobs is read with every field checked."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from perfscope.readers import agent_metadata


def read(tmp_path: Path, content: str) -> dict[str, object]:
    path = tmp_path / "a.json"
    path.write_text(content, encoding="utf-8")
    values, note = agent_metadata.read_json(path)
    assert note is None
    return values


def test_what_no_text_file_could_hold_is_replaced(tmp_path: Path) -> None:
    values = read(tmp_path, '{"argv": ["a\\udc80b", "\\ud83d\\ude00"], "x": NaN}')
    assert values == {"argv": ["a\ufffdb", "\U0001f600"], "x": None}


@pytest.mark.parametrize("content", ["", "[]", "3", "{", "[" * 100_000])
def test_what_is_no_object_gives_a_note(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    values, note = agent_metadata.read_json(path)
    assert values == {}
    assert note is not None


def test_typed_fields() -> None:
    values = {"t": "x", "i": 5, "f": 2.0, "b": True, "n": math.nan, "l": ["a", 1], "h": 1 << 80}
    assert agent_metadata.text(values, "t") == "x"
    assert agent_metadata.text(values, "i") == ""
    assert [agent_metadata.integer(values, key) for key in "ifbnh"] == [5, 2, None, None, None]
    assert agent_metadata.texts(values, "l") == ("a",)
    assert agent_metadata.mapping(values, "l") == {}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}, (3, 4)),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, (1, 2)),
        ({"SLURM_PROCID": "7"}, (7, None)),
        ({"RANK": 2, "WORLD_SIZE": 8}, (2, 8)),
        ({"RANK": "-1", "WORLD_SIZE": "many"}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_ranks_that_launchers_tell(
    environment: dict[str, object], expected: tuple[int | None, int | None]
) -> None:
    assert agent_metadata.rank_and_size(environment) == expected


def test_jobs_that_launchers_tell() -> None:
    assert agent_metadata.job_of({"PMIX_NAMESPACE": "prte@1"}) == "PMIX_NAMESPACE=prte@1"
    assert agent_metadata.job_of({"SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0"}) == "SLURM_JOB_ID=5.0"
    assert agent_metadata.job_of({}) == ""
