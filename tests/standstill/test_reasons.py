"""Why a job stands still, in words, of ranks that are made up."""

from dataclasses import replace

import pytest

from perfscope.standstill.now import COMPUTING, Pending, RankNow
from perfscope.standstill.reasons import MOST_TOLD, in_start, named, reasons, silence

PLACE = "train() (train.py:7)"


def at(
    number: int, doing: str = COMPUTING, *, silent_s: float = 0.0, place: str = PLACE
) -> RankNow:
    """A rank as a picture has it."""
    return RankNow(
        number=number,
        host="node",
        pid=100 + number,
        doing=doing,
        since_s=50.0,
        place=place,
        stack=(),
        sampled_s=None,
        step=None,
        memory_bytes=None,
        silent_s=silent_s,
    )


def barrier(inside: tuple[int, ...], missing: tuple[int, ...]) -> Pending:
    return Pending("MPI_Barrier", "MPI_COMM_WORLD", 4, inside, missing, 50.0)


@pytest.mark.parametrize(
    ("count", "told"), [(2, "Both ranks are in"), (3, "All 3 ranks are in"), (1, "")]
)
def test_ranks_in_one_place_are_told_together(count: int, told: str) -> None:
    assert reasons([at(number) for number in range(count)], []) == (
        [f"{told} {PLACE}."] if told else []
    )


def test_silence_of_several_is_the_least_of_them() -> None:
    """The first of them is not the one that was heard of last."""
    [said] = reasons([at(0, silent_s=90.0), at(1, silent_s=40.0), at(2, silent_s=60.0)], [])
    assert said == f"All 3 ranks are in {PLACE}, without a sign of life for 40.0 s or more."
    [said] = reasons([at(0, silent_s=40.0), at(1, silent_s=40.01)], [])
    assert said == f"Both ranks are in {PLACE}, without a sign of life for 40.0 s."


def test_who_gives_signs_of_life_is_told_apart_from_who_does_not() -> None:
    [said] = reasons([at(0, silent_s=90.0), at(1), at(2)], [])
    assert said == (
        f"Ranks are apart: rank 0 is in {PLACE}, without a sign of life for 90.0 s, "
        f"ranks 1-2 are in {PLACE}."
    )


def test_absent_ranks_are_told_together_however_long_each_is_silent() -> None:
    absent = [at(number, silent_s=30.0 + number) for number in range(1, 6)]
    [said] = reasons([at(0, "MPI_Barrier"), *absent], [barrier((0,), (1, 2, 3, 4, 5))])
    assert said == (
        "MPI_Barrier #4 on MPI_COMM_WORLD: rank 0 waits for ranks 1-5; "
        f"ranks 1-5 are in {PLACE}, without a sign of life for 31.0 s or more."
    )


def test_of_many_places_the_rest_is_counted_by_ranks() -> None:
    absent = [at(number, place=f"f{number}()") for number in range(1, 3 + MOST_TOLD)]
    numbers = tuple(one.number for one in absent)
    [said] = reasons([at(0, "MPI_Barrier"), *absent], [barrier((0,), (*numbers, 9))])
    assert said.endswith("rank 3 is in f3(), rank 9 left no recording, 2 more.")


def test_who_has_ended_is_told_as_that() -> None:
    over = replace(at(1, "killed (9)"), has_ended=True)
    [said] = reasons([at(0, "MPI_Barrier"), over], [barrier((0,), (1,))])
    assert said.endswith("rank 0 waits for rank 1; rank 1 has ended: killed (9).")


def test_messages_that_wait_for_each_other_are_a_circle_and_for_another_one_are_not() -> None:
    ranks = [replace(at(0, "MPI_Send"), awaits=(1,)), replace(at(1, "MPI_Send"), awaits=(0,))]
    [circle] = reasons([*ranks, at(2)], [])
    assert circle.startswith("Ranks 0-1 wait for each other in a circle: rank 0 is in MPI_Send")
    [waits] = reasons([replace(at(0, "MPI_Recv"), awaits=(2,)), at(2)], [])
    assert waits == f"Rank 0 waits for a message from or to rank 2; rank 2 is in {PLACE}."


def test_the_start_tells_who_is_missing_where_the_command_says_how_many() -> None:
    assert in_start(2, None) == in_start(2, 2)
    assert "2 processes of the 4" in in_start(2, 4)


def test_silence_and_names() -> None:
    assert silence(4.0) == ""
    assert "for 6.00 s" in silence(6.0)
    assert named([3, 1, 2, 7]) == "ranks 1-3, 7"
    assert named([5]) == "rank 5"
