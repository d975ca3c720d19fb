"""CUBE profiles made as the format is documented, with known sums; damaged and hostile ones."""

import gzip
import io
import math
import struct
import tarfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope import memory
from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.results import Options
from perfscope.readers.cube import anchor as anchor_module
from perfscope.readers.cube import archive as archive_module
from perfscope.readers.cube.archive import CubeArchive
from perfscope.readers.registry import open_trace
from perfscope.trace.model import Format
from tests.support.trace_invariants import check_trace

# main calls a and b, and a calls MPI_Send; wide order: main, a, b, MPI_Send
ANCHOR = b"""<?xml version="1.0" encoding="UTF-8"?>
<cube version="4.4"><attr key="Creator" value="Score-P 8.4"/>
<metrics>
 <metric id="0" type="EXCLUSIVE"><disp_name>Visits</disp_name><uniq_name>visits</uniq_name>
  <dtype>UINT64</dtype><uom>occ</uom></metric>
 <metric id="1" type="INCLUSIVE"><disp_name>Time</disp_name><uniq_name>time</uniq_name>
  <dtype>DOUBLE</dtype><uom>sec</uom>
  <metric id="2" type="EXCLUSIVE"><disp_name>Late Sender</disp_name>
   <uniq_name>mpi_latesender</uniq_name><dtype>DOUBLE</dtype><uom>sec</uom></metric></metric>
 <metric id="3" type="EXCLUSIVE"><disp_name>Least</disp_name><uniq_name>min_time</uniq_name>
  <dtype>MINDOUBLE</dtype><uom>sec</uom></metric>
</metrics>
<program>
 <region id="5" mod="a.c" begin="3"><name>main</name><paradigm>user</paradigm></region>
 <region id="6" mod="a.c" begin="9"><name>work</name><paradigm>user</paradigm></region>
 <region id="7"><name>MPI_Send</name><paradigm>mpi</paradigm></region>
 <cnode id="0" calleeId="5"><cnode id="1" calleeId="6"><cnode id="2" calleeId="7"/></cnode>
 <cnode id="3" calleeId="6"/></cnode>
</program>
<system><systemtreenode Id="0"><name>n0</name>
 <locationgroup Id="0"><rank>0</rank><location Id="0"><rank>0</rank></location></locationgroup>
 <locationgroup Id="1"><rank>1</rank><location Id="1"><rank>0</rank></location></locationgroup>
</systemtreenode></system></cube>"""
TIME = [[10.0, 10.0], [6.0, 8.0], [1.0, 1.0], [4.0, 2.0]]
VISITS = [[1, 1], [1, 1], [40, 50], [2, 2]]
LATE = [[0.0, 0.0], [0.0, 0.0], [0.0, 1.5], [0.0, 0.0]]


def archive(
    place: Path,
    changed: dict[str, bytes] | None = None,
    *,
    order: str = "<",
    is_packed: bool = False,
) -> Path:
    members: dict[str, bytes] = {"remapping.spec": b"x" * 70_000, "anchor.xml": ANCHOR}
    tables: dict[str, tuple[list[Any], str]] = {
        "0": (VISITS, "u8"),
        "1": (TIME, "f8"),
        "2": (LATE, "f8"),
        "3": (LATE, "f8"),
    }
    for number, (rows, kind) in tables.items():
        head = b"CUBEX.INDEX" + struct.pack(f"{order}ihb", 1, 0, 1)
        members[f"{number}.index"] = head + struct.pack(f"{order}i4i", 4, 0, 1, 2, 3)
        parts = [np.array(row, f"{order}{kind}").tobytes() for row in rows]
        members[f"{number}.data"] = b"CUBEX.DATA" + b"".join(parts)
        if is_packed:
            packed = [zlib.compress(part) for part in parts]
            heads = [number for part in packed for number in (0, 0, len(part))]
            told = struct.pack(f"{order}q12q", 4, *heads)
            members[f"{number}.data"] = b"ZCUBEX.DATA" + told + b"".join(packed)
    members |= changed or {}
    path = place / "profile.cubex"
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as made:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_sums_are_those_of_the_call_tree(tmp_path: Path, order: str, is_packed: bool) -> None:
    """Time counts with what was called, in an order of its own: `work` took 2 + 6 + 1 + 1 s."""
    trace = open_trace(archive(tmp_path, order=order, is_packed=is_packed))
    check_trace(trace)
    assert trace.format is Format.CUBE
    assert [rank.number for rank in trace.ranks] == [0, 1]
    assert trace.wall_ns == 10 * 10**9
    regions, metrics = trace.tool_reports[0].tables
    rows = {row[0]: row[3:] for row in regions.rows}
    # inclusive: main 10/10, first work 6/8, second work 1/1, MPI_Send below the first 4/2
    assert rows == {
        "main": (2, 4.0, 1.0, 3.0),
        "work": (6, 10.0, 3.0, 7.0),
        "MPI_Send": (90, 6.0, 2.0, 4.0),
    }
    told = {row[1]: row[2:] for row in metrics.rows}
    assert told["mpi_latesender"] == ("time", "sec", 1.5, 1.5)
    assert told["time"][2] == 20.0
    assert "min_time" not in told
    assert trace.tool_reports[0].tool == "Score-P 8.4"
    assert "70.0 % in regions of user, 30.0 % in regions of mpi" in trace.tool_reports[0].says[0]


