"""The table of operations is that of the recorder."""

import re
from pathlib import Path

import numpy as np
import pytest

from perfscope.trace import operations
from perfscope.trace.operations import ALL_OPERATIONS, OPERATIONS, OperationClass

DEFINITIONS = Path(__file__).parents[2] / "native" / "recorder" / "operations.def"


def test_same_codes_names_and_classes_as_the_recorder() -> None:
    text = DEFINITIONS.read_text(encoding="utf-8")
    rows = re.findall(r"^OPERATION\((\d+), (\w+), (\w+)\)$", text, re.MULTILINE)
    ours = [(str(o.code), o.name, o.cls.name) for o in OPERATIONS]
    assert ours == rows


def test_codes_and_names_are_unique() -> None:
    assert len(operations.BY_CODE) == len(operations.BY_NAME) == len(ALL_OPERATIONS)
    assert all(operation.code < operations.MAX_OPERATIONS for operation in ALL_OPERATIONS)


def test_masks_agree_with_the_table() -> None:
    assert np.flatnonzero(operations.KNOWN).tolist() == sorted(o.code for o in ALL_OPERATIONS)
    mask = operations.codes_mask([OperationClass.N_TO_N])
    assert mask[operations.code_of("MPI_Allreduce")]
    assert not mask[operations.code_of("MPI_Bcast")]
    codes = np.array([53, 51, 200], np.uint16)
    assert operations.in_classes(codes, OperationClass.N_TO_N).tolist() == [True, False, False]


def test_names_of_unknown_codes() -> None:
    assert operations.name_of(53) == "MPI_Allreduce"
    assert operations.name_of(255) == "operation 255"
    with pytest.raises(KeyError):
        operations.code_of("MPI_Nothing")
