"""Damaged recordings: a message or a sound trace with notes, never a traceback, never nonsense."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfscope.errors import UnreadableInputError
from perfscope.metrics.compute import compute
from perfscope.readers import open_recording
from perfscope.readers.recording.layout import (
    HEADER_BYTES,
    HEADER_DTYPE,
    RECORD_BYTES,
    RECORD_DTYPE,
)
from perfscope.trace.model import Trace
from tests.support.trace_invariants import check_trace
from tests.support.write_recording import two_ranks


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A healthy recording that damaged copies are made from."""
    directory = tmp_path_factory.mktemp("fuzz") / "trace"
    two_ranks(directory)
    return directory


def trace_or_message(directory: Path) -> Trace | UnreadableInputError:
    """What opening a recording gives: a trace, or the error that a user would read."""
    try:
        return open_recording(directory)
    except UnreadableInputError as error:
        return error


def open_damaged(original: Path, damage: Callable[[Path], None]) -> None:
    """Opens a damaged copy and computes its metrics; asserts that what comes out is sound."""
    copy = original.parent / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy)
    damage(copy)
    trace = trace_or_message(copy)
    if isinstance(trace, UnreadableInputError):
        assert all(line and "\n" not in line for line in trace.lines())
        return
    check_trace(trace)
    results = compute(trace)
    np.testing.assert_array_equal(results.ledger.ns.sum(axis=0), results.ledger.life_ns)
    assert np.all(results.ledger.ns >= 0)


FUZZ = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FILES = ("node0/100-5000.rec", "node0/101-5000.def", "node0/101-5000.json", "run.json")


@FUZZ
@given(data=st.data())
def test_truncated_at_any_length(original: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FILES))
    size = (original / name).stat().st_size
    kept = data.draw(st.integers(0, size))

    def damage(copy: Path) -> None:
        with (copy / name).open("r+b") as file:
            file.truncate(kept)

    open_damaged(original, damage)


@FUZZ
@given(data=st.data())
def test_flipped_bits_anywhere(original: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FILES))
    size = (original / name).stat().st_size
    # the second part of the header is empty: look where something is
    places = st.integers(0, size - 1)
    if name.endswith(".rec"):
        places = st.one_of(
            st.integers(0, HEADER_DTYPE.itemsize - 1), st.integers(HEADER_BYTES, size - 1)
        )
    flips = data.draw(st.lists(st.tuples(places, st.integers(0, 7)), min_size=1, max_size=12))

    def damage(copy: Path) -> None:
        content = bytearray((copy / name).read_bytes())
        for place, bit in flips:
            content[place] ^= 1 << bit
        (copy / name).write_bytes(bytes(content))

    open_damaged(original, damage)


@FUZZ
@given(data=st.data())
def test_garbage_in_any_field_of_the_header(original: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(HEADER_DTYPE.names or ()))
    field = HEADER_DTYPE.fields
    assert field is not None
    dtype, offset = field[name][:2]
    garbage = data.draw(st.binary(min_size=1, max_size=min(dtype.itemsize, 64)))

    def damage(copy: Path) -> None:
        content = bytearray((copy / FILES[0]).read_bytes())
        content[offset : offset + len(garbage)] = garbage
        (copy / FILES[0]).write_bytes(bytes(content))

    open_damaged(original, damage)


EXTREMES = (0, 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


@FUZZ
@given(data=st.data())
def test_extremes_in_any_field_of_a_record(original: Path, data: st.DataObject) -> None:
    size = (original / FILES[0]).stat().st_size
    record = data.draw(st.integers(0, (size - HEADER_BYTES) // RECORD_BYTES - 1))
    name = data.draw(st.sampled_from(RECORD_DTYPE.names or ()))
    field = RECORD_DTYPE.fields
    assert field is not None
    dtype, offset = field[name][:2]
    value = data.draw(st.sampled_from(EXTREMES)) % (1 << (8 * dtype.itemsize))

    def damage(copy: Path) -> None:
        content = bytearray((copy / FILES[0]).read_bytes())
        start = HEADER_BYTES + record * RECORD_BYTES + offset
        content[start : start + dtype.itemsize] = value.to_bytes(dtype.itemsize, "little")
        (copy / FILES[0]).write_bytes(bytes(content))

    open_damaged(original, damage)


@FUZZ
@given(value=st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
def test_any_json_where_metadata_should_be(original: Path, value: object) -> None:
    import json

    keys = ("role", "rank_environment", "owner_pid", "argv", "versions", "topology", "frameworks")
    run_keys = ("start_mono_ns", "end_mono_ns", "launcher", "command", "exit_code", "options")

    def damage(copy: Path) -> None:
        (copy / FILES[2]).write_text(json.dumps(dict.fromkeys(keys, value)))
        (copy / "run.json").write_text(json.dumps(dict.fromkeys(run_keys, value)))

    open_damaged(original, damage)