def test_what_cubes_own_library_wrote_of_the_same_values_says_the_same(tmp_path: Path) -> None:
    """CubeW, the library that Score-P writes with, was given the call tree and the values above."""
    (made,) = open_trace(archive(tmp_path)).tool_reports
    trace = open_trace(Path(__file__).with_name("written") / "cubew.cubex")
    check_trace(trace)
    (told,) = trace.tool_reports
    assert [sorted(table.rows) for table in told.tables] == [
        sorted(table.rows) for table in made.tables
    ]
    assert told.says == made.says


def test_its_figures_are_never_ours(tmp_path: Path) -> None:
    document = analysis(open_trace(archive(tmp_path)), Options())
    assert document["metrics"]["parallel_efficiency"]["value"] is None
    assert all(row["seconds"] == 0 for row in document["ledger"])


def test_no_advice_is_given_that_sums_cannot_follow(tmp_path: Path) -> None:
    """Rules for phases name nothing in a file that does not tell when anything happened."""
    document = analysis(open_trace(archive(tmp_path)), Options())
    said = " ".join(finding["summary"] for finding in document["findings"])
    assert "--phase" not in said
    assert "not when anything happened" in said


def test_call_paths_that_an_index_leaves_out_have_nothing(tmp_path: Path) -> None:
    made = CubeArchive(archive(tmp_path, {"2.data": b"CUBEX.DATA", "2.index": INDEX_OF_NONE}))
    found = made.values(next(one for one in made.metrics if one.number == 2))
    assert found is not None
    assert not found.any()


def test_an_index_without_numbers_is_of_all_call_paths(tmp_path: Path) -> None:
    dense = b"CUBEX.INDEX" + struct.pack("<ihb", 1, 0, 3)
    plain = open_trace(archive(tmp_path)).tool_reports[0]
    assert (
        open_trace(archive(tmp_path, {"1.index": dense, "0.index": dense})).tool_reports[0] == plain
    )


INDEX_OF_NONE = b"CUBEX.INDEX" + struct.pack("<ihbi", 1, 0, 1, 0)
BOMB = b"ZCUBEX.DATA" + struct.pack("<q3q", 1, 0, 0, 1 << 40)


@pytest.mark.parametrize(
    "changed",
    [
        {"anchor.xml": ANCHOR[:-40]},
        {"anchor.xml": b'<!DOCTYPE a [<!ENTITY b "c">]>' + ANCHOR},
        {"anchor.xml": ANCHOR.replace(b"UTF-8", b"U8F-8")},
        {"anchor.xml": ANCHOR.replace(b'calleeId="7"', b'calleeId="99"')},
        {"1.data": b"CUBEX.DATA1234"},
        {"1.data": b"CUBEX.DATA" + b"\0" * 8},
        {"1.data": b"other"},
        {"1.data": BOMB},
        {"1.index": b"CUBEX.INDEX"},
        {"1.index": b"CUBEX.INDEX" + struct.pack("<ihbi", 1, 0, 1, -1)},
        {"1.index": b"CUBEX.INDEX" + struct.pack("<ihbi4i", 1, 0, 1, 4, 0, 1, 2, 99)},
    ],
)
def test_damage_ends_in_an_error_of_three_lines(tmp_path: Path, changed: dict[str, bytes]) -> None:
    with pytest.raises(UnreadableInputError, match="cannot be read as a CUBE") as raised:
        open_trace(archive(tmp_path, changed))
    assert all(raised.value.lines())


