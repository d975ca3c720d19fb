"""Records of several processes at once become the tables that each of them becomes alone."""

import numpy as np
import pytest

from perfscope.readers.recording.interning import Ids, translated
from perfscope.readers.recording.layout import RECORD_DTYPE, SampleKind
from perfscope.readers.recording.samples import (
    SAMPLES,
    cpu_samples,
    garbage_collections,
    main_samples,
    plausible_calls,
)
from perfscope.readers.recording.together import Together
from perfscope.trace.model import Table

THREADS = np.array([7], np.uint32)


def samples_of(seed: int, count: int) -> Table:
    """Samples in any order, of counters that mostly grow, and of threads that change."""
    random = np.random.default_rng(seed)
    rows = np.zeros(count, RECORD_DTYPE)
    rows["op"] = random.choice(list(SampleKind), count)
    rows["t0_ns"] = np.sort(random.integers(0, 1000, count))
    rows["t1_ns"] = rows["t0_ns"] + random.integers(0, 9, count).astype(np.uint64)
    for name in ("sent", "received", "request"):
        rows[name] = np.maximum(np.arange(count) * 5 - random.integers(0, 30, count), 0)
    for name in ("comm", "seq", "peer", "tag"):
        rows[name] = random.integers(0, 3, count)
    rows["tid"] = np.where(random.random(count) < 0.1, 7, 3)
    return random.permutation(rows)


def alone(rows: Table) -> Together:
    """Rows of one process."""
    return Together.of([rows])


@pytest.mark.parametrize("seed", range(20))
def test_samples_of_several_processes_are_those_of_each(seed: int) -> None:
    parts = [samples_of(100 * seed + place, count) for place, count in enumerate((40, 0, 90, 1))]
    whole = Together.of(parts)
    for make in (cpu_samples, garbage_collections):
        for found, part in zip(make(whole), parts, strict=True):
            assert found.tolist() == make(alone(part))[0].tolist()
    followed = [THREADS if place % 2 else THREADS[:0] for place in range(len(parts))]
    for found, part, threads in zip(main_samples(whole, followed), parts, followed, strict=True):
        assert found.tolist() == main_samples(alone(part), [threads])[0].tolist()
    table = SAMPLES["call_samples"]
    calls = Together.of([table.rows(part[part["op"] == table.kind]) for part in parts])
    each = [plausible_calls(alone(rows)) for rows in calls.apart()]
    assert plausible_calls(calls).tolist() == np.concatenate(each).tolist()


def test_counters_that_fall_count_against_what_was_above_them_in_their_process_alone() -> None:
    rows = np.zeros(7, [("ns", np.int64)])
    rows["ns"] = [5, 9, 6, 2, 1, 4, 3]
    found = Together.of([rows[:3], rows[3:5], rows[5:5], rows[5:]])
    assert found.growing("ns").tolist() == [True, False, True, False, True, False, True]
    assert found.sums(rows["ns"]).tolist() == [5, 14, 20, 2, 3, 4, 7]
    assert found.firsts.tolist() == [0, 3, 5]
    assert found.counts(rows["ns"] > 3) == [3, 0, 0, 1]


def test_ids_are_those_of_their_process() -> None:
    tables = [{4: 10, 2: 11}, {}, {2: 12}]
    ids, process = np.array([2, 4, 2, 4, 2], np.uint32), np.array([0, 0, 1, 2, 2])
    found, unknown = Ids.of(tables).translated(ids, process)
    assert found.tolist() == [11, 10, -1, -1, 12]
    assert unknown.tolist() == [False, False, True, True, False]
    for place, table in enumerate(tables):
        own = process == place
        assert found[own].tolist() == translated(ids[own], table)[0].tolist()
