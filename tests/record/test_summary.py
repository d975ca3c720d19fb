"""The last line of `perfscope run` reads header fields: their places are those of format.h."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perfscope.record import leftovers, places, summary
from perfscope.record.job import record
from perfscope.record.launch import RecordingOptions
from tests.support.environments import REPOSITORY
from tests.support.recording import job_variables, perfscope_command
from tests.support.requirements import require_tool
from tests.support.write_recording import ProcessWriter

OFFSETS = """
#include <stddef.h>
#include <stdio.h>
#include "format.h"
int main(void)
{
    printf("%s %zu %zu %d %d", PS_MAGIC, offsetof(ps_header, rank), offsetof(ps_header, dropped),
           PS_FLAG_MPI, PS_FLAG_DISK_FULL);
    return 0;
}
"""


def test_places_in_the_header_are_those_of_the_recorder(tmp_path: Path) -> None:
    source, program = tmp_path / "offsets.c", tmp_path / "offsets"
    source.write_text(OFFSETS, encoding="utf-8")
    include = REPOSITORY / "native" / "recorder"
    options = ["-std=c11", f"-I{include}", "-o", str(program)]
    subprocess.run([str(require_tool("cc")), *options, str(source)], check=True)
    told = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    magic, rank, dropped, *flags = told.split()
    assert magic.encode() == summary.MAGIC
    assert [int(flag) for flag in flags] == [summary.MPI_FLAG, summary.DISK_FULL_FLAG]
    assert (int(rank), int(dropped)) == (summary.RANK_OFFSET, summary.DROPPED_OFFSET)


def test_records_that_cannot_be_read_are_not_said_to_be_missing(tmp_path: Path) -> None:
    """As those of a file system that failed under the job: here a link to itself stands for one."""
    place = tmp_path / "trace" / "host"
    script = f"mkdir {place} && ln -s own.rec {place}/own.rec"
    done = subprocess.run(
        perfscope_command("run", "--", "sh", "-c", script),
        cwd=tmp_path,
        env=job_variables(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"the records in trace/ cannot be read: {os.strerror(errno.ELOOP)}" in done.stderr
    assert "nothing was recorded" not in done.stderr


def test_a_directory_that_cannot_be_listed_is_a_reason_and_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> object:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    for name in ("glob", "iterdir"):
        monkeypatch.setattr(Path, name, fails)
    assert summary.unreadable(tmp_path) == os.strerror(errno.EIO)
    assert summary.summarize(tmp_path).processes == 0
    assert summary.told_by_agents(tmp_path) == []
    assert leftovers.bring_in(tmp_path) == []
    leftovers.remove_scratch(tmp_path)


def test_a_recorder_of_other_sources_is_told_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Contents count: files that were only written again are the same."""
    monkeypatch.chdir(tmp_path)
    sources = tmp_path / "sources"
    shutil.copytree(places.SOURCES, sources)
    monkeypatch.setattr("perfscope.record.places.SOURCES", sources)
    source = sources / "mpi" / "call.c"
    options = RecordingOptions()
    for text, is_told in (("", False), ("int other;", True)):
        source.write_text(source.read_text() + text)
        code = record([sys.executable, "-c", ""], output=Path("t"), options=options, quiet=False)
        told = capfd.readouterr().err
        assert code == 0
        assert ("the recorder was made from other sources than these" in told) == is_told
        assert "recorded 1 process in" in told


def test_files_that_are_no_recordings_count_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "1-2.rec").write_bytes(b"")
    (tmp_path / "host" / "1-3.rec").write_bytes(b"x" * 4096)
    found = summary.summarize(tmp_path)
    assert (found.ranks, found.processes, found.dropped) == (0, 0, 0)


@pytest.mark.parametrize(("flags", "is_full"), [(summary.MPI_FLAG, False), (33, True)])
def test_a_full_disk_is_not_taken_for_the_size_limit(
    flags: int, is_full: bool, tmp_path: Path
) -> None:
    process = ProcessWriter(rank=0, size=1, pid=7)
    process.header |= {"flags": flags, "dropped": 5}
    process.write(tmp_path)
    found = summary.summarize(tmp_path)
    assert (found.dropped, found.is_disk_full) == (5, is_full)
