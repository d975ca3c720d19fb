"""Programs and machines on which the recorder cannot be loaded: the job runs, told why."""

import os
import subprocess
from pathlib import Path

import pytest

from perfscope.record.elf import Loadable, loadable
from perfscope.record.places import load_problem, recorder_library
from tests.support.recording import Recorder, record_with
from tests.support.requirements import require_root, require_tool

PROGRAM = '#include <stdio.h>\nint main(void) { puts("ran"); return 4; }\n'


def compiled(directory: Path, *options: str) -> Path:
    """A small C program."""
    source, program = directory / "program.c", directory / "program"
    source.write_text(PROGRAM, encoding="utf-8")
    subprocess.run([require_tool("cc"), *options, "-o", program, source], check=True)
    return program


def test_a_dynamic_program_is_loadable(tmp_path: Path) -> None:
    assert loadable(compiled(tmp_path)) is Loadable.YES


def test_a_static_program_runs_unrecorded_and_is_told_about(
    record: Recorder, tmp_path: Path
) -> None:
    program = compiled(tmp_path, "-static")
    assert loadable(program) is Loadable.STATIC
    recorded = record([program])
    assert (recorded.exit_code, recorded.stdout) == (4, "ran\n")
    assert f"perfscope: {program} runs unrecorded: it is statically linked" in recorded.stderr
    assert recorded.run_file["notes"][0].startswith(str(program))


def test_a_setuid_program_runs_unrecorded_and_is_told_about(
    record: Recorder, tmp_path: Path
) -> None:
    require_root("give a program to another user")
    tmp_path.chmod(0o755)
    program = compiled(tmp_path)
    os.chown(program, 65534, -1)
    program.chmod(0o4755)
    assert loadable(program) is Loadable.PRIVILEGED
    recorded = record([program])
    assert (recorded.exit_code, recorded.stdout) == (4, "ran\n")
    assert f"perfscope: {program} runs unrecorded: it runs as another user" in recorded.stderr
    assert recorded.record_files == []
    program.chmod(0o755)
    assert loadable(program) is Loadable.YES


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\x02" + b"\0" * 80])
def test_what_is_no_program_is_not_judged(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert loadable(path) in (Loadable.YES, Loadable.STATIC)


def test_a_program_of_another_word_size_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\x7fELF\x01" + b"\0" * 80)
    assert loadable(path) is Loadable.WRONG_WORD_SIZE


def test_this_installations_recorder_loads() -> None:
    library = recorder_library()
    assert library is not None
    assert load_problem(library) is None


def test_a_recorder_that_does_not_load_costs_the_recording_not_the_job(tmp_path: Path) -> None:
    broken = tmp_path / "libperfscope_recorder.so"
    broken.write_bytes(b"not a library")
    job = ["sh", "-c", "echo ran; exit 4"]
    done = record_with(broken, job, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "ran\n")
    what, why, action = done.stderr.splitlines()
    assert what == "perfscope: THIS RUN IS NOT RECORDED; the command starts all the same"
    assert "cannot be loaded here" in why
    assert action.startswith("perfscope: ")
    assert not (tmp_path / "trace").exists()
