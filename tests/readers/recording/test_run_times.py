"""Whether what `perfscope run` noted of time is of the clock of the ranks."""

from pathlib import Path

import pytest

from perfscope.readers.recording.reader import open_recording
from tests.support.write_recording import ProcessWriter, write_run


@pytest.mark.parametrize(("run_namespace", "ends_s"), [(4026531834, 20.5), (4026532999, 9.0)])
def test_times_of_the_command_are_of_the_ranks_clock_where_that_is_the_same(
    run_namespace: int, ends_s: float, tmp_path: Path
) -> None:
    """In a container's time namespace the same numbers are other moments."""
    process = ProcessWriter()
    process.op("MPI_Barrier", 1.0, 2.0)
    process.header["exit_ns"] = process.mono(9.0)
    process.write(tmp_path)
    write_run(tmp_path, time_namespace=run_namespace)
    assert open_recording(tmp_path).wall_ns == round(ends_s * 1e9)
