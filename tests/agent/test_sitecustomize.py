"""The agent starts where it should, once, and leaves the program as it is."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.jobs import AGENT, LOOKS, RANK_ZERO, Job, recording_variables, run
from tests.support.recording import job_variables

TALKER = """
import sys
print("out", sys.argv[1:])
print("err", file=sys.stderr)
sys.exit(7)
"""
FAILING = """
import json
def inner(value):
    return json.loads(value)
def outer():
    try:
        inner("{")
    except ValueError as error:
        raise RuntimeError("no luck") from error
outer()
"""
INTERRUPTED = "raise KeyboardInterrupt"
THREADED = """
import threading
print(threading.active_count(), [t.name for t in threading.enumerate()])
def fail(): raise ValueError("in a thread")
t = threading.Thread(target=fail); t.start(); t.join()
"""
SYSTEM_EXIT = 'import sys; sys.exit("words")'
MODULES = """
import sys
print(sorted(m for m in sys.modules if "sitecustomize" in m))
try:
    import sitecustomize
    print(sitecustomize.__file__)
except ImportError as error:
    print(repr(error))
"""


INTERPRETERS = (
    LOOKS
    + """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import time
own = ("import sys, _thread\\n"
       "print([m for m in sys.modules if m.startswith('perfscope_agent')], _thread._count())")
for _ in range(20):
    other = interpreters.create()
    interpreters.run_string(other, own)
    interpreters.destroy(other)
    end = time.monotonic() + 0.03
    while time.monotonic() < end:
        sum(range(100))
last = after(0)
while looks["samples"] < last:
    sum(range(100))
"""
)


@pytest.mark.parametrize("text", [TALKER, FAILING, INTERRUPTED, THREADED, SYSTEM_EXIT, MODULES])
def test_output_and_exit_code_are_those_of_an_unrecorded_run(
    job: Callable[..., Job], text: str
) -> None:
    plain = job(text, recorded=False, arguments=("a",))
    recorded = job(text, variables=RANK_ZERO, arguments=("a",))
    assert (recorded.exit_code, recorded.stdout, recorded.stderr) == (
        plain.exit_code,
        plain.stdout,
        plain.stderr,
    )
    assert recorded.process.metadata["agent_notes"] == []


def test_users_own_sitecustomize_runs(job: Callable[..., Job], tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("VALUE = 41\nprint('mine runs')\n")
    recorded = job(
        "import sitecustomize; print(sitecustomize.VALUE + 1, sitecustomize.__name__)",
        variables={"PYTHONPATH": str(own)},
    )
    assert recorded.stdout == b"mine runs\n42 sitecustomize\n"
    assert recorded.process.recording is not None


def test_users_failing_sitecustomize_is_reported_as_without_the_agent(
    job: Callable[..., Job], tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import nothing_of_this_name\n")
    variables = {"PYTHONPATH": str(own)}
    plain = job("print('runs')", variables=variables, recorded=False)
    assert plain.stderr
    recorded = job("print('runs')", variables=variables)
    assert (recorded.stdout, recorded.stderr) == (plain.stdout, plain.stderr)


@pytest.mark.parametrize("option", ["-E", "-I", "-S"])
def test_isolated_python_runs_without_the_agent(job: Callable[..., Job], option: str) -> None:
    recorded = job("print('runs')", options=(option,))
    assert (recorded.exit_code, recorded.stdout, recorded.processes) == (0, b"runs\n", [])


def test_starting_twice_records_once(job: Callable[..., Job], tmp_path: Path) -> None:
    text = (
        f"exec(open({str(AGENT / 'sitecustomize.py')!r}).read(), "
        f"{{'__name__': 'again', '__file__': {str(AGENT / 'sitecustomize.py')!r}}})"
    )
    recorded = job(f"try:\n    {text}\nexcept ImportError as error:\n    print(error.name)\n")
    assert recorded.stdout == b"sitecustomize\n"
    assert len(list(tmp_path.glob("trace/*/*.rec"))) == 1


def test_nothing_happens_without_a_directory(tmp_path: Path) -> None:
    variables = recording_variables(tmp_path / "trace")
    del variables["PERFSCOPE_DIR"]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; print([m for m in sys.modules if 'perfscope_agent' in m])",
        ],
        env=job_variables(variables),
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"[]\n", b"")


@pytest.mark.parametrize("missing", ["gone.so", "_ctypes"])
def test_agent_stays_off_without_the_recorder(tmp_path: Path, missing: str) -> None:
    """Or without what a Python calls it with, which not every one is built with."""
    variables = recording_variables(tmp_path / "trace")
    if missing == "_ctypes":
        (tmp_path / "_ctypes.py").write_text(f"raise ImportError('no {missing}')")
        variables["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{variables['PYTHONPATH']}"
    else:
        variables["PERFSCOPE_RECORDER"] = str(tmp_path / missing)
        del variables["LD_PRELOAD"]
    done = subprocess.run(
        [sys.executable, "-c", "print('runs')"],
        env=job_variables(variables),
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"runs\n", b"")
    (note,) = Job(0, b"", b"", tmp_path / "trace").process.metadata["agent_notes"]
    assert note.startswith("recorder library not usable")
    assert missing in note


def test_unwritable_directory_leaves_the_program_alone(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a directory should be")
    script = tmp_path / "program.py"
    script.write_text("print('runs')")
    variables = recording_variables(tmp_path / "trace")
    variables["PERFSCOPE_DIR"] = str(blocked / "trace")
    done = subprocess.run(
        [sys.executable, script], env=job_variables(variables), capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"runs\n", b"")


EVERYTHING = f"""{LOOKS}
from perfscope_agent import marker
@marker.phase("evaluate")
def evaluate():
    last = after(10)
    while looks["samples"] < last:
        pass
