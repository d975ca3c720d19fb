"""Segments and threads: whatever replays a run, in whatever parts, the result is the same."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.replay import oracle
from benchmarks.replay.programs import exchanging, program_of
from benchmarks.replay.windows import Window, windowed_lengths
from perfscope.engine import engine as compiled
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.extract import extract
from perfscope.replay.program import Needs, segment_lengths
from perfscope.trace.model import PEER_PROC_NULL
from tests.support.trace_builder import TraceBuilder


def test_any_number_of_threads_gives_the_same_to_the_last_bit() -> None:
    """Long enough for several threads to have something to do."""
    window = exchanging(8, 8000, cut_every=5)
    one, three = window.engine(1), window.engine(3)
    columns = (window.gap_ns, window.transfer_ns)
    assert one.lengths(*columns).tolist() == three.lengths(*columns).tolist()
    for a, b in zip(one.times(*columns), three.times(*columns), strict=True):
        assert a.tolist() == b.tolist()
    for path, again in zip(one.critical_path(*columns), three.critical_path(*columns), strict=True):
        assert path.tolist() == again.tolist()
    pieces: dict[str, Any] = {
        "piece_starts": np.arange(len(window.gap_ns) + 1),
        "ns": window.gap_ns,
        "waits_at_end": np.ones(8, np.uint8),
    }
    tag = np.zeros(len(window.gap_ns), np.int32)
    told, by_unit = (tag, 2, None), (tag, 2, tag)
    segments = len(window.cut_rows) - 1
    edges = np.array([0, 0, segments // 3, segments])
    cost, charged = one.delay_cost(*columns, **pieces, tags=[told, by_unit], edges=edges)
    others = three.delay_cost(*columns, **pieces, tags=[told, by_unit], edges=edges)
    assert cost["waiting"] == charged["waiting"] > 0
    for found, other in zip((cost, charged), others, strict=True):
        assert {name: np.asarray(found[name]).tolist() for name in found} == {
            name: np.asarray(other[name]).tolist() for name in other
        }
    assert len(cost["ns"])
    assert not len(charged["ns"])
    assert not len(charged["direct"])
    explained = cost["direct"].sum() + cost["indirect"].sum()
    assert explained + cost["unattributed"] == pytest.approx(cost["waiting"], rel=1e-9)
    assert charged["charged_ns"].sum() == pytest.approx(explained, rel=1e-9)
    assert cost["part_direct"][0] == 0.0
    assert cost["part_cell"].tolist()[0] == -1
    for name in ("direct", "indirect"):
        assert cost[f"part_{name}"].sum() == pytest.approx(cost[name].sum(), rel=1e-9)
    for wrong in (edges + 1, edges[:1], edges[::-1].copy(), edges[:-1]):
        with pytest.raises(ValueError, match="do not fit"):
            three.delay_cost(*columns, **pieces, tags=[told], edges=wrong)


def test_the_largest_cost_of_a_part_is_that_of_its_waits() -> None:
    """Two segments; in the first rank 1 comes 5 later than rank 0, in the second 9 earlier."""
    cuts = np.array([[0, 3], [1, 4], [2, 5]])
    gap = np.array([0.0, 2.0, 10.0, 0.0, 7.0, 1.0])
    window = Window(cut_rows=cuts, needs=Needs.none(6), gap_ns=gap, transfer_ns=np.zeros(6))
    (cost,) = window.engine(2).delay_cost(
        *(gap, window.transfer_ns),
        piece_starts=np.arange(7),
        ns=gap,
        waits_at_end=np.ones(2, np.uint8),
        tags=[(np.array([0, 0, 1, 0, 1, 0], np.int32), 3, None)],
        edges=np.array([0, 1, 2]),
    )
    assert cost["part_direct"].tolist() == [5.0, 9.0]
    assert cost["part_cell"].tolist() == [1 * 3 + 1, 0 * 3 + 1]
    assert cost["part_cell_direct"].tolist() == [5.0, 9.0]
    assert cost["part_cell_indirect"].tolist() == [0.0, 0.0]
    assert (cost["waiter"].tolist(), cost["cause"].tolist()) == ([0, 1], [1, 0])
    assert cost["ns"].tolist() == [5.0, 9.0]


@pytest.mark.parametrize("ranks", [4, 80])
def test_delay_costs_of_narrow_columns_are_those_of_wide_ones(ranks: int) -> None:
    """Of 80 ranks they are made in windows."""
    window = exchanging(ranks, 300, cut_every=4)
    rows, chance = len(window.gap_ns), np.random.default_rng(ranks)
    starts = np.concatenate([[0], np.cumsum(chance.integers(0, 4, rows))])
    ns, tag = chance.random(starts[-1]), chance.integers(0, 100, starts[-1])
    units = np.arange(rows, dtype=np.int32) // 7
    told = []
    for of_starts, of_tag in ((np.int64, np.int32), (np.int32, np.int16), (np.int64, np.int8)):
        found = window.engine(2).delay_cost(
            *(window.gap_ns, window.transfer_ns),
            piece_starts=starts.astype(of_starts),
            ns=ns,
            waits_at_end=np.ones(ranks, np.uint8),
            tags=[(tag.astype(of_tag), 101, None), (tag.astype(of_tag), 101, units)],
        )
        told.append([{name: np.asarray(one[name]).tolist() for name in one} for one in found])
    assert told[0][0]["waiting"] > 0
    assert told[0][1]["charged_ns"]
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("ranks", [8, 300])
def test_who_waits_for_whom_adds_up_whether_pairs_have_places_or_not(ranks: int) -> None:
    """Of 300 ranks there are more pairs than rows by far."""
    window = exchanging(ranks, 12, cut_every=3)
    rows = len(window.gap_ns)
    is_dense = ranks * ranks <= 4 * rows
    assert is_dense == (ranks == 8)
    waits = np.random.default_rng(20261129).integers(0, 500, rows) / 3.0
    found = [
        window.engine(threads).delay_cost(
            *(window.gap_ns, window.transfer_ns),
            piece_starts=np.arange(rows + 1),
            ns=window.gap_ns,
            waits_at_end=np.ones(ranks, np.uint8),
            waits=waits,
            tags=[(np.zeros(rows, np.int32), 2, None)],
        )[0]
        for threads in (1, 3)
    ]
    for name in ("waiter", "cause", "ns"):
        assert found[0][name].tolist() == found[1][name].tolist()
    pairs = found[0]["waiter"] * ranks + found[0]["cause"]
    assert (np.diff(pairs) > 0).all()
    assert found[0]["ns"].sum() == pytest.approx(found[0]["waiting"], rel=1e-4)


def _messages_alone(needs: Needs) -> dict[str, Any]:
    """What rows need without the hubs."""
    is_row = needs.needs >= 0
    before = np.append(0, np.cumsum(is_row))
    return {
        "needs": needs.needs[is_row],
        "need_starts": before[needs.need_starts].astype(np.int32),
    }


def test_waits_of_many_ranks_are_explained_in_windows_as_in_the_whole_run() -> None:
    """Hubs, though nobody needs them, keep the engine from looking at windows."""
    ranks = 70
    window = exchanging(ranks, 300, cut_every=7)
    rows = len(window.gap_ns)
    with_hubs = replace(window.needs, **_messages_alone(window.needs))
    none = Needs.none(rows)
    without = replace(none, needs=with_hubs.needs, need_starts=with_hubs.need_starts)
    generator = np.random.default_rng(20261128)
    arguments: dict[str, Any] = {
        "piece_starts": np.arange(rows + 1) // 2 * 2,
        "ns": generator.integers(0, 1000, rows // 2 * 2) / 7.0,
        "waits_at_end": generator.integers(0, 2, ranks).astype(np.uint8),
        "waits": generator.integers(0, 500, rows) / 3.0,
    }
    tag = generator.integers(0, 3, rows // 2 * 2).astype(np.int32)
    by_unit = (tag % 2, 3, (np.arange(rows) % 5).astype(np.int32))
    kinds = [(tag, 4, None), by_unit]
    edges = np.array([0, 5, 6, 40, len(window.cut_rows) - 1])
    found = []
    for one in (without, with_hubs):
        engine = one.engine(window.cut_rows)
        columns = (window.gap_ns, window.transfer_ns)
        costs = engine.delay_cost(*columns, **arguments, tags=kinds, edges=edges)
        (alone,) = engine.delay_cost(*columns, **arguments, tags=[by_unit], edges=edges)
        assert {name: np.asarray(alone[name]).tolist() for name in alone} == {
            name: np.asarray(costs[-1][name]).tolist() for name in alone
        }
        found.append([{name: np.asarray(cost[name]).tolist() for name in cost} for cost in costs])
    assert found[0] == found[1]
    assert found[0][-1]["waiting"] > 0
    assert len(found[0][-1]["charged_ns"])


def test_work_is_looked_up_for_each_window_as_it_is_added_up_for_all() -> None:
    """In the order of its rows, which what edits added is not."""
    window = exchanging(4, 9000, cut_every=5)
    rows = len(window.gap_ns)
    generator = np.random.default_rng(20261128)
    row = np.sort(generator.integers(0, rows, 2 * rows)).astype(np.int32)
    ns = generator.integers(0, 1000, len(row)) / 7.0
    alone = np.flatnonzero(generator.integers(0, 9, rows) == 0).astype(np.int32)
    alone_ns = generator.integers(0, 1000, len(alone)) / 3.0
    engine = window.engine(2)
    gap = compiled.gaps(row, ns, alone, alone_ns, rows)
    expected = engine.lengths(gap, window.transfer_ns).tolist()
    work = (row, ns, alone, alone_ns, window.transfer_ns)
    assert engine.lengths_of_work(*work).tolist() == expected
    for back, alone_back in ((-1, 1), (1, -1), (-1, -1)):
        gap = compiled.gaps(row[::back].copy(), ns[::back].copy(), alone, alone_ns, rows)
        found = engine.lengths_of_work(
            row[::back].copy(),
            ns[::back].copy(),
            alone[::alone_back].copy(),
            alone_ns[::alone_back].copy(),
            window.transfer_ns,
        )
        assert found.tolist() == engine.lengths(gap, window.transfer_ns).tolist()


@pytest.mark.parametrize("wrong", [-1, 1 << 20])
@pytest.mark.parametrize("place", [0, -1])
def test_work_before_what_is_no_row_is_refused(wrong: int, place: int) -> None:
    window = exchanging(4, 3000, cut_every=5)
    rows, cuts = len(window.gap_ns), window.cut_rows.ravel()
    row = np.arange(rows, dtype=np.int32)
    row[place] = wrong
    ns, none, zeros = window.gap_ns, np.empty(0), np.zeros(rows, np.int32)
    chosen, total = np.ones(rows, np.uint8), np.ones(len(cuts) - 4)
    right = np.arange(rows, dtype=np.int32)
    empty = none.astype(np.int32)
    lengths = window.engine(2).lengths_of_work
    calls: list[Callable[[], object]] = [
        lambda: lengths(row, ns, empty, none, window.transfer_ns),
        lambda: lengths(np.sort(row), ns, empty, none, window.transfer_ns),
        lambda: lengths(right, ns, row, ns, window.transfer_ns),
        lambda: compiled.gaps(row, ns, empty, none, rows),
        lambda: compiled.work_by_rank(row, ns, zeros, ranks=4),
        lambda: compiled.work_by_rank(right, ns, row, ranks=4),
        lambda: compiled.work_by_cell(row, ns, chosen, cuts, ranks=4),
        lambda: compiled.work_by_cell(right, ns, chosen, cuts[1:], ranks=4),
        lambda: compiled.work_by_cell(right, ns, chosen, cuts[:4], ranks=4),
        lambda: compiled.rescaled(row, ns, chosen, cuts, ranks=4, totals=total, targets=total),
        lambda: compiled.rescaled(
            right, ns, chosen, cuts, ranks=4, totals=total, targets=total[1:]
        ),
        lambda: compiled.sums_by_unit(ns, ns, row, zeros, units=rows, ranks=4),
        lambda: compiled.sums_by_unit(ns, ns, zeros, row, units=1, ranks=rows),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="the work does not fit the rows"):
            call()


def test_the_critical_path_of_a_long_run_adds_up_to_it() -> None:
    window = exchanging(4, 420, cut_every=7)
    engine = window.engine(2)
    lengths = engine.lengths(window.gap_ns, window.transfer_ns)
    work, transfer = engine.critical_path(window.gap_ns, window.transfer_ns)
    first = window.transfer_ns[window.cut_rows[0]]
    total = window.gap_ns[work].sum() + window.transfer_ns[transfer].sum()
    assert 0 <= lengths.sum() - total <= first.max()


def test_a_call_that_waits_for_nobody_stands_between_two_cuts() -> None:
    """All needs are met at cuts, and yet not all calls are cuts."""
    builder = TraceBuilder(2, end_s=3.0)
    for number in range(2):
        rank = builder.rank(number).init(0.5)
        rank.op("MPI_Send", 1.0 + number, 1.1 + number, peer=PEER_PROC_NULL, sent=64)
        rank.op("MPI_Allreduce", 1.2 + number, 2.4, sent=64, received=64)
        rank.finalize(2.5)
    program = extract(compute(builder.build(), Options()))
    assert not len(program.needs.needs)
    assert not program.has_only_cuts
    lengths = segment_lengths(program, program.work, program.transfer_ns)
    assert lengths.sum() == oracle.replay(program).length == pytest.approx(2.0e9)


def test_scans_far_down_a_chain_are_replayed() -> None:
    """Each rank waits for all before it, asked from the last one on."""
    ranks, per_rank = 300, 3
    base = np.arange(ranks) * per_rank
    needs = np.arange(ranks, dtype=np.int32)
    has_need = np.zeros(ranks * per_rank, np.int32)
    has_need[base + 1] = 1
    gap = np.zeros(ranks * per_rank)
    gap[base + 1] = np.arange(ranks)[::-1]
    window = Window(
        cut_rows=np.stack([base, base + 2]),
        needs=Needs(
            hub_starts=np.arange(ranks + 1),
            hub_rows=base + 1,
            hub_parent=np.arange(ranks) - 1,
            need_starts=np.append(0, np.cumsum(has_need)).astype(np.int32),
            needs=~needs,
        ),
        gap_ns=gap,
        transfer_ns=np.zeros(ranks * per_rank),
    )
    _, need, cause = window.engine(1).times(window.gap_ns, window.transfer_ns)
    assert set(need[base + 1].tolist()) == {ranks - 1}
    assert cause[base + 1].tolist() == [-1] + [1] * (ranks - 1)


def test_programs_and_windows_are_of_one_kind() -> None:
    """The oracle, which knows neither windows nor segments, agrees on a run of several windows."""
    window = exchanging(4, 12, cut_every=3)
    plain = oracle.replay(program_of(window))
    assert window.lengths().sum() == pytest.approx(plain.length, rel=1e-12)
    assert windowed_lengths([window]).tolist() == window.lengths().tolist()
