"""What is not measured says why, and what to record or to ask for: of traces that hold little."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import pytest

from perfscope.cli.analyze import analyze
from perfscope.cli.run import run
from perfscope.findings.core.finding import Finding
from perfscope.readers.recording.layout import HeaderFlag
from perfscope.readers.registry import open_traces
from perfscope.schema.enums import Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze_trace
from tests.support.otf2_archives import ArchiveWriter
from tests.support.write_kineto import KinetoWriter
from tests.support.write_recording import ProcessWriter, write_run

MS = 1_000_000
FLAGS = {
    option
    for command in (run, analyze)
    for parameter in command.params
    if isinstance(parameter, click.Option)
    for option in parameter.opts
}
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
OF_OTHERS = {"--mpi", "--logdir"}
"""Of horovodrun and tensorboard."""


def kineto(directory: Path) -> Trace:
    """Operators of two ranks, and no step, no annotation and no device."""
    paths = []
    for number in (0, 1):
        writer = KinetoWriter(rank=number, world_size=2)
        writer.host_event("aten::linear", 0, 900 * MS, category="cpu_op")
        paths.append(writer.write(directory / f"{number}.json"))
    return open_traces(paths)


def otf2(directory: Path) -> Trace:
    """A region on two ranks, and no call of MPI."""
    writer = ArchiveWriter(directory)
    writer.ranks(2)
    region = writer.region("compute")
    for number in (0, 1):
        writer.event(number, "Enter", 0, region)
        writer.event(number, "Leave", 900 * MS, region)
    return open_traces([writer.close()])


def one_rank(directory: Path, *, of: int = 1) -> Trace:
    """A recording of one rank that does nothing but begin and end, without samples."""
    process = ProcessWriter(size=of)
    process.communicator(0, 5, list(range(of)))
    process.op("MPI_Init", 0.1, 0.5)
    process.op("MPI_Finalize", 4.0, 5.0)
    process.write(directory)
    write_run(directory, ranks_requested=of)
    return open_traces([directory])


def one_of_two(directory: Path) -> Trace:
    """The recording of one rank, whose neighbor's is missing."""
    return one_rank(directory, of=2)


@cache
def findings(make: Callable[[Path], Trace]) -> dict[str, Finding]:
    with TemporaryDirectory() as place:
        return analyze_trace(make(Path(place))).findings


@pytest.mark.parametrize("make", [kineto, otf2, one_rank, one_of_two])
def test_each_says_why_and_what_to_do(make: Callable[[Path], Trace]) -> None:
    missing = [one for one in findings(make).values() if one.status is Status.NOT_MEASURED]
    assert len(missing) >= 12
    assert Status.ERROR not in {finding.status for finding in findings(make).values()}
    for finding in missing:
        named = set(FLAG.findall(finding.summary))
        assert named <= FLAGS | OF_OTHERS, "there is no such flag"
        assert re.search(r"[.:] ?\w", finding.summary), "a reason and a way out"
        assert named & FLAGS or re.search(r"perfscope (run|analyze)", finding.summary)
        assert finding.summary.endswith((".", ":"))


def test_a_foreign_trace_is_not_told_to_sample_as_it_cannot() -> None:
    for make in (kineto, otf2):
        for finding in findings(make).values():
            if finding.status is Status.NOT_MEASURED:
                assert "--stack-hz" not in finding.summary, finding
                assert "--sample-hz" not in finding.summary, finding


def test_what_perfscope_recorded_is_not_to_be_recorded_with_it(tmp_path: Path) -> None:
    reason = "what it exchanges goes over connections of its own"
    for number in (0, 1):
        process = ProcessWriter(rank=number, size=2, pid=100 + number, flags=HeaderFlag.EXITED)
        process.header |= {"exit_ns": process.mono(5.0)}
        facts = {"rank": number, "size": 2, "exposed_reason": reason}
        process.metadata = {"role": "rank", "pid": process.pid, "frameworks": {"torch": facts}}
        process.step(0, 1.0, 4.0)
        process.write(tmp_path)
    write_run(tmp_path, launcher={"kind": "direct"}, ranks_requested=None)
    told = analyze_trace(open_traces([tmp_path])).findings
    missing = [one for one in told.values() if reason in one.summary.lower()]
    assert {"initialization_skew", "load_imbalance"} <= {one.id for one in missing}
    for one in missing:
        assert "Record the" not in one.summary
