"""One function for many items: in threads or not, the results are the same and in order."""

import threading
from pathlib import Path
from typing import Any

import pytest

from perfscope import parallel
from perfscope.document.analysis import analysis
from perfscope.metrics.results import Options
from perfscope.readers.recording import run_directory
from perfscope.readers.recording.process_file import read_process
from perfscope.readers.registry import open_trace
from perfscope.schema.write import document_text

SAMPLE = Path(__file__).parents[1] / "sample_traces" / "ddp_slow_rank"


@pytest.mark.parametrize("rows", [0, parallel.ENOUGH_ROWS])
def test_results_come_in_the_order_of_the_items(rows: int) -> None:
    assert parallel.each(lambda item: item * item, range(50), rows=rows) == [
        n * n for n in range(50)
    ]


def test_items_are_taken_at_once_where_there_is_enough_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parallel, "cpu_count", lambda: 2)
    both = threading.Barrier(2, timeout=60)  # breaks where one is waited for before the other
    parallel.each(lambda _: both.wait(), [0, 1])


def test_little_work_starts_no_thread() -> None:
    here = threading.get_ident()
    assert set(parallel.each(lambda _: threading.get_ident(), [0, 1], rows=10)) == {here}


def test_many_small_items_start_no_thread() -> None:
    here = threading.get_ident()
    items = range(parallel.ENOUGH_ROWS // parallel.FEW_ROWS + 1)
    found = parallel.each(lambda _: threading.get_ident(), items, rows=parallel.ENOUGH_ROWS)
    assert set(found) == {here}


def test_large_files_of_a_recording_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=60)
    read = read_process

    def waiting(*args: Any, **kwargs: Any) -> Any:
        both.wait()
        return read(*args, **kwargs)

    monkeypatch.setattr(parallel, "cpu_count", lambda: 2)
    monkeypatch.setattr(run_directory, "_stored_bytes", lambda _: 1 << 30)
    monkeypatch.setattr(run_directory, "read_process", waiting)
    monkeypatch.setattr(run_directory, "expect", lambda *_: None)
    assert len(open_trace(SAMPLE).ranks) == 2


def test_what_is_done_in_threads_comes_to_the_same_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parallel, "cpu_count", lambda: 3)
    found = []
    for enough in (1 << 40, 0):
        monkeypatch.setattr(parallel, "ENOUGH_ROWS", enough)
        monkeypatch.setattr(parallel, "FEW_ROWS", 0)
        found.append(document_text(analysis(open_trace(SAMPLE), Options())))
    assert found[0] == found[1]
