"""What lies at a path is told by content, and unknown content is named."""

import gzip
import json
import os
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from perfscope.errors import UnreadableInputError
from perfscope.readers import detect
from perfscope.readers.detect import Detection, Place, Reader, ReadOptions, Source, Tells
from perfscope.readers.registry import open_traces, readers
from perfscope.trace.model import Format, Trace
from tests.support.environments import REPOSITORY
from tests.support.trace_builder import TraceBuilder
from tests.support.write_recording import ProcessWriter, write_run


def _open(_paths: Sequence[Path], _options: ReadOptions) -> Trace:
    return TraceBuilder(1, end_s=1.0).build()


def reader(magic: bytes, **changes: object) -> Reader:
    """A reader of files that begin with a word."""
    fields = {"joins": False, "is_generic": False} | changes
    return Reader(
        Format.OTF2,
        magic.decode(),
        lambda place: place.head.startswith(magic),
        _open,
        Tells(),
        **fields,  # type: ignore[arg-type]
    )


def found(path: Path, *known: Reader) -> list[Source]:
    detection = Detection(known)
    detection.add(path)
    return detection.sources


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_content_decides_and_the_name_does_not(tmp_path: Path) -> None:
    file = write(tmp_path / "picture.png", b"ALPHA 1")
    [source] = found(file, reader(b"BETA"), reader(b"ALPHA"))
    assert source.reader.description == "ALPHA"
    assert source.paths == (file,)
    assert source.is_named


def test_gzip_is_seen_through_whatever_it_is_called(tmp_path: Path) -> None:
    file = write(tmp_path / "trace.json", gzip.compress(b"ALPHA" + b" " * 10_000_000))
    assert len(found(file, reader(b"ALPHA"))) == 1
    assert len(Place(file, is_directory=False).head) == detect.HEAD_BYTES


def test_a_directory_mixes_formats_and_ranks_of_one_run_go_together(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "b" / f"rank{number}.json", b"RANK" + bytes([48 + number]))
        for number in (0, 1)
    ]
    write(tmp_path / "a.bin", b"ALONE")
    write(tmp_path / "notes.txt", b"nothing to see")
    alone, ranks = found(tmp_path, reader(b"ALONE"), reader(b"RANK", joins=True))
    assert ranks.paths == tuple(files)
    assert alone.paths == (tmp_path / "a.bin",)
    assert not alone.is_named


def test_what_belongs_to_a_recognized_file_is_not_looked_at(tmp_path: Path) -> None:
    write(tmp_path / "traces.otf2", b"ANCHOR")
    write(tmp_path / "traces" / "0.evt", b"ALPHA")
    archive = reader(b"ANCHOR", companions=lambda path: [path.with_suffix("")])
    assert [source.reader.description for source in found(tmp_path, archive, reader(b"ALPHA"))] == [
        "ANCHOR"
    ]


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"", "an empty file"),
        (b"hello there\n", r"text that begins with 'hello there\n'"),
        (b"\0\1\2\3\4\5\6\7\x08", "data that begins with the bytes 00 01 02 03 04 05 06 07"),
        (b"\x89PNG\r\n", "a picture"),
        (b"SQLite format 3\0....", "an SQLite database"),
        (b"\x1f\x8b\x08broken", "a gzip file that cannot be decompressed or holds nothing"),
        (gzip.compress(b"hello", mtime=0), "text that begins with 'hello', compressed with gzip"),
        (b"PERFSCP1", "the records of one process; give the run directory that holds them"),
    ],
)
def test_unknown_content_is_named_in_three_lines(tmp_path: Path, content: bytes, seen: str) -> None:
    file = write(tmp_path / "thing", content)
    with pytest.raises(UnreadableInputError) as caught:
        open_traces([file])
    what, why, action = caught.value.lines()
    assert what == f"{file} is not a trace that perfscope can read."
    assert why == f"It is {seen}."
    assert "perfscope run" in action


