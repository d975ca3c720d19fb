"""What samples tell of many ranks in one table is what they tell of each rank alone."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engine.many_ranks import SOURCE, write_many
from perfscope.arrays import Bools, Ints
from perfscope.attribution.cycles import surprise
from perfscope.attribution.recurring import AGREE, _periodic, _Seen
from perfscope.attribution.sampled import RankSamples, sample_ranks
from perfscope.attribution.stack_rules import label_stacks
from perfscope.attribution.together import Asked, gaps_of
from perfscope.cli.main import main
from perfscope.matching.intervals import Layer
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder

STACKS = [
    (("main", "/job/go.py", 3), (name, "/job/go.py", line))
    for name, line in (("train", 5), ("evaluate", 9), ("wobble", 12), ("load_batch", 20))
]


def trace_by_lot(seed: int) -> Trace:
    """Ranks of any pace and beginning, sampled often, rarely, before all else, or never."""
    lot = np.random.default_rng(seed)
    builder = TraceBuilder(9, end_s=200.0)
    for number in range(9):
        rank, now = builder.rank(number), float(lot.uniform(0.0, 30.0))
        if number % 4:
            rank.init(now)
        for _ in range(int(lot.integers(0, 60))):
            work = float(lot.choice([0.001, 0.02, 0.3, 2.0]) * lot.uniform(0.5, 1.5))
            rank.op(str(lot.choice(["MPI_Barrier", "MPI_Allreduce"])), now + work, now + work + 0.1)
            now += work + 0.1
        sampled = 0.0 if number == 5 else now * lot.uniform(0.2, 1.0)
        for at in np.sort(lot.uniform(0.0, sampled, int(lot.integers(0, 150)) if sampled else 0)):
            rank.stack(float(at), STACKS[int(lot.integers(len(STACKS)))])
        if number % 3:  # batches are marked from some moment on, before which input sets up
            begin = float(lot.uniform(0.0, max(now, 0.1)))
            rank.phase(PhaseKind.INPUT, begin, begin + 0.01).step(0, begin, begin + 0.02)
    return builder.build()


def asked(trace: Trace, lot: np.random.Generator) -> Iterator[Asked]:
    for rank in trace.ranks:
        starts = np.sort(lot.choice(10**10, 4 * int(lot.integers(0, 2)), replace=False))
        blocking = Layer(starts, np.resize(np.array([2, -1]), len(starts)))
        yield Asked(rank, blocking, bool(lot.integers(0, 2)))


def plain(value: object) -> object:
    """As lists, which compare."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if is_dataclass(value):
        return [plain(getattr(value, one.name)) for one in fields(value) if one.name != "kind"]
    return value


@pytest.mark.parametrize("seed", range(25))
def test_ranks_in_one_table_are_what_each_is_alone(seed: int) -> None:
    trace = trace_by_lot(seed)
    labels = label_stacks(trace)
    lot = np.random.default_rng(seed)
    bare, ids = np.arange(len(trace.stacks)), lot.permutation(len(labels.ids)) + 3
    every = list(asked(trace, lot))
    alone = [sample_ranks([one], labels, bare=bare, ids=ids)[0] for one in every]
    together = sample_ranks(every, labels, bare=bare, ids=ids)
    assert [plain(one) for one in together] == [plain(one) for one in alone]
    assert_speaks_once(every, together)


def assert_speaks_once(every: list[Asked], found: list[RankSamples]) -> None:
    """Each sampled rank has something that speaks for it, in the rank's own time."""
    for one, samples in zip(every, found, strict=True):
        times = np.concatenate([samples.functions.starts, *samples.phase_rows[:2]])
        assert np.all((times >= one.rank.start_ns) & (times <= one.rank.end_ns))
        inside = in_gaps(one.rank.main_stacks["t"], one)
        assert bool(len(samples.functions.starts)) >= bool(inside.any())


def in_gaps(times: Ints, asked_of: Asked) -> Bools:
    gaps = gaps_of(asked_of.rank, asked_of.blocking)
    place = np.searchsorted(gaps.start, times, side="right") - 1
    return np.asarray((place >= 0) & (times < gaps.end[np.maximum(place, 0)]))


def longest_period(steps: Ints, known: int) -> Ints:
    """One function after the other, one period after the other."""
    for every in range(known // len(steps), 1, -1):
        places = np.sort(steps % every)
        usual = int(places[len(steps) // 2])
        share = float(np.count_nonzero(places == usual)) / len(steps)
        if share >= AGREE and len(steps) * surprise(share, 1.0 / every) > np.log(known):
            first = int(steps[0]) + (usual - int(steps[0])) % every
            return np.arange(first, int(steps[-1]) + 1, every)
    return np.empty(0, np.int64)


@pytest.mark.parametrize("count", [3, 4, 11, 40])
def test_periods_of_many_functions_are_those_of_each(count: int) -> None:
    lot = np.random.default_rng(count)
    seen = []
    for place in range(300):
        known = int(lot.integers(2 * count, 12 * count))
        steps = np.arange(count) * int(lot.integers(1, known // count + 1))
        steps = steps + int(lot.integers(0, known - int(steps[-1])))
        stray = lot.choice(known, int(lot.integers(0, 3)), replace=False)
        steps = np.unique(np.concatenate([stray, steps]))[:count]
        seen.append(_Seen(place, 0, steps, 5.0, known))
    found = [times.tolist() for times in _periodic(seen)]
    assert found == [longest_period(one.steps, one.known).tolist() for one in seen]
    assert any(found)
    assert not all(found)


ASKED_TOGETHER = ("preparation", "rhythms", "timeline")


@pytest.mark.usefixtures("capsys")
def test_documents_do_not_tell_which_ranks_were_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def alone(sizes: Sequence[int], _: int) -> list[range]:
        return [range(place, place + 1) for place in range(len(sizes))]

    write_many(SOURCE, tmp_path / "run", 5, slow=(3,))
    documents = []
    for place in ("together", "alone"):
        main(["analyze", str(tmp_path / "run"), "--no-report", "-o", str(tmp_path / place)])
        documents.append((tmp_path / place / "analysis.json").read_text(encoding="utf-8"))
        for module in ASKED_TOGETHER:
            monkeypatch.setattr(f"perfscope.attribution.{module}.neighbors", alone)
    assert documents[0] == documents[1]
