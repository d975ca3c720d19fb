"""The engine finds the same calls in records as numpy does, whatever is wrong with them."""

from pathlib import Path

import numpy as np
import pytest

from perfscope.readers.recording.interning import Numbering
from perfscope.readers.recording.layout import NO_ID, RECORD_DTYPE, RecordKind
from perfscope.readers.recording.process_file import ProcessFile, read_process
from perfscope.readers.recording.recorded_calls import LONG_ROWS, RecordedCalls
from perfscope.trace.model import Table
from perfscope.trace.operations import code_of
from tests.support.plain_calls import PlainCalls
from tests.support.write_recording import MONO_START_NS, ProcessWriter
from tests.support.write_records import random_records


def _process(place: Path) -> ProcessFile:
    return read_process(ProcessWriter(size=4).write(place), host="node0")


def _taken(process: ProcessFile, records: Table, block: int = 1 << 20) -> RecordedCalls:
    calls = RecordedCalls(None)
    calls.begin(process.header, len(records) // 2)
    for first in range(0, len(records), block):
        part = records[first : first + block]
        used = np.flatnonzero(part["kind"] != RecordKind.NONE)
        assert calls.take(part) == (used[-1] + 1 if len(used) else 0)
    return calls


def _same(
    process: ProcessFile, records: Table, communicators: dict[int, int], block: int = 1 << 20
) -> RecordedCalls:
    numbering = Numbering({}, {}, communicators, {}, 4)
    plain, compiled = PlainCalls(process, records, numbering), _taken(process, records, block)
    assert compiled.last_ns == plain.last_ns
    assert compiled.possible_others.tobytes() == plain.others.tobytes()
    assert compiled.last_told_ns == _latest_in_life(process, records)
    end = max(plain.last_ns, process.start_ns) + 5
    wanted, found = plain.closed(end), compiled.closed(end, numbering)
    assert np.asarray(found.operations).tobytes() == wanted.operations.tobytes()
    assert found.completions.tobytes() == wanted.completions.tobytes()
    assert found.left_out == wanted.left_out
    assert found.incomplete == wanted.incomplete
    return compiled


def _latest_in_life(process: ProcessFile, records: Table) -> int:
    kept = records[records["kind"] != RecordKind.THINNED]
    moments = np.concatenate([kept["t0_ns"], kept["t1_ns"]])
    told = moments[(moments >= process.start_ns) & (moments <= process.bound_ns)]
    return int(told.max(initial=0))


@pytest.mark.parametrize("communicators", [{}, {0: 0}, {0: 2, 1: 0}, {1: 1, NO_ID: 3}])
@pytest.mark.parametrize("damaged", [0.0, 0.3])
def test_the_engine_finds_what_numpy_finds(
    tmp_path: Path, communicators: dict[int, int], damaged: float
) -> None:
    process = _process(tmp_path)
    for seed in range(20):
        records = random_records(seed, 400, damaged=damaged)
        _same(process, records, communicators, block=1 + 37 * seed)


def test_long_tables_are_columns_of_the_same_rows(tmp_path: Path) -> None:
    """Of more calls than the engine looks at in one go, and fewer than the header lets expect."""
    _same(_process(tmp_path), random_records(5, 3 * LONG_ROWS, damaged=0.1), {0: 0})


def test_records_of_nothing_hold_no_calls(tmp_path: Path) -> None:
    process = _process(tmp_path)
    assert _same(process, np.zeros(0, RECORD_DTYPE), {0: 0}).last_ns == 0
    _same(process, np.zeros(50, RECORD_DTYPE), {0: 0})


def test_rows_between_others_are_read_where_they_stand(tmp_path: Path) -> None:
    """A view of every second record is no block of bytes."""
    _same(_process(tmp_path), random_records(3, 200)[::2], {0: 0})


def test_a_call_that_swallows_others_is_left_out_on_its_own_thread(tmp_path: Path) -> None:
    rows = np.zeros(4, RECORD_DTYPE)
    rows["kind"], rows["op"], rows["comm"] = 1, code_of("MPI_Barrier"), NO_ID
    rows["t0_ns"] = MONO_START_NS + np.array([10, 20, 30, 40])
    rows["t1_ns"] = rows["t0_ns"] + np.array([35, 5, 5, 5], np.uint64)
    rows["tid"] = [1, 2, 1, 1]
    calls = _taken(_process(tmp_path), rows)
    closed = calls.closed(MONO_START_NS + 100, Numbering({}, {}, {}, {}, 4))
    assert (closed.operations["t0"] - MONO_START_NS).tolist() == [20, 30, 40]
    assert closed.left_out == {"that overlap the next call of their thread": 1}
