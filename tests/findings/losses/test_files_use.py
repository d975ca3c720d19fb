"""What a call does with files, by the names of the functions that it is seen in."""

import numpy as np
import pytest

from perfscope.findings.losses import callees
from perfscope.findings.losses.callees import FilesUse
from perfscope.trace.model import Frame

CALLER = Frame("save_all", "/home/me/train.py", 5)
LIBRARY = "/usr/lib/python3.11"
MEMBER = Frame("ZipExtFile.read", f"{LIBRARY}/zipfile.py", 950)
BUILT_IN = "<built-in>"


def used(*stacks: tuple[Frame | str, float]) -> FilesUse | None:
    """Of stacks that end in a library's function, with the seconds in each."""
    behind = {}
    for number, (called, _) in enumerate(stacks):
        frame = called if isinstance(called, Frame) else Frame(called, BUILT_IN, 0)
        behind[number] = callees._behind([CALLER, frame], CALLER)
    return callees._files_use(behind, np.array([seconds * 1e9 for _, seconds in stacks]))


@pytest.mark.parametrize(
    ("in_archive_s", "told"),
    [(1e-9, FilesUse.READS), (0.9, FilesUse.READS), (1.1, FilesUse.ARCHIVE)],
)
def test_an_archive_is_read_where_most_of_the_time_is_spent_in_one(
    in_archive_s: float, told: FilesUse
) -> None:
    assert used((MEMBER, in_archive_s), ("io.BufferedReader.read", 1.0)) is told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("io.BufferedReader.seek", FilesUse.READS),
        ("posix.pread64", FilesUse.READS),
        ("pandas.read_csv", FilesUse.READS),
        ("json.loads", FilesUse.READS),
        ("posix.fsync", FilesUse.WRITES),
        ("numpy.savez_compressed", FilesUse.WRITES),
        ("csv.DictWriter.writerow", FilesUse.WRITES),
        ("store.upload_all", None),
        ("store.download", None),
        ("threading.is_ready", None),
        ("asyncio.wait", None),
        ("posix.stat", None),
    ],
)
def test_whole_words_of_a_librarys_name_tell_and_not_the_programs_own(
    name: str, told: FilesUse | None
) -> None:
    """The program's own `save_all` tells nothing of what the library does in it."""
    assert used((name, 1.0)) is told


def test_where_calls_differ_nothing_is_told() -> None:
    assert used(("io.BufferedReader.read", 1.0), ("io.BufferedWriter.write", 1.0)) is None
