"""What the agent tells of the caches of a program's functions."""

from collections.abc import Callable

from tests.agent.jobs import RANK_ZERO, Job

SCRIPT = """
import functools, json
from functools import lru_cache
@lru_cache(maxsize=2)
def small(number):
    return number * number
@lru_cache(maxsize=None)
def endless(number):
    return -number
@lru_cache
def unused(number):
    return number
class Mesh:
    @lru_cache(maxsize=3)
    def area(self, number):
        return number
    @staticmethod
    @lru_cache(maxsize=4)
    def edges(number):
        return number
    @property
    def broken(self):
        raise RuntimeError("code of the program ran")
outer = lru_cache(8)(json.dumps)  # of a library
alias = small
mesh = Mesh()
for number in range(12):
    small(number % 3)
    endless(number % 3)
    mesh.area(number % 3)
    Mesh.edges(number)
    outer(number)
"""


def test_caches_of_functions_and_methods_are_told_with_what_they_counted(
    job: Callable[..., Job],
) -> None:
    done = job(SCRIPT, variables=RANK_ZERO)
    assert (done.exit_code, done.process.metadata["agent_notes"]) == (0, []), done.stderr
    told = {}
    for one in done.process.metadata["caches"]:
        function, _, line = one["place"].split("\x1f")
        told[function.rpartition(".")[2]] = (one["hits"], one["misses"], one["most"], one["size"])
        assert int(line) > 1
    assert told == {
        "small": (0, 12, 2, 2),
        "endless": (9, 3, -1, 3),
        "area": (9, 3, 3, 3),
        "edges": (0, 12, 4, 4),
    }
