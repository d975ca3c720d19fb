"""Numbers of NumPy that arrays meet are seen like these."""

from collections.abc import Callable

from tests.agent.jobs import Job
from tests.agent.test_operands import run_and_tell, seen

NUMBERS = """
def scaled(values, rate):
    return values * rate
def alone(first, second):
    while not stop.is_set():
        third = first * second
stop = threading.Event()
values, rate = rng.normal(size=500000).astype(np.float32), np.sqrt(np.float64(2.0))
repeat(scaled, values, rate)
threading.Timer(0.5, stop.set).start()
alone(rate, rate)
"""


def test_numbers_of_numpy_are_told_where_they_meet_an_array(job: Callable[..., Job]) -> None:
    told = run_and_tell(job, NUMBERS)
    found = seen(told, "scaled", "rate")
    assert {(one["kind"], one["dtype"], one["contents"]) for one in found} == {
        ("number", "float64", 1)
    }
    assert {tuple(one["met"]) for one in found} == {("values", "rate")}
    assert seen(told, "alone", "first") == []


LENGTHS = """
def padded(values, length, seed, width):
    return np.fft.rfft(values, length), seed, width
def look(function):
    for width in range(300, 10**9):
        function(square[0], 601, 123456789, width)
        if sum(looks for looks, _ in looks_at(function)) > 6:
            return
look(padded)
"""


def test_integers_near_a_size_are_lengths_and_no_others_are_told(job: Callable[..., Job]) -> None:
    """`seed` is no size of anything, and nothing is told of `width` that changes."""
    told = run_and_tell(job, LENGTHS)
    found = seen(told, "padded", "values")
    assert found
    assert {tuple(one["lengths"]) for one in found} <= {(601,), ()}
    assert any(one["lengths"] for one in found)