def test_places_that_hold_no_trace(tmp_path: Path) -> None:
    write(tmp_path / "empty" / "notes.txt", b"nothing")
    os.mkfifo(tmp_path / "pipe")
    for name, why in {
        "absent": "does not exist",
        "empty": "no file is a known trace",
        "pipe": "neither a file nor a directory",
        "a\0b": "null byte",
    }.items():
        with pytest.raises(UnreadableInputError) as caught:
            open_traces([tmp_path / name])
        assert why in caught.value.why


def test_a_recording_is_one_source(tmp_path: Path) -> None:
    ProcessWriter(rank=0, size=1, pid=100).write(tmp_path)
    write_run(tmp_path)
    [source] = found(tmp_path, *readers())
    assert source.reader.format is Format.PERFSCOPE
    assert open_traces([tmp_path]).world_size == 1


def test_results_of_an_analysis_are_no_traces(tmp_path: Path) -> None:
    file = write(
        tmp_path / "analysis.json",
        b'{\n "schema_version": "1",\n "tool": {"name": "perfscope"},\n "pid": 1, "ts": 2}',
    )
    with pytest.raises(UnreadableInputError) as caught:
        open_traces([file])
    assert "a result of perfscope analyze" in caught.value.why
    with pytest.raises(UnreadableInputError) as caught:
        open_traces([tmp_path])
    assert "no file is a known trace" in caught.value.why


def test_special_readers_are_asked_before_generic_ones(tmp_path: Path) -> None:
    order = [reader.is_generic for reader in readers()]
    assert order == sorted(order)
    write(tmp_path / "link", b"ALPHA")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert len(found(tmp_path, reader(b"ALPHA"))) == 1


def write_runs(directory: Path, *names: str) -> list[Path]:
    """Recordings of a rank each, somewhere below a directory."""
    for number, name in enumerate(names):
        ProcessWriter(rank=0, size=1, pid=100 + number).write(directory / name)
        write_run(directory / name)
    return [directory / name for name in names]


def test_of_runs_below_a_directory_the_nearest_is_read_and_the_others_are_named(
    tmp_path: Path,
) -> None:
    near, *_ = write_runs(tmp_path, "z", "a/deep", "a/deeper/still")
    trace = open_traces([tmp_path])
    assert trace.source == str(near)
    [said] = trace.choices
    assert said == (
        f"{near} is what was read of 3 runs below {tmp_path}: it lies nearest. The others: "
        f"{tmp_path}/a/deep, {tmp_path}/a/deeper/still."
    )
    assert said in trace.notes


def test_runs_equally_near_are_refused(tmp_path: Path) -> None:
    paths = write_runs(tmp_path, *(f"run {number}" for number in range(7)), "x/y")
    with pytest.raises(UnreadableInputError) as caught:
        open_traces([tmp_path])
    what, why, action = caught.value.lines()
    assert what == f"{tmp_path} holds 8 runs, and none of them lies nearer than the others."
    assert (
        why == f"One run is read at a time; there are {', '.join(map(str, paths[:5]))} and 2 more."
    )
    assert action == f"Name one of them: perfscope analyze '{paths[0]}'"
    assert open_traces(paths[:1]).choices == []


def test_files_of_a_format_that_are_runs_of_their_own_are_no_exception(tmp_path: Path) -> None:
    for name in ("a/one.bin", "b/two.bin"):
        write(tmp_path / name, b"ALPHA")
    with pytest.raises(UnreadableInputError, match="holds 2 runs"):
        found(tmp_path, reader(b"ALPHA"))
    write(tmp_path / "near.bin", b"ALPHA")
    [source] = found(tmp_path, reader(b"ALPHA"))
    assert source.paths == (tmp_path / "near.bin",)


def test_a_run_within_a_run_is_left_alone(tmp_path: Path) -> None:
    write_runs(tmp_path, ".", "inner")
    assert [source.paths for source in found(tmp_path, *readers())] == [(tmp_path,)]


