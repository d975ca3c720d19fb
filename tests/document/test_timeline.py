"""The timeline of analysis.json: one letter for each bin of each rank."""

from itertools import groupby
from typing import Any

import pytest

from perfscope.schema.check import problems
from perfscope.schema.enums import PhaseKind
from perfscope.schema.time import Timeline
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder


def timeline(builder: TraceBuilder) -> dict[str, Any]:
    document: Any = analyze_trace(builder.build(), is_shown=True).document()
    found: dict[str, Any] = document["timeline"]
    assert list(problems(found, Timeline)) == []
    return found


def trained(ranks: int) -> TraceBuilder:
    """Ranks that train from second 1 to 5; rank 0 evaluates for the rest, until second 9."""
    builder = TraceBuilder(ranks, end_s=10.0)
    for number in range(ranks):
        builder.rank(number).init(1.0).finalize(9.0).phase(PhaseKind.TRAIN, 1.0, 5.0)
    builder.rank(0).phase(PhaseKind.EVALUATE, 5.0, 9.0)
    return builder


def runs(cells: str) -> list[tuple[str, int]]:
    return [(letter, len(list(run))) for letter, run in groupby(cells)]


def test_letters_name_the_accounts_of_the_ledger() -> None:
    found = timeline(trained(2))
    names = {row["letter"]: (row["id"], row["label"]) for row in found["accounts"]}
    assert names["a"] == ("training", "Training")
    assert names["c"] == ("evaluation", "Evaluation")
    assert "." not in names
    assert [level["bins"] for level in found["levels"]] == [256, 2048, 16384]
    for level in found["levels"]:
        half = level["bins"] // 2
        assert runs(level["rows"][0]) == [("a", half), ("c", half)]
        assert level["bin_s"] * level["bins"] == pytest.approx(8.0, rel=1e-3)
    assert (found["start_s"], found["length_s"]) == (1.0, 8.0)


def test_rows_follow_the_ranks_and_name_their_hosts() -> None:
    found = timeline(trained(3))
    assert [row["rank"] for row in found["rows"]] == [0, 1, 2]
    assert all(row["host"] for row in found["rows"])
    assert found["ranks_left_out"] == 0


def test_of_many_ranks_64_have_rows() -> None:
    found = timeline(trained(80))
    ranks = [row["rank"] for row in found["rows"]]
    assert (len(ranks), ranks[0], ranks[-1]) == (64, 0, 79)
    assert found["ranks_left_out"] == 16
    assert all(len(level["rows"]) == 64 for level in found["levels"])
    assert sum(len(row) for row in found["levels"][-1]["rows"]) <= 300_000


def test_a_rank_that_is_gone_has_dots() -> None:
    builder = trained(2)
    builder.rank(1).set(end_ns=7 * 10**9, finalize_enter_ns=7 * 10**9)
    found = timeline(builder)
    assert runs(found["levels"][0]["rows"][1])[-1] == (".", 64)  # the last 2 of 8 s


def test_what_stands_behind_a_bin_is_phase_line_call_and_who_is_awaited() -> None:
    """Rank 1 is in the forward pass until 4 s; rank 0 waits for it from 2 s on."""
    builder = TraceBuilder(2, end_s=6.0)
    line = [("main", "/job/train.py", 9), ("train", "/job/train.py", 12)]
    for number, arrival in ((0, 2.0), (1, 4.0)):
        rank = builder.rank(number).init(1.0).op("MPI_Allreduce", arrival, 4.5).finalize(5.0)
        rank.phase(PhaseKind.FORWARD, 1.0, arrival)
        for at in range(10, 50):
            rank.stack(at / 10, line)
    found = timeline(builder)["behind"]
    assert len(found["rows"][0]) == 2 * round(4.0 / found["bin_s"])

    def behind(rank: int, at_s: float) -> tuple[Any, ...]:
        place = 2 * int((at_s - 1.0) / found["bin_s"])
        high, low = (ord(letter) - ord("a") for letter in found["rows"][rank][place : place + 2])
        spot = found["spots"][26 * high + low]
        return spot["phase"], spot["operation"], spot["awaited_rank"], spot["where"]["line"]

    assert behind(1, 3.0) == ("forward", None, None, 12)
    assert behind(0, 3.0) == ("", "MPI_Allreduce", 1, 12)
    assert behind(0, 4.2) == ("", "MPI_Allreduce", None, 12)  # transfer: nobody is awaited