@pytest.mark.parametrize("value", [math.nan, 1e305, -math.inf])
def test_a_metric_that_cannot_be_true_is_left_out_and_the_rest_told(
    tmp_path: Path, value: float
) -> None:
    """Counters that went wrong spoil themselves, and not the times beside them."""
    changed = {"2.data": b"CUBEX.DATA" + struct.pack("<8d", *[value] * 8)}
    (told,) = open_trace(archive(tmp_path, changed)).tool_reports
    assert told.says[-1].endswith("left out, with all of: Late Sender.")
    assert {row[1] for row in told.tables[-1].rows} == {"visits", "time"}
    changed = {"1.data": b"CUBEX.DATA" + struct.pack("<8d", *[value] * 8)}
    trace = open_trace(archive(tmp_path, changed))
    check_trace(trace)
    assert trace.tool_reports[0].says == (
        "Values that cannot be true were left out, with all of: Time.",
    )


def test_sums_as_cube_4_8_counts_them_are_taken_and_others_are_not(tmp_path: Path) -> None:
    path = archive(tmp_path)
    expected = open_trace(path).tool_reports
    with tarfile.open(path) as made:
        places = [member.offset for member in made]
    for blanks in (-1, 1):
        content = bytearray(path.read_bytes())
        for place in places:
            told = int(content[place + 148 : place + 154], 8) + blanks * ord(" ")
            content[place + 148 : place + 156] = b"%06o\0\0" % told
        (tmp_path / "other.cubex").write_bytes(content)
        if blanks < 0:
            assert open_trace(tmp_path / "other.cubex").tool_reports[0].tables == expected[0].tables
            continue
        with pytest.raises(UnreadableInputError):
            open_trace(tmp_path / "other.cubex")


def test_a_file_with_holes_is_an_error(tmp_path: Path) -> None:
    """Of 512 bytes in the archive it becomes as many as its head says."""
    hole = tarfile.TarInfo("1.data")
    hole.type = tarfile.GNUTYPE_SPARSE
    head = bytearray(hole.tobuf(tarfile.GNU_FORMAT))
    head[483:495] = b"%011o\0" % (7 << 30)  # its length when the holes are filled
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    path = archive(tmp_path)
    path.write_bytes(bytes(head) + path.read_bytes())
    with pytest.raises(UnreadableInputError, match="cannot be read as a CUBE"):
        open_trace(path)


def test_a_cut_archive_is_an_error(tmp_path: Path) -> None:
    path = archive(tmp_path)
    content = path.read_bytes()
    for share in (0.5, 0.9):
        path.write_bytes(content[: int(share * len(content.rstrip(b"\0")))])
        with pytest.raises(UnreadableInputError):
            open_trace(path)


def test_more_values_than_memory_holds_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "MOST_VALUES", 7)
    with pytest.raises(UnreadableInputError, match="cannot be read as a CUBE") as raised:
        open_trace(archive(tmp_path))
    assert "more than 7 values" in raised.value.why


@pytest.mark.parametrize("is_packed", [False, True])
def test_an_anchor_and_values_come_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_packed: bool
) -> None:
    """Pieces that end within a tag, a text, a value, and the whole archive packed with gzip."""
    whole = open_trace(archive(tmp_path, is_packed=is_packed)).tool_reports[0]
    monkeypatch.setattr(archive_module, "PIECE_BYTES", 13)
    path = archive(tmp_path, {"anchor.xml": gzip.compress(ANCHOR)}, is_packed=is_packed)
    assert open_trace(path).tool_reports[0] == whole


@pytest.mark.parametrize(
    ("anchor", "why"),
    [
        (ANCHOR.replace(b"</program>", b"<cnode calleeId='5'>" * 6000), "too deep"),
        (ANCHOR.replace(b"<metrics>", b"<metrics x='" + b"y" * 10_000_000), "longer than"),
        (ANCHOR.replace(b"</program>", b"<region id='9'/>" * 2000 + b"</program>"), "memory"),
    ],
)
def test_an_anchor_that_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anchor: bytes, why: str
) -> None:
    left = 2 * 1000 * anchor_module.ENTRY_BYTES
    monkeypatch.setattr(memory, "memory_left_bytes", lambda: left)
    monkeypatch.setattr(anchor_module, "LONGEST_TOKEN_BYTES", 5_000_000)
    with pytest.raises(UnreadableInputError, match="cannot be read as a CUBE") as raised:
        open_trace(archive(tmp_path, {"anchor.xml": anchor}))
    assert why in raised.value.why
