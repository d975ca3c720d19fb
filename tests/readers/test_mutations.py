"""Recordings and traces changed at random: a trace that is sound, or a message."""

import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from perfscope.dataframes.source import Source
from perfscope.errors import UnreadableInputError
from perfscope.export import chrome, csv, otf2, parquet, perfetto
from perfscope.metrics.compute import compute
from perfscope.readers import open_trace
from tests.readers.cube import test_cube
from tests.readers.flight_recorder import test_flight
from tests.readers.joblog import test_joblog
from tests.readers.mprof import test_mprof
from tests.readers.nccl_inspector import test_inspector
from tests.readers.nsys import exports
from tests.readers.rocprof import profiles, test_rocprof
from tests.readers.sampled_stacks import test_pyspy
from tests.readers.talp import test_talp
from tests.support import paraver_files
from tests.support.environments import REPOSITORY
from tests.support.otf2_archives import ArchiveWriter
from tests.support.trace_invariants import check_trace
from tests.support.write_kineto import small
from tests.support.write_recording import two_ranks

INPUTS = REPOSITORY / "tests" / "native" / "core" / "inputs"
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)


def recording(place: Path) -> Path:
    """Two ranks of perfscope's own."""
    two_ranks(place)
    return place


def archive(place: Path) -> Path:
    """An OTF2 archive of two ranks."""
    writer = ArchiveWriter(place)
    writer.ranks(2)
    region = writer.region("main")
    for location in range(2):
        writer.mapping(location, 3, {0: region}, dense=location == 0)
        for at in range(40):
            writer.event(location, "Enter" if at % 2 == 0 else "Leave", 1000 + 10 * at, region)
    return writer.close()


def profile(place: Path) -> Path:
    """A profile of PyTorch."""
    place.mkdir()
    return small().write(place / "profile.json")


def paraver(place: Path) -> Path:
    """A trace of Extrae."""
    place.mkdir()
    return Path(shutil.copy(INPUTS / "small.prv", place))


def timeline(place: Path) -> Path:
    """A timeline of Horovod."""
    place.mkdir()
    return Path(shutil.copy(INPUTS / "small_timeline.json", place))


def efficiencies(place: Path) -> Path:
    """What TALP measured."""
    place.mkdir()
    return test_talp.write(place, test_talp.of_release_3_6())


def stacks(place: Path) -> Path:
    """A file of speedscope."""
    place.mkdir()
    told = test_pyspy.profile("sampled", samples=[[0, 1], [0, 2]] * 9, weights=[0.02] * 18)
    return test_pyspy.speedscope(place, told)


def dump(place: Path) -> Path:
    """A pickle of PyTorch's flight recorder."""
    place.mkdir()
    entries = [test_flight.entry(number) for number in range(9)]
    return test_flight.dumped(place, entries)[0]


def cube(place: Path) -> Path:
    """A profile of Score-P."""
    place.mkdir()
    return test_cube.archive(place, {"remapping.spec": b""}, is_packed=True)


def exported(place: Path, write: Callable[[Source, Path], list[str]], name: str) -> Path:
    """An export of two ranks under a name."""
    place.mkdir()
    two_ranks(place / "recording")
    write(Source(open_trace(place / "recording")), place / name)
    shutil.rmtree(place / "recording")
    return place / name


def packets(place: Path) -> Path:
    """An export to Perfetto."""
    return exported(place, perfetto.write, "trace.pftrace")


def events(place: Path) -> Path:
    """An export to Chrome's format."""
    return exported(place, chrome.write, "trace.json")


def regions(place: Path) -> Path:
    """An export to OTF2."""
    return exported(place, otf2.write, "archive") / "traces.otf2"


def cells(place: Path) -> Path:
    """An export to CSV."""
    return exported(place, csv.write, "tables") / "tables.json"


def columns(place: Path) -> Path:
    """An export to Parquet."""
    return exported(place, parquet.write, "tables") / "tables.json"


def table(place: Path) -> Path:
    """Kernels as rocprofv3 writes them."""
    place.mkdir()
    path = place / "7_kernel_trace.csv"
    path.write_text(test_rocprof.kernel("rocprofv3 7"))
    return path


def database(place: Path) -> Path:
    """The same in a database."""
    place.mkdir()
    return profiles.database(place / "7_results.db")


def profiled(place: Path) -> Path:
    """The same as JSON."""
    place.mkdir()
    return profiles.document(place / "7_results.json", profiles.process())


def exported_by_nsys(place: Path) -> Path:
    """An export of Nsight Systems."""
    place.mkdir()
    return exports.write_export(place / "report.sqlite", exports.steps_of(7))


