"""Secrets planted wherever text enters a recording reach no byte of it, nor what is made of it."""

import gzip
import random
import string
from pathlib import Path

import pytest

from perfscope.redaction.write import redact
from tests.support import recording
from tests.support.environments import environment
from tests.support.leaks import leaked

ALNUM = string.ascii_letters + string.digits


def made(seed: int, length: int) -> str:
    chosen = random.Random(seed)
    return "".join(chosen.choice(ALNUM) for _ in range(length))


# Put together here so that no scanner takes this file for a leak.
PLANTED = {
    "short option": "p1" + "short" + "opt1",
    "attached option": "p2" + "attached" + "7",
    "user": "p3" + "user" + "pass8",
    "header": "p4" + "header" + "value9",
    "address": "p5@ad/dr" + "ess1",
    "json": "p6" + "json" + "pass2",
    "directory": "shpat_" + "0123456789abcdef" * 2,
    "file": "glpat-" + made(1, 20),
    "function": "dop_v1_" + "fedcba9876543210" * 4,
    "phase": "SG." + made(2, 22) + "." + made(3, 43),
    "metric": "ghp_" + made(4, 36),
    "exception": "p7" + "except" + "ion4",
    "thread": "ghu_" + "1a2B3c4D5e6",
    "child": "p8" + "child" + "arg5",
    "variable": "p9" + "variable" + "6",
    "unknown": made(5, 40),
}
PRIVATE = ("quokkaward", "galahphase", "numbatloss", "jabirumessage")
"""Names of a person's own, which a recording keeps and a copy for others does not."""
PROGRAM = """
import ctypes, os, subprocess, sys, threading, time
from mpi4py import MPI
from perfscope_agent import marker
names = dict(line.split(" ", 1) for line in open(os.environ["PLANTED"]).read().splitlines())
ctypes.CDLL(None).prctl(15, names["thread"].encode(), 0, 0, 0)
child = [sys.executable, "-c", "pass", "--creds", names["child"]]
subprocess.run(child, check=True)
code = "def f(stop):\\n    while time.monotonic() < stop: sum(range(1000))\\n"
scope = {"time": time}
exec(compile(code.replace("f(", names["function"] + "("), names["file"] + ".py", "exec"), scope)
with marker.phase("galahphase load " + names["phase"] + " " + names["unknown"]):
    scope[names["function"]](time.monotonic() + 1.5)
marker.metric("numbatloss of " + names["metric"], 1.0)
MPI.COMM_WORLD.barrier()
MPI.Finalize()
print("told", flush=True)
raise ValueError("jabirumessage: Authorization: Token " + names["exception"])
"""


def leaks(content: bytes) -> list[str]:
    return leaked(content, PLANTED)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> recording.Recorded:
    """One rank with secrets in its command line, directory, names, threads, child and end."""
    place = tmp_path_factory.mktemp("planted")
    (place / "names").write_text("".join(f"{k} {v}\n" for k, v in PLANTED.items() if " " not in k))
    (place / "program.py").write_text(PROGRAM, encoding="utf-8")
    directory = place / f"run_{PLANTED['directory']}"
    directory.mkdir()
    mpich = environment("mpich")
    words = ["-p", PLANTED["short option"], f"-p{PLANTED['attached option']}"]
    words += ["-u", f"me:{PLANTED['user']}", "-H", f"Authorization: ApiKey {PLANTED['header']}"]
    words += ["--url", f"https://me:{PLANTED['address']}@example.org/"]
    words += ["--config", f'{{"password": "{PLANTED["json"]}"}}']
    words += ["--ward", "quokkaward"]
    return recording.record(
        [mpich.mpirun, "-n", "1", mpich.python, place / "program.py", *words],
        cwd=directory,
        output=place / "trace",
        variables={
            "PLANTED": str(place / "names"),
            "NCCL_DEBUG_FILE": f"/x/{PLANTED['unknown']}",
            "TORCH_NCCL_PASS": PLANTED["variable"],
            "NCCL_NET_PLUGIN": f"Authorization: Token {PLANTED['variable']}",
        },
    )


def test_no_byte_of_the_recording_holds_one(recorded: recording.Recorded) -> None:
    assert "told" in recorded.stdout, recorded.stderr
    files = [path for path in recorded.directory.rglob("*") if path.is_file()]
    assert {"run.json"} < {path.name for path in files}
    contents = {
        path.name: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in files
    }
    assert {name: found for name, text in contents.items() if (found := leaks(text))} == {}
    written = b"".join(contents.values())
    for kept in (
        b"load [redacted] [redacted]",
        b"numbatloss of [redacted]",
        b"ValueError",
        b"--creds",
    ):
        assert kept in written


def test_nothing_made_from_it_holds_one(recorded: recording.Recorded, tmp_path: Path) -> None:
    shown = recording.analyze(recorded.directory, "--output", tmp_path, "--no-strict")
    as_json = recording.analyze(recorded.directory, "--output", tmp_path, "--no-strict", "--json")
    assert shown.returncode == as_json.returncode == 0, shown.stderr
    assert leaks((shown.stdout + shown.stderr + as_json.stdout + as_json.stderr).encode()) == []
    made_files = {path.name: leaks(path.read_bytes()) for path in tmp_path.iterdir()}
    assert made_files == {"analysis.json": [], "report.html": []}


def test_no_byte_of_a_copy_for_others_names_anything(
    recorded: recording.Recorded, tmp_path: Path
) -> None:
    redact(recorded.directory, tmp_path / "copy")
    own = [*PRIVATE, *recorded.directory.parent.parts[-1:]]

    def named(directory: Path) -> set[str]:
        paths = list(directory.rglob("*"))
        told = b"".join(path.read_bytes() for path in paths if path.is_file())
        told += " ".join(str(path.relative_to(directory)) for path in paths).encode()
        return {word for word in own if word.encode().lower() in told.lower()}

    assert named(recorded.directory) >= set(PRIVATE)
    assert named(tmp_path / "copy") == set()
