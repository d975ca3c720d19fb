"""What the programs of a profile tell of its job: on how many devices they run."""

from pathlib import Path

import pytest

from perfscope.document.analysis import analysis
from perfscope.document.invariants import broken
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace, open_traces
from perfscope.readers.xplane.planes import Space
from tests.readers.xplane.profiles import PlaneWriter, part, programs, space, steps, tpus
from tests.support.trace_invariants import check_trace

HERE = Path(__file__).parent
FOUR = HERE / "programs" / "four_devices.xplane.pb"
"""As JAX 0.10.2 wrote it of a program on four devices of one process: steps that sum over them."""


def test_programs_tell_on_how_many_devices_they_run() -> None:
    """Real profiles of JAX: one of four devices, one of a single one."""
    assert Space(FOUR).program_devices == 4
    assert Space(HERE / "written" / "vm.xplane.pb").program_devices == 1
    trace = open_trace(FOUR)
    check_trace(trace)
    assert trace.world_size == 1
    assert trace.ranks[0].steps["number"].tolist() == [0, 1, 2]
    assert compute(trace).efficiency.parallel_efficiency.value is None


PROGRAMS: dict[int, tuple[int, float | None, str]] = {
    4: (1, 1.0, ""),
    8: (1, 1.0, ""),  # of eight devices four have work
    2: (2, None, "1 of 2 ranks are missing"),
}


@pytest.mark.parametrize("devices", PROGRAMS)
def test_devices_of_a_host_that_runs_its_programs_alone_are_all(
    tmp_path: Path, devices: int
) -> None:
    """What JAX wrote of programs on four devices, and the planes of the devices of a host."""
    ran = tpus(min(devices, 4), "replica_groups={}")
    idle = [PlaneWriter(f"/device:TPU:{number}") for number in range(4, devices)]
    content = FOUR.read_bytes() + b"".join(part(1, plane.content()) for plane in (*ran, *idle))
    trace = open_trace(written(tmp_path / "a.xplane.pb", content))
    size, value, why = PROGRAMS[devices]
    assert trace.world_size == size
    document = analysis(trace, Options())
    balance = document["devices"]["efficiency"]["bsc"]["load_balance"]
    assert balance["value"] == value
    assert not why or "missing" in balance["reason"]
    assert not broken(document)


@pytest.mark.parametrize(
    "told",
    [
        (None, (1, 2)),  # one does not say so
        ((1, 1),),  # what communicates there is no program of XLA
        (b"\xff" * 20, (1, 2)),
        (b"\x0a\x7f", (1, 2)),
        ((1 << 63, 1 << 63),),
        ((1 << 20, 1 << 20),),
        ((0, 2),),
    ],
)
def test_programs_that_do_not_tell_their_devices_support_nothing(
    tmp_path: Path, told: tuple[tuple[int, int] | bytes | None, ...]
) -> None:
    content = space(programs(*told), steps(), *tpus(2, "replica_groups={}"))
    trace = open_trace(written(tmp_path / "a.xplane.pb", content))
    assert trace.world_size == 1
    balance = analysis(trace, Options())["devices"]["efficiency"]["bsc"]["load_balance"]
    assert balance["value"] is None
    assert "no file tells how many ranks the job had" in balance["reason"]


def test_two_hosts_that_each_run_alone_are_not_known_to_be_a_job(tmp_path: Path) -> None:
    content = {
        host: space(programs((1, 2)), steps(), *tpus(2, "replica_groups={}"), host=host)
        for host in "ab"
    }
    trace = open_traces(
        [written(tmp_path / f"{host}.xplane.pb", content[host]) for host in content]
    )
    assert trace.environment["is_size_told"] is False
    balance = analysis(trace, Options())["devices"]["efficiency"]["bsc"]["load_balance"]
    assert balance["value"] is None


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
