"""What studies take from a run rests on its figures and flags, never on the words beside them."""

import pytest

from tests.support.study_runs import made_run


@pytest.mark.parametrize("words", ["", "the clocks may be wrong by 1 s", "they disagree"])
def test_waiting_is_not_known_where_clocks_do_not_tell(words: str) -> None:
    waits = {"clocks_reason": words or None, "wait_s_by_rank": [1.0, 2.0]}
    run = made_run("a", focus_s=4.0, work_s=[3.0, 2.0], more={"collectives": waits})
    assert run.waiting_s_by_rank == (None if words else (1.0, 2.0))
