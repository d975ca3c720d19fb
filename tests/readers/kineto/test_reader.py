"""Chrome and Kineto JSON: what may stand in such files, and what must not end a reader."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope import _core
from perfscope.cli.main import main
from perfscope.errors import UnreadableInputError
from perfscope.readers.kineto.file import HOST_DTYPE, KinetoContents, read_kineto
from perfscope.readers.registry import open_trace
from perfscope.schema.enums import EndKind
from perfscope.trace.devices import DEVICE_DTYPE, LAUNCH_UNKNOWN, DeviceKind
from perfscope.trace.model import RowFlag
from tests.support.trace_invariants import check_trace
from tests.support.write_kineto import BASE_NS, KinetoWriter, small

MS = 1_000_000


def read(text: str | bytes, place: Path) -> KinetoContents:
    place.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_kineto(place)


def one_event(**members: Any) -> str:
    event = {
        "ph": "X",
        "cat": "user_annotation",
        "name": "a",
        "pid": 1,
        "tid": 1,
        "ts": 1,
        "dur": 1,
    }
    return json.dumps([event | members])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "trace.json"


def test_times_are_exact_to_the_nanosecond(place: Path) -> None:
    text = json.dumps(small().document()).replace('"ts": 10.001', '"ts": 4458676977009.853')
    contents = read(text, place)
    assert BASE_NS + 4_458_676_977_009_853 in contents.device["t0"].tolist()


@pytest.mark.parametrize(
    ("written", "ns"),
    [
        ("4458676977009.853", 4_458_676_977_009_853),
        ("1707417525509905", 1_707_417_525_509_905_000),
        ("1707417525509905.125", 1_707_417_525_509_905_125),
        ("-12.5", -12_500),
        ("0.0004", 0),
        ("0.0005", 1),
        ("1.7e3", 1_700_000),
        ("17E-1", 1_700),
        ("0.000000000000000000001e18", 1),
        ("12.3456789", 12_346),
    ],
)
def test_every_way_to_write_a_time(written: str, ns: int, place: Path) -> None:
    contents = read(one_event(ts="@").replace('"@"', written), place)
    assert contents.host["t0"].tolist() == [ns]


@pytest.mark.parametrize("written", ['"5"', "null", "1e300", "99999999999999999999", "[1]", "{}"])
def test_an_event_without_a_usable_time_is_counted(written: str, place: Path) -> None:
    with pytest.raises(UnreadableInputError, match="tells of nothing that takes time"):
        read(one_event(ts="@").replace('"@"', written), place)
    file = _core.KinetoFile("x")
    file.feed(one_event(ts="@").replace('"@"', written).encode())
    file.finish()
    assert file.counts()["without_time"] == 1


def test_names_are_unescaped_once_and_equal_texts_are_one_name(place: Path) -> None:
    spellings = ["tab\\tbing", "tab\\u0009bing", "\\ud83d\\ude00", "a\\\\b", "a\\u005cb", "\\ud800"]
    events = [one_event(name="@").replace("@", spelling)[1:-1] for spelling in spellings]
    contents = read(f"[{','.join(events)}]", place)
    found = [contents.names[name] for name in contents.host["name"].tolist()]
    assert found == [
        "tab\tbing",
        "tab\tbing",
        "\N{GRINNING FACE}",
        "a\\b",
        "a\\b",
        "\N{REPLACEMENT CHARACTER}",
    ]
    assert len(set(contents.host["name"].tolist())) == 4


def test_the_last_of_equal_keys_counts(place: Path) -> None:
    text = '[{"ph":"X","ts":1,"ts":2,"dur":9,"dur":3,"name":"a","name":"b","pid":1,"tid":1}]'
    contents = read(text, place)
    assert contents.host[["t0", "t1"]].tolist() == [(2000, 5000)]
    assert contents.names[contents.host["name"][0]] == "b"


def test_begin_and_end_events_are_paired_by_thread(place: Path) -> None:
    events = [
        {"ph": "B", "name": "outer", "ts": 1, "pid": 1, "tid": 1},
        {"ph": "B", "name": "other", "ts": 2, "pid": 1, "tid": 2},
        {"ph": "B", "name": "inner", "ts": 3, "pid": 1, "tid": 1},
        {"ph": "E", "ts": 4, "pid": 1, "tid": 1},
        {"ph": "E", "ts": 5, "pid": 1, "tid": 1},
        {"ph": "E", "ts": 6, "pid": 1, "tid": 1},
        {"ph": "X", "name": "last", "ts": 7, "dur": 1, "pid": 1, "tid": 1},
    ]
    contents = read(json.dumps(events), place)
    rows = {contents.names[row["name"]]: row for row in contents.host}
    assert (rows["outer"]["t0"], rows["outer"]["t1"], rows["outer"]["flags"]) == (1000, 5000, 0)
    assert (rows["inner"]["t0"], rows["inner"]["t1"]) == (3000, 4000)
    assert (rows["other"]["t1"], rows["other"]["flags"]) == (8000, RowFlag.OPEN)
    assert (contents.counts["unopened"], contents.counts["unclosed"]) == (1, 1)


def test_negative_durations_are_left_out_and_overlaps_are_kept(place: Path) -> None:
    writer = KinetoWriter()
    writer.kernel("a", -5_000, 10_000)
    writer.kernel("b", 0, 20_000)
    writer.kernel("backwards", 9_000, 3_000)
    contents = read_kineto(writer.write(place))
    assert contents.counts["negative"] == 1
    assert (contents.device["t0"] - BASE_NS).tolist() == [-5_000, 0]
    trace = open_trace(place)
    check_trace(trace)
    assert any("negative duration" in note for note in trace.notes)


def test_launches_are_joined_by_correlation_or_by_a_flow(place: Path) -> None:
    writer = KinetoWriter()
    writer.kernel("by correlation", 10_000, 11_000, launch=2_000)
    writer.kernel("by flow", 20_000, 21_000)
    writer.event("s", "ac2g", "ac2g", 3_000, id=2, pid=1, tid=1)
    writer.kernel("by nothing", 30_000, 31_000)
    rows = read_kineto(writer.write(place)).device
    known = [row["launch"] - BASE_NS if row["launch"] != LAUNCH_UNKNOWN else None for row in rows]
    assert known in ([2_000, None, None], [2_000, 3_000, None])
    writer.host_event("from the start", 0, 40_000)
    rows = read_kineto(writer.write(place)).device
    assert [int(launch - BASE_NS) for launch in rows["launch"][:2]] == [2_000, 3_000]
    assert rows["launch"][2] == LAUNCH_UNKNOWN


@pytest.mark.parametrize(
    "name",
    [
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)",
        "ncclKernel_Broadcast",
        "ncclSymkDevKernel_AllGather_ST",
        "void RCCL::kernel()",
        "rccl_kernel",
        "mscclKernel_Sum_half_Simple_LL",
        "void mscclpp::allreduce<int>(int*)",
        "my_Hccl_thing",
        "hcom_allReduce__363_0",
        "oneCCL::allreduce",
        "onecclAllreduce",
        "oneapi::ccl::v1::allreduce_kernel",
        "_ZTSN6oneapi3ccl6kernelE",
        "custom(NCCL)",
        "myNcclKernel",
        "pynccl_all_reduce",
        "void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)",
        "multimem_all_reduce_kernel<float>",
        "void multimem_one_shot_all_reduce_kernel<float, 16>",
        "two_shot_all_reduce_kernel_inplace",
    ],
)
def test_every_spelling_of_a_communication_kernel(name: str, place: Path) -> None:
    writer = KinetoWriter()
    writer.kernel(name, 0, 10)
    writer.kernel("generic", 10, 20, arguments={"Collective name": "alltoall"})
    writer.kernel("gemm", 20, 30)
    kinds = read_kineto(writer.write(place)).device["kind"].tolist()
    assert kinds == [DeviceKind.COMMUNICATION, DeviceKind.COMMUNICATION, DeviceKind.COMPUTE]


@pytest.mark.parametrize(
    "name",
    ["syncClear", "void asyncclear<int>()", "ASYNCCLEAR", "funcCloneKernel", "reduce_kernel"],
)
def test_letters_inside_a_word_make_no_communication_kernel(name: str, place: Path) -> None:
    writer = KinetoWriter()
    writer.kernel(name, 0, 10)
    assert read_kineto(writer.write(place)).device["kind"].tolist() == [DeviceKind.COMPUTE]


def test_counters_keep_their_values(place: Path) -> None:
    events = [
        {"ph": "C", "name": "memory", "ts": 1, "pid": 1, "args": {"used": 5, "free": 1.5}},
        {"ph": "C", "name": "memory", "ts": 2, "pid": 1, "args": {"used": "nothing"}},
    ]
    contents = read(json.dumps(events), place)
    assert [contents.names[name] for name in contents.counters["name"]] == [
        "memory.used",
        "memory.free",
    ]
    assert contents.counters["value"].tolist() == [5.0, 1.5]


def test_a_list_without_its_bracket_is_whole(place: Path) -> None:
    assert read(one_event()[:-1] + ",\n", place).cut_at is None


def test_a_killed_file_keeps_what_was_whole(place: Path) -> None:
    text = json.dumps(small().document())
    contents = read(text[: text.index('"ncclDev')], place)
    assert contents.cut_at is not None
    trace = open_trace(place)
    check_trace(trace)
    assert trace.ranks[0].ending.kind is EndKind.UNKNOWN
    assert any("ends in the middle" in note for note in trace.notes)


@pytest.mark.parametrize("block", [1, 7, 64, 1000])
def test_blocks_of_any_size_give_the_same(block: int, place: Path) -> None:
    whole = read_kineto(small().write(place))
    text = place.read_bytes()
    file = _core.KinetoFile("x")
    for start in range(0, len(text), block):
        file.feed(text[start : start + block])
    file.finish()
    assert np.array_equal(file.take_device().view(DEVICE_DTYPE), whole.device)
    assert np.array_equal(file.take_host().view(HOST_DTYPE), whole.host)


def test_cut_at_every_length_it_is_read_or_refused(place: Path) -> None:
    text = json.dumps(small().document()).encode()
    first_event = text.index(b"[{", text.index(b'"traceEvents"'))
    for end in range(first_event + 1):
        with pytest.raises(UnreadableInputError):
            read(text[:end], place)
    whole = text.index(b"}", first_event) + 1
    held: tuple[int, ...] = ()
    for end in range(whole, len(text)):
        found = read(text[:end], place)
        assert found.cut_at is not None
        before, threads = held, len(found.threads)
        held = (len(found.host), len(found.device), len(found.names), threads)
        if held != before:
            check_trace(open_trace(place))


@given(st.integers(0, 8 * 3000), st.integers(0, 8 * 3000))
@settings(max_examples=150, deadline=None)
def test_flipped_bits_end_in_a_message_or_a_sound_trace(
    tmp_path_factory: pytest.TempPathFactory, first: int, second: int
) -> None:
    place = tmp_path_factory.mktemp("flip") / "trace.json"
    text = bytearray(json.dumps(small().document()).encode())
    for bit in (first, second):
        text[bit // 8 % len(text)] ^= 1 << bit % 8
    place.write_bytes(text)
    try:
        trace = open_trace(place)
    except UnreadableInputError:
        return
    check_trace(trace)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("{}", "traceEvents"),
        ("[1]", "no event"),
        ('{"traceEvents": [{"ph": "X"]}', "a member of an event has no name|bracket"),
        ('{"traceEvents": [{"args": {"a": [}}]}', "bracket"),
        ('{"traceEvents": [], "traceEvents": []}', "second time"),
        ("[]x", "follows the end"),
        ("[" + '{"args":' + "[" * 100 + "]" * 100 + "}]", "nested deeper"),
        ('[{"ts" 5}]', "without a value"),
        ('[{"a": x}]', "no value"),
        ("[]", "None of its 0 events"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_place(text: str, reason: str, place: Path) -> None:
    with pytest.raises(UnreadableInputError) as caught:
        read(text, place)
    assert re.search(reason, caught.value.why)


def test_long_names_are_cut_and_said(place: Path) -> None:
    contents = read(one_event(name="x" * 100_000), place)
    assert len(contents.names[0]) == 4096
    assert contents.counts["long_names"] == 1


def test_a_million_names_are_kept() -> None:
    file = _core.KinetoFile("x")
    file.feed(b"[")
    for start in range(0, 1_000_000, 10_000):
        part = b",".join(
            b'{"ph":"X","cat":"kernel","name":"k%d","pid":0,"tid":7,"ts":%d,"dur":1}' % (n, n)
            for n in range(start, start + 10_000)
        )
        file.feed(part + b",")
    file.feed(b"]")
    file.finish()
    assert len(file.names()) == 1_000_000
    assert file.counts()["device"] == 1_000_000


def test_one_endless_value_is_refused() -> None:
    file = _core.KinetoFile("x")
    file.feed(b'[{"name":"')
    for _ in range(63):
        file.feed(b"x" * (1 << 20))
    with pytest.raises(_core.FormatError) as caught:
        file.feed(b"x" * (80 << 20))
    assert "64 MiB" in caught.value.args[2]


def test_gzip_in_several_members_and_cut_gzip(tmp_path: Path) -> None:
    text = json.dumps(small().document()).encode()
    place = tmp_path / "trace.json.gz"
    place.write_bytes(gzip.compress(text[:500]) + gzip.compress(text[500:]))
    whole = read_kineto(place)
    assert whole.cut_at is None
    assert len(whole.device) == 3
    packed = gzip.compress(text, mtime=0)
    place.write_bytes(packed[:-40])
    assert read_kineto(place).cut_at is not None
    damaged = bytearray(packed)
    damaged[len(damaged) // 2] ^= 0xFF
    place.write_bytes(damaged)
    with pytest.raises(UnreadableInputError):
        read_kineto(place)


def test_a_rank_alone_claims_no_saving_of_the_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of eight ranks: what the others do is not known, and so is what any fix would save."""
    writer = KinetoWriter(rank=3, world_size=8)
    for number in range(20):
        start = number * 100 * MS
        writer.step(number, start, start + 100 * MS)
        writer.kernel("gemm", start, start + 50 * MS, launch=start)
        writer.allreduce(start + 50 * MS, start + 90 * MS, launch=start)
    path = writer.write(tmp_path / "rank3.json")
    main(["analyze", str(path), "--check", "--no-report", "-o", str(tmp_path)])
    printed = " ".join(capsys.readouterr().out.split())
    assert "Saving not estimated. The device of rank 3 ran nothing but communication" in printed
    assert "upper bound" not in printed
    assert "up to" not in printed


