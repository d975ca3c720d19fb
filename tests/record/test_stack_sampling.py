"""`perfscope run --stacks` with the real py-spy, and what happens where it cannot work."""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from perfscope.document.analysis import analysis
from perfscope.metrics.results import Options
from perfscope.readers.recording.reader import open_recording
from perfscope.record.stack_sampling import before_start, spy_program
from tests.support.environments import REPOSITORY, Mpi
from tests.support.hosts import on_hosts, remote_shell
from tests.support.recording import Recorded, Recorder, run_plain

TRAIN = REPOSITORY / "examples" / "train_numpy.py"
STEPS, SPENT_MS = 45, 30.0
TRAINING = (
    *("--steps", str(STEPS), "--forward-ms", str(SPENT_MS), "--work", "sleep", "--hidden", "64"),
    *("--batch", "32", "--samples", "4096", "--evaluate-samples", "256", "--evaluate-every", "20"),
)
FORKING = """
import os, sys, time
def in_child():
    end = time.monotonic() + 0.8
    while time.monotonic() < end:
        sum(range(500))
def in_parent():
    os.waitpid(child, 0)
time.sleep(0.8)
child = os.fork()
if child == 0:
    in_child()
    os._exit(0)
in_parent()
print("done", sys.argv[1:])
sys.exit(5)
"""


def stacks_of(recorded: Recorded) -> dict[str, Any]:
    document = analysis(open_recording(recorded.directory), Options())
    found: dict[str, Any] = document["stacks"]
    return found


def result_line(text: str) -> str:
    """What the program computed, without what depends on time."""
    return next(line for line in text.splitlines() if line.startswith("result:")).split("seconds")[
        0
    ]


def test_real_ranks_are_sampled_and_their_phases_told(
    mpich: Mpi, record: Recorder, tmp_path: Path
) -> None:
    command = mpich.python_command(2, TRAIN, *TRAINING)
    recorded = record(command, options=["--stacks"])
    plain = run_plain(command, cwd=tmp_path)
    assert recorded.exit_code == plain.returncode == 0
    assert result_line(recorded.stdout) == result_line(plain.stdout)
    found = stacks_of(recorded)
    assert found["reason"] is None
    assert found["ranks"] == [0, 1]
    assert found["missing"] == []
    planted_s = STEPS * SPENT_MS / 1e3
    spent = [
        (part["ranks"], node)
        for part in found["phases"]
        for node in part["nodes"]
        if node["function"].endswith("spend")
    ]
    assert spent[0][1]["file"].endswith("faults.py")
    # A sleep is never shorter than asked for; on a busy machine py-spy may come late.
    unseen_s = sum(part["seconds"] - part["sampled_s"] for part in found["phases"])
    for rank in (0, 1):
        shown_s = sum(
            dict(zip(ranks, node["seconds_by_rank"], strict=True))[rank]
            for ranks, node in spent
            if rank in ranks
        )
        assert shown_s + unseen_s > 0.85 * planted_s
    training = next(part for part in found["phases"] if part["id"] == "train")
    assert 0 < training["sampled_s"] <= training["seconds"] + 1e-6
    # how many others take longer depends on how busy the machine is
    [row] = [row for row in training["top"] if row["function"].endswith("spend")]
    own_s = sum(n["self_s"] for n in training["nodes"] if n["function"].endswith("spend"))
    assert 0 < own_s <= row["self_s"] + 1e-6
    taken_s = [row["self_s"] for row in training["top"]]
    assert taken_s == sorted(taken_s, reverse=True)


def test_forked_workers_count_as_workers_and_no_argument_is_kept(
    record: Recorder, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", FORKING, "--token=hunter2"]
    for look in range(8):  # on a busy machine py-spy may come when the child is gone
        recorded = record(command, options=["--stacks"], output=tmp_path / f"trace-{look}")
        assert recorded.exit_code == 5
        assert recorded.stdout == "done ['--token=hunter2']\n"
        found = stacks_of(recorded)
        if any(part["id"] == "others" for part in found["phases"]):
            break
    others = next(part for part in found["phases"] if part["id"] == "others")
    assert "in_child" in {node["function"] for node in others["nodes"]}
    main = [n["function"] for p in found["phases"] if p["id"] != "others" for n in p["nodes"]]
    assert "in_parent" in main
    assert "in_child" not in main
    for path in recorded.directory.glob("*/*.stacks*"):
        raw = path.read_bytes()
        text = gzip.decompress(raw) if path.suffix == ".gz" else raw
        assert b"hunter2" not in text


def mock_spy(folder: Path, script: str) -> dict[str, str]:
    """A mock: a program called py-spy in front of the PATH, which does what the script says."""
    folder.mkdir()
    program = folder / "py-spy"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    program.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


LASTING = "import time; print('on', flush=True); time.sleep(0.5); print('off')"
SEEN = """
import glob, os, time
print('on', flush=True)
def words(process):
    try:
        return open(process + '/cmdline', 'rb').read().split(b'\\0')
    except OSError:  # it has ended meanwhile
        return []
def is_sampler(process):
    return {b'--nonblocking', b'%d' % os.getpid()} <= {*words(process)}
while not any(map(is_sampler, glob.glob('/proc/[0-9]*'))):
    time.sleep(0.05)
time.sleep(1.2)
print('off')
"""


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'Permission Denied: Try running again' >&2; exit 1", "kernel.yama.ptrace_scope"),
        ("exit 0", "ended with exit code 0"),
        ("kill -9 $$", "ended with exit code -9"),
        ("for last; do :; done; echo '[{]' > \"$last\"", "damaged"),
    ],
)
def test_a_py_spy_that_fails_leaves_the_job_alone_and_is_told(
    record: Recorder, tmp_path: Path, script: str, reason: str
) -> None:
    variables = mock_spy(tmp_path / "mock", script)
    recorded = record([sys.executable, "-c", LASTING], options=["--stacks"], variables=variables)
    assert (recorded.exit_code, recorded.stdout) == (0, "on\noff\n")
    found = stacks_of(recorded)
    assert reason in found["reason"]
    assert found["missing"][0]["rank"] == 0


