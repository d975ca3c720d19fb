"""Files of rocprof and rocprofv3, as their releases write them."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope import memory
from perfscope.attribution.preparation import prepare
from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.compute import compute
from perfscope.metrics.devices.devices import devices
from perfscope.metrics.results import Options
from perfscope.readers.common.spread import spread_by
from perfscope.readers.registry import open_trace, open_traces
from perfscope.readers.rocprof import document as json_document
from perfscope.readers.rocprof import reader
from perfscope.schema.enums import PhaseKind
from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import Format, Trace
from tests.readers.rocprof import profiles
from tests.support.trace_invariants import check_trace

SIZES = '"LDS_Block_Size","Scratch_Size","Workgroup_Size_X","Grid_Size_X"'
KERNELS = {
    "rocprofv3 7": f'"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id",'
    f'"Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",{SIZES}\n'
    '"KERNEL_DISPATCH","Agent {device}",1,0,70,1,33,"{name}",{call},{begin},{end},0,0,256,256\n',
    "rocprofv3 6": '"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp"\n'
    '"KERNEL_DISPATCH",{device},139690710949888,15,"{name}",{call},{begin},{end}\n',
    "rocpd": '"Guid","Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id",'
    '"Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
    '"00-11","KERNEL_DISPATCH","Agent {device}",1,0,7,1,3,"{name}",{call},{begin},{end}\n',
    "rocprof": '"Index","KernelName","gpu-id","queue-id","queue-index","pid","tid","grd",'
    '"DispatchNs","BeginNs","EndNs","CompleteNs","DurationNs"\n'
    '0,"{name} [clone .kd]",{device},0,0,7,7,65536,1,{begin},{end},9,9\n',
}
COPIES = """"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE","Agent 0","Agent 4",5,900000,950000
"""  # noqa: E501
CALLS = """"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"HIP_RUNTIME_API","hipLaunchKernel",7,7,8,800000,810000
"""  # noqa: E501
NAME = profiles.NAME


def kernel(release: str, **told: object) -> str:
    facts = {"device": 4, "name": NAME, "call": 8, "begin": 1_000_000, "end": 1_500_000} | told
    return KERNELS[release].format(**facts)


def opened(place: Path, **files: str) -> Trace:
    for name, text in files.items():
        (place / f"{name}.csv").write_text(text)
    trace = open_traces([place])
    check_trace(trace)
    assert trace.format is Format.ROCPROF
    return trace


@pytest.mark.parametrize("release", KERNELS)
def test_kernels_of_all_releases_are_work_of_a_device(tmp_path: Path, release: str) -> None:
    trace = opened(tmp_path, kernel_trace=kernel(release))
    devices = trace.ranks[0].devices
    assert devices is not None
    (row,) = devices.rows
    assert trace.names[row["name"]] == NAME
    assert (row["device"], row["t1"] - row["t0"]) == (4, 500_000)
    assert compute(trace).efficiency.parallel_efficiency.value is None


def test_how_much_hosts_offload_is_not_known_without_what_they_did(tmp_path: Path) -> None:
    found = devices(prepare(opened(tmp_path, kernel_trace=kernel("rocprofv3 7"))))
    assert found is not None
    assert found.offload_efficiency.value is None
    assert "how long the ranks' hosts waited" in (found.offload_efficiency.reason or "")


def test_files_of_a_process_belong_together_and_launches_are_found(tmp_path: Path) -> None:
    parts = {"7_kernel_trace": kernel("rocprofv3 7"), "7_memory_copy_trace": COPIES}
    trace = opened(tmp_path, **parts, **{"7_hip_api_trace": CALLS})
    (rank,) = trace.ranks
    assert rank.devices is not None
    rows = rank.devices.rows
    assert sorted(rows["kind"].tolist()) == [DeviceKind.COMPUTE, DeviceKind.MEMCPY]
    (launched,) = rows[rows["kind"] == DeviceKind.COMPUTE]
    assert launched["t0"] - launched["launch"] == 200_000


DAY_NS = 86400 * 10**9


@pytest.mark.parametrize("is_named", [True, False])
def test_two_runs_in_one_folder_are_no_run_of_a_day(tmp_path: Path, is_named: bool) -> None:
    """rocprofv3 -o names files as the user likes; without a name nothing tells them apart."""
    runs = [
        [kernel("rocprofv3 7", begin=at, end=at + 9).split("\n") for at in range(day, day + 90, 9)]
        for day in (1000, DAY_NS)
    ]
    head, first, second = runs[0][0][0], *([row for _, row, _ in rows] for rows in runs)
    files = {"decode_": first, "prefill_": second} if is_named else {"": first + second}
    texts = {f"{name}kernel_trace": "\n".join([head, *rows, ""]) for name, rows in files.items()}
    trace = opened(tmp_path, **texts)
    document = analysis(trace, Options())
    assert len(trace.ranks) == len(files)
    assert document["run"]["damage"][0]["id"] == "mixed_runs"
    assert document["devices"]["value"] is None
    assert "the files of one run alone, each" in document["verdict"]["sentence"]


class Beside:
    """Stands for other processes: calls functions at once."""

    def start(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        return list(map(function, *columns))

    def take(self, handles: Sequence[Any], *, forget: bool = True) -> list[Any]:
        return list(handles)


def test_files_that_are_read_elsewhere_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers get whole paths, also where the user gave a relative one."""
    for name, text in {"7_kernel_trace": kernel("rocprofv3 7"), "7_hip_api_trace": CALLS}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    monkeypatch.chdir(tmp_path)
    with spread_by(Beside()):
        (rank,) = open_traces([Path()]).ranks
    assert rank.devices is not None
    assert rank.devices.rows["launch"].tolist() == [
        0
    ]  # when it was launched, which is the beginning