def memory(place: Path) -> Path:
    """What mprof wrote of one process."""
    place.mkdir()
    return test_mprof.leak(place / "mprofile.dat", calls=9, kept_mib=5)


def inspected(place: Path) -> Path:
    """What NCCL's inspector logged of three processes."""
    place.mkdir()
    test_inspector.logs(place)
    return place


def log(place: Path) -> Path:
    """The log of a job."""
    place.mkdir()
    path = place / "job.log"
    path.write_text(test_joblog.NCCL + test_joblog.SUMMARY)
    return path


SOURCES: tuple[Callable[[Path], Path], ...] = (
    *(recording, archive, profile, paraver, timeline),
    *(efficiencies, stacks, dump, cube, packets, table, database, log),
    *(profiled, inspected, events, regions, cells, columns),
    *(exported_by_nsys, memory),
)


def change(content: bytearray, chance: random.Random) -> bytearray:
    """One change as damage makes them: bits, bytes, numbers; parts lost, doubled, overwritten."""
    at = chance.randrange(len(content) + 1)
    span = chance.choice((1, 2, 4, 8, 64, 512, 4096))
    kind = chance.randrange(7)
    if kind == 0 and at < len(content):
        content[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        content[at : at + 1] = chance.randbytes(1)
    elif kind == 2:
        width = chance.choice((1, 2, 4, 8))
        number = chance.choice(NUMBERS) % (1 << 8 * width)
        content[at : at + width] = number.to_bytes(width, chance.choice(("little", "big")))
    elif kind == 3:
        del content[at : at + span]
    elif kind == 4:
        content[at:at] = content[at : at + span]
    elif kind == 5:
        content[at : at + span] = chance.choice((b"\0", b"\xff", b"9", b"-", b'"')) * span
    else:
        del content[at:]
    return content


def outcome(path: Path) -> str:
    """Opens what was changed; whether it is still a trace. What comes out is sound."""
    try:
        trace = open_trace(path)
    except UnreadableInputError as error:
        return "message" if all(line and "\n" not in line for line in error.lines()) else "noise"
    check_trace(trace)
    ledger = compute(trace).ledger
    np.testing.assert_array_equal(ledger.ns.sum(axis=0), ledger.life_ns)
    assert np.all(ledger.ns >= 0)
    return "trace"


def check(
    make: Callable[[Path], Path], place: Path, count: int, chance: random.Random
) -> Counter[str]:
    """Changes one kind of input in so many ways, a file of it at a time."""
    original, copy = place / "original", place / "copy"
    opened = make(original).relative_to(original)
    names = sorted(path.relative_to(original) for path in original.rglob("*") if path.is_file())
    found: Counter[str] = Counter()
    for number in range(count):
        shutil.copytree(original, copy)
        changed = copy / chance.choice(names)
        content = bytearray(changed.read_bytes())
        for _ in range(chance.choice((1, 1, 1, 2, 5, 20))):
            content = change(content, chance)
        changed.write_bytes(content)
        try:
            found[outcome(copy / opened)] += 1
        except BaseException:
            sys.stdout.write(f"change {number} of {make.__name__}: {changed.name}\n")
            raise
        shutil.rmtree(copy)
    return found


@pytest.mark.parametrize("make", SOURCES)
def test_what_was_changed_at_random_is_a_trace_or_a_message(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    found = check(make, tmp_path, 20, random.Random(7))
    assert found["trace"] + found["message"] == found.total() == 20


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("make", SOURCES)
def test_thousands_that_were_changed_at_random(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    seed = int(os.environ.get("PERFSCOPE_SEED", "0")) or random.randrange(1 << 32)
    sys.stdout.write(f"PERFSCOPE_SEED={seed}\n")
    found = check(make, tmp_path, 1000, random.Random(seed))
    assert found["noise"] == 0
    sys.stdout.write(f"{make.__name__}: {found.total()} changed, of them {dict(found)}\n")


def test_a_time_that_no_job_takes_is_damage(tmp_path: Path) -> None:
    """One number of a trace, in formats whose times are bounded by nothing else."""
    years_ns = 10**17
    writer = ArchiveWriter(tmp_path / "archive")
    writer.ranks(1)
    region = writer.region("main")
    writer.event(0, "Enter", 1000, region)
    writer.event(0, "Leave", years_ns, region)
    with pytest.raises(UnreadableInputError, match="make no sense"):
        open_trace(writer.close())
    lines = paraver_files.states(1, 1, (0, years_ns // 1000, 1))
    trace = paraver_files.write(tmp_path / "trace.prv", paraver_files.header(100, [1]), lines)
    with pytest.raises(UnreadableInputError, match="make no sense"):
        open_trace(trace)
