"""Totals that a header keeps in cells."""

from pathlib import Path

import numpy as np
import pytest

from perfscope.readers import open_recording
from perfscope.readers.recording.layout import CELL_DTYPE, MAX_CELLS, THINNING_DTYPE, CellFlag
from tests.support.write_recording import ProcessWriter, write_run

SECOND = 10**9


@pytest.mark.parametrize(("is_in_cells", "expected"), [(0, 1), (1, 3)])
def test_totals_are_those_of_header_and_cells(
    tmp_path: Path, is_in_cells: int, expected: int
) -> None:
    """Where the recorder says so, a call is counted in one of them; a phase is no call."""
    process = ProcessWriter(rank=0, size=1)
    process.communicator(0, 5, [0])
    process.header["exit_ns"] = process.mono(10.0)
    write_run(tmp_path, launcher={"kind": "direct"}, ranks_requested=None)
    process.op("MPI_Allreduce", 1.0, 2.0, sent=80)
    (code,) = process.totals
    cells = np.zeros(MAX_CELLS, CELL_DTYPE)
    key = 1 << 32 | code << 16 | CellFlag.USED
    cells[7] = (key, (2, 2 * SECOND, 160, 0))
    cells[8] = (key | CellFlag.PHASE, (9, 9 * SECOND, 0, 0))
    cells[9] = (key | 0xFFFF << 16, (9, 9 * SECOND, 0, 0))
    told = np.zeros((), THINNING_DTYPE)
    told["is_total_in_cells"] = is_in_cells
    process.header |= {"cells": cells, "thinning": told}
    process.write(tmp_path)
    assert open_recording(tmp_path).ranks[0].totals == {
        code: (expected, expected * SECOND, 80 * expected, 0)
    }
