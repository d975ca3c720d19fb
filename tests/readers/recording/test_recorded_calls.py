"""The engine finds the same calls in records as numpy does, whatever is wrong with them."""

from pathlib import Path

import numpy as np
import pytest

from perfscope.readers.recording.layout import NO_ID, RECORD_DTYPE
from perfscope.readers.recording.numbering import Numbering
from perfscope.readers.recording.process_file import ProcessFile, read_process
from perfscope.readers.recording.recorded_calls import RecordedCalls
from perfscope.trace.model import Table
from perfscope.trace.operations import code_of
from tests.support.plain_calls import PlainCalls
from tests.support.write_recording import MONO_START_NS, ProcessWriter
from tests.support.write_records import random_records


def _process(place: Path, records: Table) -> ProcessFile:
    process = read_process(ProcessWriter(size=4).write(place), host="node0")
    process.records = records
    return process


def _same(process: ProcessFile, communicators: dict[int, int]) -> RecordedCalls:
    numbering = Numbering({}, {}, communicators, {}, 4)
    plain, compiled = PlainCalls(process, numbering), RecordedCalls(process, numbering)
    assert compiled.last_ns == plain.last_ns
    assert compiled.others.tobytes() == plain.others.tobytes()
    end = max(plain.last_ns, process.start_ns) + 5
    wanted, found = plain.closed(end), compiled.closed(end)
    assert np.asarray(found.operations).tobytes() == wanted.operations.tobytes()
    assert found.completions.tobytes() == wanted.completions.tobytes()
    assert found.left_out == wanted.left_out
    assert found.incomplete == wanted.incomplete
    return compiled


@pytest.mark.parametrize("communicators", [{}, {0: 0}, {0: 2, 1: 0}, {1: 1, NO_ID: 3}])
@pytest.mark.parametrize("damaged", [0.0, 0.3])
def test_the_engine_finds_what_numpy_finds(
    tmp_path: Path, communicators: dict[int, int], damaged: float
) -> None:
    for seed in range(20):
        _same(_process(tmp_path, random_records(seed, 400, damaged=damaged)), communicators)


def test_records_of_nothing_hold_no_calls(tmp_path: Path) -> None:
    empty = _process(tmp_path, np.zeros(0, RECORD_DTYPE))
    assert _same(empty, {0: 0}).last_ns == 0
    _same(_process(tmp_path, np.zeros(50, RECORD_DTYPE)), {0: 0})


def test_rows_between_others_are_read_where_they_stand(tmp_path: Path) -> None:
    """A view of every second record is no block of bytes."""
    _same(_process(tmp_path, random_records(3, 200)[::2]), {0: 0})


def test_a_call_that_swallows_others_is_left_out_on_its_own_thread(tmp_path: Path) -> None:
    rows = np.zeros(4, RECORD_DTYPE)
    rows["kind"], rows["op"], rows["comm"] = 1, code_of("MPI_Barrier"), NO_ID
    rows["t0_ns"] = MONO_START_NS + np.array([10, 20, 30, 40])
    rows["t1_ns"] = rows["t0_ns"] + np.array([35, 5, 5, 5], np.uint64)
    rows["tid"] = [1, 2, 1, 1]
    process = _process(tmp_path, rows)
    calls = RecordedCalls(process, Numbering({}, {}, {}, {}, 4))
    closed = calls.closed(MONO_START_NS + 100)
    assert (closed.operations["t0"] - MONO_START_NS).tolist() == [20, 30, 40]
    assert closed.left_out == {"that overlap the next call of their thread": 1}
