"""Functions that grow while their rank waits for CPUs most of the time."""

import pytest

from tests.findings.cpu.test_growing_steps import crowded


def growing(step: int) -> float:
    """Seconds of a step in the function, on rank 0 at least."""
    return 0.02 + 0.002 * step


@pytest.mark.parametrize(
    ("waits", "level_on_1_s", "is_told"),
    [(0.4, 0.02, True), (0.75, 0.02, False), (0.75, None, True)],
    ids=["known well enough", "on one rank", "on both"],
)
def test_where_most_is_waiting_for_cpus_a_function_has_to_grow_on_several_ranks(
    waits: float, level_on_1_s: float | None, is_told: bool
) -> None:
    """Which function a rank waited in is then hardly known, and its growth may be all waiting."""
    found = crowded(growing, lambda _: 1.0, level_on_1_s=level_on_1_s, waits=waits)
    assert ("summarize() takes longer per step" in found.title) is is_told
