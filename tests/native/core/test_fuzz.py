"""Coverage-guided fuzzing of every decoder, under the sanitizers of addresses and behavior."""

import json
import logging
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.environments import REPOSITORY
from tests.support.otf2_archives import ArchiveWriter
from tests.support.requirements import require_tool
from tests.support.write_kineto import KinetoWriter, small
from tests.support.write_messages import SMALL
from tests.support.write_records import random_records

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

LOG = logging.getLogger(__name__)
CORE = REPOSITORY / "native" / "core"
INPUTS = REPOSITORY / "tests" / "native" / "core" / "inputs"
SECONDS = int(os.environ.get("PERFSCOPE_FUZZ_SECONDS", "60"))
"""Of each format; more finds more."""
LIMITS = ("-max_len=16384", "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1")


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    clang = require_tool("clang++", "clang++-14", "clang++-16", "clang++-18", "clang++-19")
    program = tmp_path_factory.mktemp("fuzz") / "fuzz"
    sources = [
        CORE / "fuzz.cpp",
        CORE / "input.cpp",
        CORE / "probe_matching.cpp",
        CORE / "probe_otf2.cpp",
        *sorted((CORE / "matching").glob("*.cpp")),
        *sorted((CORE / "decoders").glob("*.cpp")),
        *sorted((CORE / "reducers").glob("*.cpp")),
    ]
    sanitizers = "-fsanitize=fuzzer,address,undefined"
    options = ["-std=c++17", "-O1", "-g", "-pthread", sanitizers, "-fno-sanitize-recover=undefined"]
    command = [clang, *options, f"-I{CORE}", *sources, "-o", program]
    subprocess.run([str(word) for word in command], check=True)
    return program


def fuzz(fuzzer: Path, place: Path, *options: str) -> None:
    corpus = place / "corpus"
    command = [str(fuzzer), *options, str(corpus), f"-max_total_time={SECONDS}", *LIMITS]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    statistics = done.stderr[done.stderr.rindex("stat::number_of_executed_units") :]
    LOG.info("%s: %s", options[0], " ".join(statistics.split()))


def test_no_profile_breaks_the_decoder(fuzzer: Path, tmp_path: Path) -> None:
    """From profiles with kernels, launches, process groups, counters, arrows and several processes.

    Compact JSON: half the bytes, so that more of what the fuzzer changes means something.
    """
    (tmp_path / "corpus").mkdir()
    for name, events in seeds().items():
        text = json.dumps(events, separators=(",", ":"))
        (tmp_path / "corpus" / name).write_text(text, encoding="utf-8")
    fuzz(fuzzer, tmp_path, "--format=kineto")


def seeds() -> dict[str, object]:
    """Profiles that hold every sort of event that the decoder tells apart."""
    profile = small()
    group = {"Process Group Name": "1", "Process Group Ranks": "[0, 2, ..., 4, 6]", "Seq": 3}
    told = {"Global rank start": 0, "Global rank stride": 2, "Group size": 4, "dtype": "Half"}
    profile.kernel("mscclKernel_Sum", 91_000, 92_000, launch=90_000, arguments=group | told)
    profile.kernel("dma_in", 1_000, 2_000, category="mtia_ccp_events", arguments={"size": 64})
    profile.host_event("autograd::engine::evaluate_function: MulBackward0", 0, 5, "cpu_op")
    several = KinetoWriter(pid=7)
    several.step(1, 0, 9_000)
    for pid in (7, 8):
        arguments = {"root": 1, **group}
        several.event(
            "X", "operation", "MPI_Allreduce", 5_000, dur=1.5, pid=pid, tid=pid, args=arguments
        )
    several.event("M", "", "process_name", 0, pid=8, args={"name": "rank 1 (node7)"})
    several.event("f", "ac2g", "ac2g", 6_000, id=9, pid=7, tid=7, bp="e")
    return {"profile": profile.document(), "processes": several.document(), "list": several.events}


@pytest.mark.parametrize(
    ("name", "seed"), [("horovod", "small_timeline.json"), ("paraver", "small.prv")]
)
def test_no_text_breaks_a_decoder(fuzzer: Path, tmp_path: Path, name: str, seed: str) -> None:
    (tmp_path / "corpus").mkdir()
    shutil.copy(INPUTS / seed, tmp_path / "corpus")
    fuzz(fuzzer, tmp_path, f"--format={name}")


@pytest.mark.parametrize("name", list(SMALL))
def test_no_file_breaks_a_decoder(fuzzer: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "seed").write_bytes(SMALL[name]())
    fuzz(fuzzer, tmp_path, f"--format={name}")


def test_no_records_break_the_decoder(fuzzer: Path, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    for seed, damaged in ((1, 0.0), (2, 0.3)):
        records = random_records(seed, 60, damaged=damaged).tobytes()
        (tmp_path / "corpus" / str(seed)).write_bytes(records)
    fuzz(fuzzer, tmp_path, "--format=recording")


def test_no_calls_break_the_matching(fuzzer: Path, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "seed").write_bytes(random.Random(1).randbytes(2000))
    fuzz(fuzzer, tmp_path, "--format=matching")


@pytest.mark.parametrize("pattern", ["*.otf2", "*.def", "*/0.def", "*/0.evt"])
def test_no_file_of_an_archive_breaks_the_decoder(
    fuzzer: Path, tmp_path: Path, pattern: str
) -> None:
    writer = ArchiveWriter(tmp_path / "archive")
    writer.ranks(2)
    region = writer.region("main")
    for location in range(2):
        writer.mapping(location, 3, {0: region}, dense=location == 0)
        for time in (900, 1500):
            writer.clock(location, time, 10 * location)
        for at in range(40):
            writer.event(location, "Enter" if at % 2 == 0 else "Leave", 1000 + 10 * at, region)
    anchor = writer.close()
    [part] = sorted((tmp_path / "archive").glob(pattern))
    (tmp_path / "corpus").mkdir()
    shutil.copy(part, tmp_path / "corpus" / "seed")
    fuzz(fuzzer, tmp_path, "--format=otf2", f"--archive={anchor}", f"--replace={part}")