def test_an_export_of_nsys_is_known_and_another_database_is_not_taken_for_it(
    tmp_path: Path,
) -> None:
    known = []
    for name, tables in (
        ("a.db", ("StringIds", "NVTX_EVENTS")),
        ("b.db", ("notes", "NVTX_EVENTS")),
        ("c.db", ("StringIds",)),
    ):
        database = sqlite3.connect(tmp_path / name)
        for table in tables:
            database.execute(f"CREATE TABLE {table} (id INTEGER)")
        database.commit()
        database.close()
        place = Place(tmp_path / name, is_directory=False)
        known.append([one.format for one in readers() if one.recognizes(place)])
        assert place.description() == "an SQLite database"
    assert known == [[Format.NSYS], [], []]


@pytest.mark.parametrize(
    "line",
    [
        "CMDLINE python train.py",
        "MEM 12.5 1700000000.1234",
        "FUNC __main__.step 11.0 1700000000.10 16.0 1700000000.30 0",
        "CHLD 0 30.5 1700000000.1234",
    ],
)
def test_memory_over_time_from_mprof_is_known_by_any_first_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "memory"
    known = []
    for text in (line, "MEM or FUNC, as prose"):
        file.write_text(f"{text}\n")
        place = Place(file, is_directory=False)
        known.append([one.format for one in readers() if one.recognizes(place)])
    assert known == [[Format.MPROF], []]


def test_a_name_that_is_no_text_can_be_read(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff.json"))
    write(odd, b'[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 9}]')
    assert len(open_traces([odd]).ranks) == 1


def test_a_link_that_leads_nowhere_and_a_folder_that_is_gone_are_passed_over(
    tmp_path: Path,
) -> None:
    """`Path.is_file` answers for a name that is missing, and raises for one that is too long."""
    (tmp_path / "a").write_bytes(b"ONE")
    (tmp_path / "broken").symlink_to("x" * 300)
    (tmp_path / "gone").mkdir()

    def is_whole(place: Place) -> bool:
        return any((place.path / "gone").iterdir())  # there is none: it goes while it is read

    known = reader(b"ONE")
    folders = replace(reader(b"TWO"), is_directory=True, recognizes=is_whole)
    sources = found(tmp_path, known, folders)
    assert [source.paths for source in sources] == [(tmp_path / "a",)]


def test_a_folder_of_several_kinds_is_accounted_for(tmp_path: Path) -> None:
    """What was found, what of it is the run, what is beside it, and what was left aside."""
    sample = REPOSITORY / "sample_traces" / "horovod_straggler"
    shutil.copytree(sample, tmp_path / "trace")
    talp = {"name": "Global", "elapsedTime": 10**9, "parallelEfficiency": 0.5}
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps({"popMetrics": [talp]}))
    write(tmp_path / "readme.txt", b"nothing to see")
    write(tmp_path / "cut.json", b'{"rocprofiler-sdk-tool": [')
    write(tmp_path / "mprofile.dat", b"CMDLINE python x.py\nMEM 1.5 1795000000.5\n")
    trace = open_traces([tmp_path])
    assert trace.format is Format.PERFSCOPE
    assert len(trace.tool_reports) == 2
    said, became = trace.choices
    assert "1 file of perfscope" in said
    assert "2 files of talp" in said
    assert "files of unknown format: readme.txt, " in said
    assert f"The run is {tmp_path}/trace (perfscope); beside it {tmp_path}/a.json (talp)" in became
    used, left = became.split("; left aside: ")
    assert "b.json (talp)" in used
    assert "cut.json cannot be read as a profile of rocprofv3" in left
    assert "mprofile.dat (mprof), because it does not say which rank it is of" in left


def test_results_of_perfscope_beside_a_trace_are_no_unknown_files(tmp_path: Path) -> None:
    page = b'<!DOCTYPE html><meta name="generator" content="perfscope 0.1.0">'
    write(tmp_path / "report.html", page)
    talp = {"popMetrics": [{"name": "Global", "elapsedTime": 10**9}]}
    (tmp_path / "a.json").write_text(json.dumps(talp))
    assert not open_traces([tmp_path]).choices