def test_processes_are_ranks_and_rccl_communicates(tmp_path: Path) -> None:
    rccl = kernel("rocprofv3 7", name="ncclDevKernel_AllReduce(int)")
    trace = opened(tmp_path, **{"7_kernel_trace": rccl, "8_kernel_trace": rccl})
    assert len(trace.ranks) == 2
    for rank in trace.ranks:
        assert rank.devices is not None
        assert np.all(rank.devices.rows["kind"] == DeviceKind.COMMUNICATION)


def test_rows_without_a_time_are_counted(tmp_path: Path) -> None:
    odd = "".join(
        kernel("rocprofv3 7", begin=begin, end=end).split("\n", 1)[1]
        for begin, end in ((5, 4), ("x", 9), ("", ""), (-3, 4), (1, 1 << 63))
    )
    trace = opened(tmp_path, kernel_trace=kernel("rocprofv3 7") + odd)
    assert any("left out 5 rows" in note for note in trace.notes)


def test_a_cut_row_is_left_out(tmp_path: Path) -> None:
    content = kernel("rocprofv3 7") + '"KERNEL_DISPATCH","Agent 4",1,0,70,2,3,"ge'
    trace = opened(tmp_path, kernel_trace=content)
    assert any("left out 1 row" in note for note in trace.notes)


def test_a_head_alone_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(kernel("rocprofv3 7").split("\n", 1)[0] + "\n")
    with pytest.raises(UnreadableInputError) as raised:
        open_trace(tmp_path / "a.csv")
    assert all(raised.value.lines())


def test_more_rows_than_memory_holds_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_ROWS", 2)
    (tmp_path / "a.csv").write_text(
        kernel("rocprofv3 7") + 3 * kernel("rocprofv3 7").split("\n", 1)[1]
    )
    with pytest.raises(UnreadableInputError, match="too many events"):
        open_trace(tmp_path / "a.csv")


FORMS: tuple[Callable[[Path], Path], ...] = (
    lambda place: profiles.document(place / "7_results.json", profiles.process()),
    lambda place: profiles.database(place / "7_results.db"),
)


