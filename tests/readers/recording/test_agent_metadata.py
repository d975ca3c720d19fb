"""JSON of jobs is read with every field checked."""

import math
from pathlib import Path

import pytest

from perfscope.readers.recording import agent_metadata


def read(tmp_path: Path, content: str) -> dict[str, object]:
    path = tmp_path / "a.json"
    path.write_text(content, encoding="utf-8")
    values, note = agent_metadata.read_json(path)
    assert note is None
    return values


def test_what_no_text_file_could_hold_is_replaced(tmp_path: Path) -> None:
    values = read(tmp_path, '{"argv": ["a\\udc80b", "\\ud83d\\ude00"]}')
    assert values == {"argv": ["a\ufffdb", "\U0001f600"]}


def test_numbers_that_are_not_finite_are_not_known_and_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"x": NaN, "y": {"z": [1, 1e400]}, "end_ns": -Infinity, "good": 3}')
    values, note = agent_metadata.read_json(path)
    assert values == {"x": None, "y": {"z": [1, None]}, "end_ns": None, "good": 3}
    assert note == "a.json: what is no finite number is taken as not known (x, y.z, end_ns)."


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"code": 0, "code": 1}', "it names 'code' twice"),
        (b'{"a": ' * 100_000, "it is nested too deeply"),
        ("{}".encode("utf-16"), "it is not valid JSON in UTF-8"),
        (b'{"a": ' + b"9" * 5000 + b"}", "digits"),
    ],
)
def test_what_could_be_read_in_two_ways_is_not_read(
    tmp_path: Path, content: bytes, why: str
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    values, note = agent_metadata.read_json(path)
    assert values == {}
    assert note is not None
    assert why in note


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    assert read(tmp_path, '\ufeff{"a": 1}') == {"a": 1}


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
    assert agent_metadata.rank_and_size({"rank_environment": environment}) == expected


def test_jobs_that_launchers_tell() -> None:
    assert (
        agent_metadata.job_of({"rank_environment": {"PMIX_NAMESPACE": "prte@1"}})
        == "PMIX_NAMESPACE=prte@1"
    )
    assert (
        agent_metadata.job_of({"rank_environment": {"SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0"}})
        == "SLURM_JOB_ID=5.0"
    )
    assert agent_metadata.job_of({"rank_environment": {}}) == ""
