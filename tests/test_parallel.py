"""One function for many items: in threads or not, the results are the same and in order."""

import threading

import pytest

from perfscope import parallel


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