def test_a_host_alone_is_told_in_a_sentence_that_a_terminal_shows_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = KinetoWriter(rank=3, world_size=8)
    writer.step(0, 0, 100 * MS)
    main(["analyze", str(writer.write(tmp_path / "rank3.json")), "-o", str(tmp_path)])
    printed = " ".join(capsys.readouterr().out.split())
    assert "characters)" not in printed
    assert "Give perfscope analyze the files of all ranks together." in printed
    assert printed.count("7 of 8 ranks are missing (ranks 0-2, 4-7)") == 3  # with reasons
    assert "None of the ranks' time in the analyzed window is known to be lost" in printed


def test_launches_behind_their_kernels_are_not_called_missing(tmp_path: Path) -> None:
    writer = KinetoWriter()
    for number in range(20):
        start = number * 100 * MS
        writer.step(number, start, start + 100 * MS)
        writer.kernel("gemm", start + MS, start + 50 * MS, launch=start + 2 * MS)
    path = writer.write(tmp_path / "rank0.json")
    main(["analyze", str(path), "--no-report", "-o", str(tmp_path)])
    document = json.loads((tmp_path / "analysis.json").read_text(encoding="utf-8"))
    [check] = [row for row in document["quality"] if row["id"] == "device_launches"]
    assert check["title"] == "Launches do not fit"
    assert "no launch" not in check["detail"]
    assert "20 of 20 device events begin" in check["detail"]