for i in range(3):
    marker.step(samples=2)
evaluate()
"""


def interpreters() -> list[str]:
    """Every Python from 3.7 on that can be started here."""
    found = []
    for minor in range(7, 20):
        path = shutil.which(f"python3.{minor}")
        if (
            path
            and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0
        ):
            found.append(path)
    return found


def test_every_python_from_3_7_is_recorded(job: Callable[..., Job], tmp_path: Path) -> None:
    found = interpreters()  # not while tests are collected: each process of them would ask
    for python in found:
        place = tmp_path / Path(python).name
        done = job(EVERYTHING, python=python, directory=place, variables=RANK_ZERO)
        assert (done.exit_code, done.stdout, done.stderr) == (0, b"", b""), python
        process = done.process
        assert process.metadata["agent_notes"] == [], python
        assert [step.sent for step in process.steps()] == [2, 2, 2], python
        assert [name for name, _ in process.phases()] == ["evaluate"], python
        seen = {frame[0] for stack in process.functions() for frame in stack}
        assert "evaluate" in seen, python
    assert found


def test_virtual_environment_is_recorded(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    recorded = run(["-c", "print('runs')"], tmp_path / "trace", python=python)
    assert recorded.process.metadata["prefix"] == str(tmp_path / "venv")
    assert recorded.process.recording is not None


def test_paths_with_spaces_and_other_letters(job: Callable[..., Job], tmp_path: Path) -> None:
    place = tmp_path / "größe und 重み"
    place.mkdir()
    recorded = job(
        "print('runs')", name="größe und 重み/träin.py", directory=place / "trace", cwd=place
    )
    assert recorded.stdout == b"runs\n"
    assert recorded.process.metadata["cwd"] == str(place)
    assert recorded.process.metadata["argv"][1] == str(place / "träin.py")
    assert recorded.process.recording is not None


def test_further_interpreters_of_a_process_have_no_agent(job: Callable[..., Job]) -> None:
    recorded = job(INTERPRETERS, variables=RANK_ZERO)
    assert recorded.exit_code == 0, recorded.stderr
    assert set(recorded.stdout.splitlines()) == {b"[] 0"}
    assert recorded.process.metadata["stack_sampler"]["samples"] > 3


def test_a_program_starts_without_what_it_does_not_need(job: Callable[..., Job]) -> None:
    loaded = job("import sys; print(*sys.modules)", variables=RANK_ZERO)
    modules = {*loaded.stdout.decode().split()}
    assert not modules & {"ctypes", "re", "enum", "functools", "typing", "json"}
    assert "perfscope_agent.recorder" in modules


def test_names_of_functions_compile_no_patterns(job: Callable[..., Job]) -> None:
    """`decode` in it, and signs that settings have: worth a look, and no more."""
    name = "decode_user.<locals>.with_key"
    asked = "import sys; from perfscope_agent.secrets.redact import *; print(redact_path(%r), %s)"
    done = job(asked % (name, "'re' in sys.modules"), variables=RANK_ZERO)
    assert done.stdout.decode().split() == [name, "False"]


@pytest.mark.parametrize(
    "path",
    [
        "/tmp/tmp.WqH2fG8hJk/project/environment/packages/of_the_program/agent",
        "/tmp/tmp.S3BSKH883A/project/environment/bin/python",
        "/tmp/tmp.WqH2fG8hJk/project:/home/me/miniconda3/lib:/usr/lib/x86_64-linux-gnu",
        "/opt/spack/gcc-12.2.0/openmpi-4.1.5-qwertyuiopasdfghjklzxcvbnm234567/lib:/usr/lib",
        "/nix/store/0c5qn0h3kc2b2m3a9p7l4j5x8v1z6w9r-python3-3.11.6/lib:/usr/lib",
    ],
)
def test_directories_of_random_names_compile_no_patterns(
    job: Callable[..., Job], path: str
) -> None:
    """`mktemp` names them so; all that is below one is a long path, and no part of it a key."""
    asked = "import sys; from perfscope_agent.secrets.redact import *; print(redact_value(%r), %s)"
    done = job(asked % (path, "'re' in sys.modules"), variables=RANK_ZERO)
    assert done.stdout.decode().split() == [path, "False"]