@pytest.mark.parametrize("write", FORMS)
def test_json_and_databases_tell_the_same_as_tables(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    trace = open_trace(write(tmp_path))
    check_trace(trace)
    (rank,) = trace.ranks
    assert (trace.format, rank.pid, rank.host) == (Format.ROCPROF, 7, "n0")
    assert rank.devices is not None
    rows = rank.devices.rows
    (ran,) = rows[rows["kind"] == DeviceKind.COMPUTE]
    (copied,) = rows[rows["kind"] == DeviceKind.MEMCPY]
    assert trace.names[ran["name"]] == NAME
    assert (ran["device"], copied["device"], copied["bytes"]) == (4, 4, 64)
    assert (ran["t1"] - ran["t0"], ran["t0"] - ran["launch"]) == (500_000, 200_000)
    assert rank.phases["kind"].tolist() == [PhaseKind.EVALUATE]
    results = compute(trace)
    assert results.efficiency.parallel_efficiency.value is None
    assert results.devices is not None
    assert [device.name for device in results.devices.devices] == ["Instinct MI300X"]


@pytest.mark.parametrize("ended_ns", [9_000_000_000, 4_000_000_000])
def test_what_a_process_did_long_before_its_kernels_is_no_stray(
    tmp_path: Path, ended_ns: int
) -> None:
    """It may load and compile for seconds; what the process did not live to see is set aside."""
    told = profiles.process()
    told["metadata"] |= {"init_time": 1_000, "fini_time": ended_ns}
    (first,) = told["buffer_records"]["hip_api"]
    for at in (*range(4_000_000, 5_000_000, 20_000), 3_900_000_000, 8_000_000_000):
        first_ns = at if at > 10**9 else at + 3 * 10**9
        times = {"start_timestamp": first_ns, "end_timestamp": first_ns + 9_000}
        told["buffer_records"]["hip_api"].append({**first, **times})
    trace = open_trace(profiles.document(tmp_path / "7_results.json", told))
    check_trace(trace)
    aside = ended_ns < 8 * 10**9
    assert (trace.wall_ns > 4 * 10**9, trace.wall_ns > 7 * 10**9) == (not aside, not aside)
    assert any("set aside 1 event" in note for note in trace.notes) == aside


def test_processes_of_one_file_are_ranks(tmp_path: Path) -> None:
    one = profiles.document(tmp_path / "a.json", profiles.process(7), profiles.process(8))
    for path in (one, profiles.database(tmp_path / "b.db", 7, 8)):
        trace = open_trace(path)
        check_trace(trace)
        assert [rank.pid for rank in trace.ranks] == [7, 8]
        assert all(rank.devices is not None and len(rank.devices.rows) for rank in trace.ranks)


def test_processes_that_their_hosts_number_alike_are_ranks(tmp_path: Path) -> None:
    first, second = profiles.process(7), profiles.process(7)
    second["metadata"]["node"]["hostname"] = "n1"
    profiles.document(tmp_path / "a.json", first)
    profiles.document(tmp_path / "b.json", second)
    both = tmp_path / "both"
    both.mkdir()
    profiles.document(both / "c.json", first, second)
    for places in ([tmp_path / "a.json", tmp_path / "b.json"], [both]):
        trace = open_traces(places)
        check_trace(trace)
        assert [(rank.host, rank.pid) for rank in trace.ranks] == [("n0", 7), ("n1", 7)]


def test_a_process_in_three_forms_is_read_once(tmp_path: Path) -> None:
    for write in FORMS:
        write(tmp_path)
    trace = opened(tmp_path, **{"7_kernel_trace": kernel("rocprofv3 7")})
    assert len(trace.ranks) == 1
    assert sum("tells of the same process" in note for note in trace.notes) == 2


@pytest.mark.parametrize("write", FORMS)
def test_what_is_cut_off_is_an_error(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 6 // 10])
    with pytest.raises(UnreadableInputError) as raised:
        open_trace(path)
    assert all(raised.value.lines())


def test_odd_records_are_counted_and_name_nothing(tmp_path: Path) -> None:
    odd = profiles.process()
    records = odd["buffer_records"]
    for begin, end in ((5, 4), ("x", 9), (None, 1), (-3, 4), (1, 1 << 63)):
        row = dict(records["hip_api"][0], start_timestamp=begin, end_timestamp=end)
        records["hip_api"].append(row)
    records["kernel_dispatch"][0]["dispatch_info"] = {"kernel_id": 99, "agent_id": 7}
    records["memory_copy"][0] |= {"kind": 77, "operation": -1, "bytes": "x"}
    odd["strings"]["marker_api"] = [3, None]
    trace = open_trace(profiles.document(tmp_path / "a.json", odd))
    check_trace(trace)
    assert any("left out 5 records" in note for note in trace.notes)
    (rank,) = trace.ranks
    assert rank.devices is not None
    names = {trace.names[number] for number in rank.devices.rows["name"].tolist()}
    assert names == {"unknown"}


def test_processes_without_end_are_an_error(tmp_path: Path) -> None:
    path = profiles.database(tmp_path / "a.db")
    with sqlite3.connect(path) as damaged:
        rows = ((number, 1, number) for number in range(2, 10_000))
        damaged.executemany(
            "INSERT INTO rocpd_info_process_0000_0 (id, nid, pid) VALUES (?, ?, ?)", rows
        )
    damaged.close()
    with pytest.raises(UnreadableInputError, match="too many processes"):
        open_trace(path)


def test_processes_of_the_same_tables_are_ranks(tmp_path: Path) -> None:
    path = profiles.database(tmp_path / "a.db")
    with sqlite3.connect(path) as both:
        both.execute("INSERT INTO rocpd_info_process_0000_0 VALUES (2, 1, 8, NULL, NULL)")
        for table in ("kernel_dispatch", "region", "memory_copy"):
            name = f"rocpd_{table}_0000_0"
            columns = [column for _, column, *_ in both.execute(f"PRAGMA table_info({name})")]
            told = ", ".join("2" if column == "pid" else f'"{column}"' for column in columns)
            both.execute(f"INSERT INTO {name} SELECT {told} FROM {name}")
    both.close()
    trace = open_trace(path)
    check_trace(trace)
    assert [rank.pid for rank in trace.ranks] == [7, 8]
    assert len({len(rank.phases) for rank in trace.ranks}) == 1


def test_bytes_in_a_database_tell_nothing(tmp_path: Path) -> None:
    path = profiles.database(tmp_path / "a.db")
    with sqlite3.connect(path) as damaged:
        damaged.execute("UPDATE rocpd_info_agent_0000_0 SET absolute_index = x'ff', name = x'ff'")
        damaged.execute("UPDATE rocpd_memory_copy_0000_0 SET size = x'ff', name_id = x'ff'")
    damaged.close()
    trace = open_trace(path)
    check_trace(trace)
    assert trace.ranks[0].devices is not None


@pytest.mark.parametrize("value", [[], {}, [3], [{}], "x", None])
def test_a_profile_of_nothing_is_an_error(tmp_path: Path, value: object) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"rocprofiler-sdk-tool": value}))
    with pytest.raises(UnreadableInputError) as raised:
        open_trace(path)
    assert all(raised.value.lines())


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"kind": 3', '"kind" 3', "byte"),
        ('"agents": [', '"agents": {[', "damaged"),
        ('"buffer_records": {', '"buffer_records": {"x": ' + "[" * 5000 + ",", "64 levels"),
        ('"buffer_records": {', '"buffer_records": {"x": "' + "y" * 5000, "damaged"),
    ],
)
def test_json_that_is_damaged_says_where(tmp_path: Path, old: str, new: str, why: str) -> None:
    path = profiles.document(tmp_path / "7_results.json", profiles.process())
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(UnreadableInputError) as raised:
        open_trace(path)
    assert why in raised.value.why
    assert all(raised.value.lines())


def test_what_json_holds_beside_the_records_is_passed_over(tmp_path: Path) -> None:
    """Members and lists that nobody asks for, of any size; records that are none."""
    process = profiles.process()
    process["buffer_records"]["scratch"] = [{"x": [[']}\\"' * 100] * 50] * 2000}]
    process["buffer_records"]["hip_api"] += [None, 5, "x", [{}]]
    process["code_objects"] = ["{[" * 1000] * 1000
    trace = open_trace(profiles.document(tmp_path / "7_results.json", process))
    check_trace(trace)
    assert trace.ranks[0].devices is not None
    assert len(trace.ranks[0].devices.rows) == 2


def test_more_records_of_json_than_memory_holds_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = profiles.document(tmp_path / "7_results.json", profiles.process())
    left = 2 * 2 * json_document.ROW_BYTES
    monkeypatch.setattr(memory, "memory_left_bytes", lambda: left)
    with pytest.raises(UnreadableInputError, match="too many events"):
        open_trace(path)
