"""Columns of any width are read as they are, or refused."""

import subprocess
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from perfscope import _core
from perfscope.attribution.together import call_columns
from perfscope.trace.model import OPERATION_DTYPE
from tests.support.environments import REPOSITORY
from tests.support.requirements import require_tool


@pytest.mark.parametrize(
    ("held", "is_read"),
    [("int8_t", True), ("int64_t", True), ("uint16_t", False), ("double", False)],
)
def test_only_whole_numbers_with_a_sign_are_read(held: str, is_read: bool) -> None:
    """Read by their size alone, 40,000 of 16 bits without a sign would be -25,536."""
    compiler = require_tool("c++", "g++", "clang++")
    program = (
        '#include "reducers/small_codes.h"\n'
        f"const {held} held[1] = {{}};\n"
        "int main() { return perfscope::AnyInts(held)[0]; }\n"
    )
    options = ["-std=c++17", "-fsyntax-only", f"-I{REPOSITORY}/native/core", "-xc++"]
    command = [str(compiler), *options, "-"]
    done = subprocess.run(command, input=program, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) is is_read, done.stderr
    assert is_read or "with a sign" in done.stderr


@pytest.mark.parametrize(("number", "is_read"), [(5, True), (1 << 31, False)])
def test_a_number_without_room_is_refused(number: int, is_read: bool) -> None:
    """A communicator of 64 bits that lost its upper ones would be another one."""
    enter, leave, op, tid, _, sent, received = call_columns(np.zeros(1, OPERATION_DTYPE))
    comm: npt.NDArray[Any] = np.array([number], np.int64)
    nothing = np.zeros(0, np.int64)

    def ask() -> None:
        told = (enter, leave, op, tid, comm, sent, received)
        _core.free_time(told, 0, 0, 20, (nothing, nothing))

    if is_read:
        ask()
        return
    with pytest.raises(ValueError, match="too large for its column"):
        ask()
