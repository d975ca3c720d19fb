"""What objects of arrays hold is known where all of it is kept in Python."""

from collections.abc import Callable

from perfscope.agent.perfscope_agent import held
from perfscope.agent.perfscope_agent.operand_arrays import Array
from tests.agent.jobs import Job
from tests.agent.test_operands import MEET_OFTEN, run_and_tell, seen

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
end = time.monotonic() + 1
while time.monotonic() < end:
    drawn(Drawn(square))
"""


def test_what_an_object_holds_is_known_where_nothing_of_it_is_kept_by_c(
    job: Callable[..., Job],
) -> None:
    """A random generator inside it would change without being seen to."""
    told = run_and_tell(job, MEET_OFTEN + OBJECTS_OF_ARRAYS)
    for function in ("the_same", "made_anew"):
        found = [one for one in seen(told, function, "matrix") if one["looks"] > 2]
        assert found
        assert {(one["contents"], one["elements"][1]) for one in found} == {(1, 90000)}
        whole = {(one["looks"], one["whole_looks"]) for one in found if one["whole_looks"]}
        assert whole  # where the loop begins its next turn, nothing tells all that is taken
        assert all(looks == known for looks, known in whole)
    assert max(one["contents"] for one in seen(told, "changing", "matrix")) > 1
    assert not seen(told, "drawn", "matrix")


BUILT_OTHERWISE = {
    "keys": ("{'a': 1, 'b': 2}", "{'b': 1, 'a': 2}"),
    "nesting": ("[1, [2, 3]]", "[[1, 2], 3]"),
    "repeats": ("[5, 5, 7]", "[5, 7, 7]"),
    "hashes": ("[-1, -1.0]", "[-2, -2.0]"),
    "classes": ("One", "Other"),
    "empty": ("[]", "{}"),
    "long": ("[0] * 80 + [1]", "[0] * 80 + [2]"),
}
"""Values that have the same parts, or as many, or parts of the same hash."""

DIFFERENT = """
import operator
class Kind(type):
    __eq__, __hash__ = None, None
class One(metaclass=Kind):
    pass
class Other(metaclass=Kind):
    pass
class Holder:
    def __init__(self, values, *parts):
        self.values, self.parts = values, parts
def contents_of(function):
    sites = operands.looker._sites.values() if operands.looker else []
    found = [one.contents for one in list(sites) if one.code is function.__code__]
    return max([len(one._counts) for one in found], default=0)
def until(is_done, function, *made):
    end = time.monotonic() + 20
    while not is_done(function) and time.monotonic() < end:
        for make in made:
            function(make())
def is_seen(function):
    return max([looks for looks, _ in looks_at(function)], default=0) >= 3
"""
FUNCTION = """
def {0}(holder):
    for _ in range(5000):
        operator.truth(holder)
"""


def test_objects_that_are_built_otherwise_are_told_apart(job: Callable[..., Job]) -> None:
    """Each holds the same array; what is built alike is the same wherever it lies."""
    text = MEET_OFTEN + DIFFERENT
    for name, (one, other) in BUILT_OTHERWISE.items():
        holders = [f"lambda: Holder(square, {value})" for value in (one, other)]
        text += FUNCTION.format(name) + FUNCTION.format(f"same_{name}")
        if name == "long":
            text += f"until(is_seen, {name}, {', '.join(holders)})\n"
        else:
            text += f"until(lambda one: contents_of(one) > 1, {name}, {', '.join(holders)})\n"
            text += f"until(is_seen, same_{name}, {holders[0]})\n"
    told = run_and_tell(job, text)
    for name in BUILT_OTHERWISE:
        contents = [one["contents"] for one in seen(told, name, "holder")]
        same = {one["contents"] for one in seen(told, f"same_{name}", "holder")}
        assert (max(contents, default=0), same) == ((0, set()) if name == "long" else (2, {1})), (
            name
        )


TURNED = """
def turned(values):
    for _ in range(10):
        np.exp(values)
until(lambda one: contents_of(one) > 1, turned, lambda: square, lambda: square.T)
"""


def test_a_matrix_and_its_transpose_have_other_contents(job: Callable[..., Job]) -> None:
    """Of a square one both lie in the same memory and have the same shape."""
    told = run_and_tell(job, DIFFERENT + TURNED)
    assert max(one["contents"] for one in seen(told, "turned", "values")) == 2


TOO_MUCH = """
import functools, tracemalloc
@functools.lru_cache(None)
def kept(number):
    return number
for number in range(300000):
    kept(number)
holder = Holder(square, kept)
tracemalloc.start(1)
until(is_seen, used, lambda: holder)
print(is_seen(used), tracemalloc.get_traced_memory()[1] < 1 << 20)
"""


def test_all_that_c_keeps_is_not_listed(job: Callable[..., Job]) -> None:
    """A look at an object that leads to 300,000 others takes no memory for each of them."""
    text = DIFFERENT + FUNCTION.format("used") + TOO_MUCH
    done = run_and_tell(job, text, b"True True\n")
    assert not seen(done, "used", "holder")


class Table:
    """An object of the program's that keeps all it has in a dictionary."""


def value_of(digest: int, rows: int, *, salt: int = 0, text: str = "sum", size: int = 3) -> int:
    """What processes tell of a table, 0 where that is not known.

    Addresses and hashes of texts are those of one of them.
    """
    form = 77
    told = [
        form,
        (1000 + salt, Table, None),
        (2000 + salt, dict, None),
        (3000 + salt, str, [4000 + salt, size, text]),
        (5000 + salt, int, [rows, rows.bit_length()]),
        (6000 + salt, bytes, ["an array"]),
    ]
    array = Array("array", "float64", "native", 4096, (4,)).laid_out(8, None)
    found = held.seen(told, lambda kind, _: array if kind is bytes else None, lambda _: digest)
    assert found is not None
    return found[0].value if found[0].is_common else 0


def test_what_an_object_holds_is_the_same_for_all_processes_where_its_values_are() -> None:
    assert value_of(5, 3) == value_of(5, 3, salt=1)
    others = [value_of(6, 3), value_of(5, 4), value_of(5, 3, text="mean")]
    assert len({value_of(5, 3), *others}) == 4
    assert value_of(5, 3, size=5000) == 0  # of which no look tells all
