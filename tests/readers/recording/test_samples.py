"""Samples of the main thread: as recorded, over the end of a counter, and with damage."""

from pathlib import Path

import pytest

from perfscope.readers.recording.layout import NO_ID, SampleKind
from perfscope.readers.recording.reader import open_recording
from tests.support.write_recording import ProcessWriter


def test_counters_that_wrap_and_rows_that_cannot_be(tmp_path: Path) -> None:
    process = ProcessWriter()
    process.op("MPI_Init", 0.1, 0.2)
    rows = [(10, 1, 0xFFFFFFF0, NO_ID), (1 << 60, 2, 0, 0), (20, 5, 16, 7), (30, 5, 20, 8)]
    for number, (cpu, queued, faults, throttled) in enumerate(rows):
        fields = {"sent": cpu, "received": queued, "comm": faults, "seq": throttled}
        process.sample(SampleKind.MAIN, 1.0 + number / 10, request=3, **fields)
    process.op("MPI_Finalize", 4.0, 4.5)
    process.write(tmp_path)
    [rank] = open_recording(tmp_path).ranks
    found = rank.main_samples
    assert found["cpu_ns"].tolist() == [10, 20, 30]
    assert found["queue_delay_ns"].tolist() == [1, 5, 5]
    assert found["minor_faults"].tolist() == [0, 32, 36]
    assert found["throttled_ns"].tolist() == [-1, 7_000_000, 8_000_000]


def test_a_counter_goes_on_where_another_thread_becomes_the_main_one(tmp_path: Path) -> None:
    process = ProcessWriter()
    for number, (tid, cpu) in enumerate([(1, 500), (1, 700), (2, 40), (2, 90)]):
        process.sample(SampleKind.MAIN, 1.0 + number / 10, tid=tid, sent=cpu, received=cpu)
    process.write(tmp_path)
    [rank] = open_recording(tmp_path).ranks
    assert rank.main_samples["cpu_ns"].tolist() == [500, 700, 700, 750]


@pytest.mark.parametrize(("tids", "kept"), [((1, 9, 1), [5, 20]), ((1, 9, 9), [])])
def test_the_thread_of_horovod_is_not_the_main_one(
    tmp_path: Path, tids: tuple[int, ...], kept: list[int]
) -> None:
    process = ProcessWriter()
    process.op("Horovod_control", 0.5, 0.6, tid=9)
    for number, (tid, cpu) in enumerate(zip(tids, (5, 90, 20), strict=True)):
        process.sample(SampleKind.MAIN, 1.0 + number / 10, tid=tid, sent=cpu, received=cpu)
    process.write(tmp_path)
    [rank] = open_recording(tmp_path).ranks
    assert rank.main_samples["cpu_ns"].tolist() == kept