def test_a_program_that_ends_at_once_is_told(record: Recorder) -> None:
    recorded = record([sys.executable, "-c", "import sys; sys.exit(3)"], options=["--stacks"])
    assert recorded.exit_code == 3
    found = stacks_of(recorded)
    assert found["phases"] or "ended before" in found["reason"]


def test_ranks_that_were_not_asked_for_say_so(record: Recorder) -> None:
    options = ["--stacks", "--stacks-ranks", "3-4"]
    recorded = record([sys.executable, "-c", LASTING], options=options)
    assert "--stacks-ranks" in stacks_of(recorded)["reason"]


def test_without_the_flag_the_flag_is_named(record: Recorder) -> None:
    recorded = record([sys.executable, "-c", "pass"])
    assert "--stacks" in stacks_of(recorded)["reason"]
    assert not list(recorded.directory.glob("*/*.stacks*"))


def test_py_spy_that_is_nowhere_is_told_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert spy_program({"PATH": str(tmp_path)}) is None
    assert "pip install py-spy" in before_start({"PATH": str(tmp_path)})[0]


def test_damaged_files_are_told_and_no_number_comes_of_them(record: Recorder) -> None:
    recorded = record([sys.executable, "-c", SEEN], options=["--stacks"])
    (state,) = recorded.directory.glob("*/*.stacks.json")
    told = json.loads(state.read_text(encoding="utf-8"))
    assert told["segments"]
    pieces: list[dict[str, Any]] = [
        {"segments": [{"file": "../../etc/passwd", "begin_ns": 1, "end_ns": 2}]},
        {"segments": [{**told["segments"][0], "end_ns": told["segments"][0]["begin_ns"] + 1}]},
        {"segments": [{**told["segments"][0], "file": "gone.gz"}]},
        {"segments": 5},
        {"pid": "x"},
    ]
    for piece in pieces:
        state.write_text(json.dumps({**told, **piece}), encoding="utf-8")
        found = stacks_of(recorded)
        assert found["reason"], piece
        assert found["phases"] == []
    state.write_text("{", encoding="utf-8")
    assert stacks_of(recorded)["reason"]


def test_under_srun_a_rank_waits_until_its_stacks_are_written(
    record: Recorder, tmp_path: Path
) -> None:
    """slurmstepd kills what a task leaves behind; the variable stands in for it."""
    (tmp_path / "seen.py").write_text(SEEN, encoding="ascii")
    rank = f"{sys.executable} {tmp_path / 'seen.py'}"
    look = 'grep -c \'"is_over": true\' "$PERFSCOPE_DIR"/*/*.stacks.json'
    recorded = record(
        ["sh", "-c", f"{rank}; {look}"], options=["--stacks"], variables={"SLURM_STEP_ID": "0"}
    )
    assert recorded.stdout == "on\noff\n1\n"
    assert stacks_of(recorded)["reason"] is None


def test_ranks_on_other_hosts_and_other_clocks_are_sampled_there(
    mpich: Mpi, record: Recorder, tmp_path: Path
) -> None:
    program = (
        "import time; from mpi4py import MPI; world = MPI.COMM_WORLD\n"
        "def work(): time.sleep(0.8)\n"
        "work()\nworld.Barrier()\n"
    )
    hosts = {"nodeA": 7, "nodeB": 70}
    shell = remote_shell(tmp_path, hosts)
    command = on_hosts(mpich, shell, [*hosts], ranks_per_host=1, program=("-c", program))
    recorded = record(command, options=["--stacks"])
    assert recorded.exit_code == 0, recorded.stderr
    found = stacks_of(recorded)
    assert (found["ranks"], found["missing"]) == ([0, 1], [])
    outside = next(part for part in found["phases"] if part["id"] == "outside")
    (work,) = [node for node in outside["nodes"] if node["function"] == "work"]
    unseen_s = sum(part["seconds"] - part["sampled_s"] for part in found["phases"])
    assert all(seconds + unseen_s > 0.7 for seconds in work["seconds_by_rank"])


def test_of_more_than_can_be_read_a_part_is_read_and_told(
    record: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = record([sys.executable, "-c", SEEN], options=["--stacks"])
    (state,) = recorded.directory.glob("*/*.stacks.json")
    told = json.loads(state.read_text(encoding="utf-8"))
    whole = stacks_of(recorded)
    told["segments"] *= 3
    state.write_text(json.dumps(told), encoding="utf-8")
    monkeypatch.setattr("perfscope.readers.recording.stack_sampling.MOST_READ_BYTES", 1)
    found = stacks_of(recorded)
    assert found["phases"] == whole["phases"]
    length_s = (told["segments"][0]["end_ns"] - told["segments"][0]["begin_ns"]) / 1e9
    assert found["paused_s"] == pytest.approx(2 * length_s)
