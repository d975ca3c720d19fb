"""What objects of arrays hold is known where all of it is kept in Python."""

from collections.abc import Callable

from tests.agent.jobs import Job
from tests.agent.test_operands import run_and_tell, seen

OBJECTS_OF_ARRAYS = """
import pickle, random
class Kind(type):
    def __eq__(self, other):
        print("asked")
        return self is other
    __hash__ = type.__hash__
class Part(metaclass=Kind):
    pass
class Matrix:
    def __init__(self, values):
        self.parts, self.sizes, self.name = {"values": values}, values.shape, "matrix"
        self.part = Part()
class Drawn(Matrix):
    def __init__(self, values):
        super().__init__(values)
        self.draws = random.Random(1)
def the_same(matrix):
    for _ in range(10):
        pickle.dumps(matrix)
def made_anew(values):
    for _ in range(10):
        matrix = Matrix(values)
        pickle.dumps(matrix)
def changing(matrix):
    for _ in range(10):
        matrix.name += "x"
        pickle.dumps(matrix)
def drawn(matrix):
    for _ in range(10):
        pickle.dumps(matrix)
def often(function, argument):
    while max([looks for looks, _ in looks_at(function)], default=0) < 5:
        function(argument)
often(the_same, Matrix(square))
often(made_anew, square)
often(changing, Matrix(square.copy()))
end = time.monotonic() + 2
while time.monotonic() < end:
    drawn(Drawn(square))
"""


def test_what_an_object_holds_is_known_where_nothing_of_it_is_kept_by_c(
    job: Callable[..., Job],
) -> None:
    """A random generator inside it would change without being seen to."""
    told = run_and_tell(job, OBJECTS_OF_ARRAYS)
    for function in ("the_same", "made_anew"):
        found = [one for one in seen(told, function, "matrix") if one["looks"] > 2]
        assert found
        assert {(one["contents"], one["elements"][1]) for one in found} == {(1, 90000)}
        assert {one["whole_looks"] - one["looks"] for one in found} == {0}
    assert max(one["contents"] for one in seen(told, "changing", "matrix")) > 1
    assert not seen(told, "drawn", "matrix")
