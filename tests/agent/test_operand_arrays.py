"""What a few pieces of a large array tell of the rest of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import perfscope
from perfscope.agent.perfscope_agent import operand_arrays
from perfscope.agent.perfscope_agent.operand_arrays import Array


@pytest.mark.parametrize(
    ("elements", "content", "is_told"),
    [
        (10_000, bytes(32 * 256), False),  # one value of them may be another one each time
        (10_000, bytes(32 * 256 - 1) + b"\1", True),
        (1_000, bytes(8_000), True),  # read whole
    ],
)
def test_zeros_in_all_pieces_tell_nothing_of_the_rest(
    elements: int, content: bytes, *, is_told: bool
) -> None:
    array = Array("array", "float64", "native", 4096, (elements,)).laid_out(8, (8,))
    assert operand_arrays.tells_of_rest(array, content) is is_told


DIGESTS = """
from perfscope_agent import operand_arrays
array = operand_arrays.Array("array", "float64", "native", 4096, (9, 9)).laid_out(8, None)
print([one[0] for one in array.pieces()], operand_arrays.digest(array, bytes(range(64))),
      operand_arrays.of_number(["0x1.8p+1"]).value)
"""


def told(key: str, seed: str, before: str = "") -> str:
    """What one process of a job tells of some contents, after some other code."""
    variables = {"PERFSCOPE_KEY": key, "PYTHONHASHSEED": seed, "PYTHONPATH": AGENT}
    words, environment = [sys.executable, "-S", "-c", before + DIGESTS], {**os.environ, **variables}
    return subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout


AGENT = str(Path(perfscope.__file__).parent / "agent")


def test_processes_of_one_job_alone_tell_equal_contents_alike() -> None:
    one = told("00ff" * 8, "1")
    assert told("00ff" * 8, "2") == one
    assert told("11ff" * 8, "1") != one
    assert told("no number", "1") != told("no number", "1")
    assert told("", "1") != told("", "1")


NO_BLAKE = """
import sys, types
def refused(*_, **__):
    raise ValueError("this Python may not")
sys.modules["_blake2"] = types.SimpleNamespace(blake2b=refused)
"""


def test_without_such_a_function_digests_are_those_of_one_process() -> None:
    """As of a Python that was set to use approved functions alone: the agent does all else."""
    one, again = (told("00ff" * 8, "1", before=NO_BLAKE) for _ in range(2))
    assert one != again
