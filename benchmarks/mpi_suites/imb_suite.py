"""The Intel MPI Benchmarks, whose programs come with Intel MPI's package from PyPI.

MPICH runs them, too: it shares their binary interface.
"""

import re
import tempfile
from pathlib import Path

from benchmarks.jobs import prefix
from benchmarks.mpi_suites.outcomes import Ending, Place, recorded_command, run

MPIS = ("mpich", "intelmpi")
PROGRAMS = ("IMB-MPI1", "IMB-NBC", "IMB-P2P", "IMB-RMA", "IMB-MT")
# Few repetitions of small messages: what is compared is the outcome, not the time.
SHORT = ("-iter", "5", "-msglen", "{lengths}")
SHORT_P2P = ("-iter", "5", "-len", "8,4096")
LENGTHS = "0\n8\n4096\n"
BENCHMARK = re.compile(r"^# Benchmarking (\S+)", re.MULTILINE)


def programs() -> list[str]:
    """Those that the environment of Intel MPI has."""
    place = prefix("intelmpi") / "bin"
    return [name for name in PROGRAMS if (place / name).exists()]


def run_program(place: Place, name: str, is_recorded: bool) -> Ending:
    """How a program ends; each benchmark that it came to is a test."""
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        lengths = directory / "lengths"
        lengths.write_text(LENGTHS)
        few = SHORT if name not in ("IMB-P2P", "IMB-MT") else SHORT_P2P[:2]
        words = [word.format(lengths=lengths) for word in few]
        command = place.command(prefix("intelmpi") / "bin" / name, *words)
        if is_recorded:
            command = recorded_command(command, directory / "trace")
        variables = {"LD_LIBRARY_PATH": str(place.binaries.parent / "lib")}
        end, output = run(
            command,
            place=directory,
            binaries=place.binaries,
            longest_s=place.patience_s(is_recorded),
            variables=variables,
        )
    return Ending(end, dict.fromkeys(BENCHMARK.findall(output), "ran"), output)
