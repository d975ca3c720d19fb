"""Facts of published files of rocprofv3, written anew: its tables, and its database.

Tables: the documentation of rocprofiler-sdk (github.com/ROCm/rocprofiler-sdk,
source/docs/data/kernel_trace.csv and memory_copy_trace.csv, MIT), as the tool wrote them of a
program with two streams. Database: github.com/HGLiu1998/batched_gemm,
ck_bmm/37ca13315e70/28_results.db, of which the first three kernels are kept with their calls;
of the whole file SQL and perfscope count 151 kernels and 2,604,546 ns.
"""

import sqlite3
from pathlib import Path

from perfscope.metrics.compute import compute
from perfscope.readers.registry import open_trace, open_traces
from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import Trace
from tests.support.trace_invariants import check_trace

KERNEL_HEAD = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
    '"Correlation_Id","Start_Timestamp","End_Timestamp","Private_Segment_Size",'
    '"Group_Segment_Size","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X",'
    '"Grid_Size_Y","Grid_Size_Z"'
)
COPY_HEAD = (
    '"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp"'
)
OPERANDS = "(float*, float const*, float const*, int, int)"
NAMES = {11: "void addition_kernel<float>", 12: "divide_kernel", 13: "multiply_kernel"}
NAMES |= {14: "subtract_kernel"}
BASE = 2_414_192_684_000_000
ADDED = (
    *((1, 11, 81_353_337, 81_369_494), (1, 14, 81_424_862, 81_435_326)),
    *((1, 13, 81_487_486, 81_497_669), (1, 12, 81_545_619, 81_555_722)),
    *((2, 11, 81_608_844, 81_621_674), (2, 14, 81_658_519, 81_669_424)),
    *((2, 13, 81_715_650, 81_726_795), (2, 12, 81_773_422, 81_784_969)),
)
"""Queue, kernel, begin and end, from the first whole millisecond on."""
COPIED = (
    *((1, 609_085, 710_679), (1, 873_841, 973_470)),
    *((2, 22_436_949, 22_538_622), (2, 22_592_442, 22_692_312)),
)


def write_tables(place: Path) -> list[Path]:
    kernels = [
        f'"KERNEL_DISPATCH",2,{queue},{queue},21228,{number},{kernel},"{NAMES[kernel]}{OPERANDS}",'
        f"{1929 + 8 * number},{BASE + begin},{BASE + end},0,0,64,1,1,1024,1024,1"
        for number, (queue, kernel, begin, end) in enumerate(ADDED, start=1)
    ]
    copies = [
        f'"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE",{stream},0,2,{952 + 8 * number},'
        f"{BASE + begin},{BASE + end}"
        for number, (stream, begin, end) in enumerate(COPIED)
    ]
    paths = []
    for name, rows in (("kernel", [KERNEL_HEAD, *kernels]), ("memory_copy", [COPY_HEAD, *copies])):
        paths.append(place / f"21228_{name}_trace.csv")
        paths[-1].write_text("\n".join([*rows, ""]))
    return paths


def test_the_tables_of_its_documentation_give_their_sums(tmp_path: Path) -> None:
    trace = open_traces(write_tables(tmp_path))
    check_trace(trace)
    (rank,) = trace.ranks
    assert rank.devices is not None
    rows = rank.devices.rows
    lengths = rows["t1"] - rows["t0"]
    is_kernel = rows["kind"] == DeviceKind.COMPUTE
    assert lengths[is_kernel].tolist() == [end - begin for *_, begin, end in ADDED]
    assert int(lengths[is_kernel].sum()) == 93_334
    assert rows["stream"][is_kernel].tolist() == [1] * 4 + [2] * 4
    assert int(lengths[~is_kernel].sum()) == 402_766
    assert set(rows["device"].tolist()) == {2}
    found = compute(trace).devices
    assert found is not None
    assert {use.name: use.count for use in found.kernels if use.kind == "compute"} == {
        f"{name}{OPERANDS}": 2 for name in NAMES.values()
    }
    assert compute(trace).efficiency.parallel_efficiency.value is None


OF = "00003fdc_92cb_72cb_9169_c7e541b1fcdf"
COLUMNS = {
    "metadata": "id tag value",
    "string": "id guid string",
    "info_node": "id guid hash machine_id system_name hostname release version hardware_name "
    "domain_name",
    "info_process": "id guid nid ppid pid init fini start end command environment extdata",
    "info_agent": "id guid nid pid type absolute_index logical_index type_index uuid name "
    "model_name vendor_name product_name user_name extdata",
    "info_kernel_symbol": "id guid nid pid code_object_id kernel_name display_name kernel_object "
    "kernarg_segment_size kernarg_segment_alignment group_segment_size private_segment_size "
    "sgpr_count arch_vgpr_count accum_vgpr_count extdata",
    "event": "id guid category_id stack_id parent_stack_id correlation_id call_stack line_info "
    "extdata",
    "region": "id guid nid pid tid start end name_id event_id extdata",
    "kernel_dispatch": "id guid nid pid tid agent_id kernel_id dispatch_id queue_id stream_id "
    "start end private_segment_size group_segment_size workgroup_size_x workgroup_size_y "
    "workgroup_size_z grid_size_x grid_size_y grid_size_z region_name_id event_id extdata",
    "memory_copy": "id guid nid pid tid start end name_id dst_agent_id dst_address src_agent_id "
    "src_address size queue_id stream_id region_name_id event_id extdata",
}
NODE, STARTED = 1_966_562_287, 1_071_420_107_592_003
CALLS = (
    ("hipMemset", 10, 1_071_423_114_798_105, 1_071_423_114_836_681),
    ("hipLaunchKernel", 21, 1_071_423_124_549_392, 1_071_423_126_153_440),
    ("hipLaunchKernel", 25, 1_071_423_126_177_801, 1_071_423_126_185_857),
)
RAN = (
    (10, 630, 10, 1_071_423_114_883_652, 1_071_423_114_907_827),
    (13, 631, 21, 1_071_423_126_196_616, 1_071_423_126_220_662),
    (13, 638, 25, 1_071_423_126_241_590, 1_071_423_126_259_712),
)
"""Kernel, event, the call that it belongs to, begin and end."""


def facts() -> dict[str, list[dict[str, object]]]:
    """The rows that matter; what is left out is 0 or empty there, too."""
    gpus = [
        {"id": n, "type": "GPU", "absolute_index": n, "name": "gfx942",
         "product_name": "AMD Instinct MI300X"}
        for n in range(2, 10)
    ]  # fmt: skip
    texts = {15: "HIP_RUNTIME_API_EXT", 26: "KERNEL_DISPATCH", 401: "hipLaunchKernel"}
    texts[515] = "hipMemset"
    events: list[dict[str, object]] = [
        {"id": at, "category_id": 15, "stack_id": at} for _, at, *_ in CALLS
    ]
    events += [
        {"id": at, "category_id": 26, "stack_id": call, "parent_stack_id": call}
        for _, at, call, *_ in RAN
    ]
    numbers = {text: number for number, text in texts.items()}
    return {
        "metadata": [{"id": 1, "tag": "schema_version", "value": "3"}],
        "string": [{"id": number, "string": text} for number, text in texts.items()],
        "info_node": [{"id": NODE, "hostname": "37ca13315e70"}],
        "info_process": [
            {"id": 28, "pid": 28, "nid": NODE, "start": STARTED, "end": STARTED + 4_749_137_004}
        ],
        "info_agent": [{"id": n, "type": "CPU", "absolute_index": n} for n in range(2)] + gpus,
        "info_kernel_symbol": [
            {"id": 10, "kernel_name": "__amd_rocclr_fillBufferAligned.kd",
             "display_name": "__amd_rocclr_fillBufferAligned"},
            {"id": 13, "kernel_name": "_ZN7ck_tile6kentry", "display_name": "ck_tile::kentry"},
        ],
        "event": events,
        "region": [
            {"id": at, "pid": 28, "tid": 28, "start": begin, "end": end,
             "name_id": numbers[name], "event_id": at}
            for name, at, begin, end in CALLS
        ],
        "kernel_dispatch": [
            {"id": number, "pid": 28, "tid": 28, "agent_id": 2, "kernel_id": kernel,
             "queue_id": 16, "start": begin, "end": end, "event_id": at}
            for number, (kernel, at, _, begin, end) in enumerate(RAN, start=1)
        ],
    }  # fmt: skip


def write_database(path: Path) -> Path:
    """All columns of the tables that are read, and a view of each, as the tool makes them."""
    with sqlite3.connect(path) as made:
        for table, columns in COLUMNS.items():
            names = columns.split()
            quoted = ", ".join(f'"{name}"' for name in names)
            made.execute(f"CREATE TABLE rocpd_{table}_{OF} ({quoted})")
            made.execute(f"CREATE VIEW rocpd_{table} AS SELECT * FROM rocpd_{table}_{OF}")
            for row in facts().get(table, []):
                always = {"guid": OF.replace("_", "-"), "nid": NODE, "extdata": "{}"}
                values = [{**always, **row}.get(name, 0) for name in names]
                marks = ", ".join("?" * len(names))
                made.execute(f"INSERT INTO rocpd_{table}_{OF} VALUES ({marks})", values)
    made.close()
    return path


def test_a_published_database_gives_its_kernels_and_their_launches(tmp_path: Path) -> None:
    trace: Trace = open_trace(write_database(tmp_path / "28_results.db"))
    check_trace(trace)
    (rank,) = trace.ranks
    assert (rank.host, rank.pid) == ("37ca13315e70", 28)
    assert rank.devices is not None
    rows = rank.devices.rows
    assert (rows["t1"] - rows["t0"]).tolist() == [24_175, 24_046, 18_122]
    waited = [begin - call for (*_, begin, _), (_, _, call, _) in zip(RAN, CALLS, strict=True)]
    assert (rows["t0"] - rows["launch"]).tolist() == waited
    assert [device.name for device in rank.devices.devices] == ["AMD Instinct MI300X"]
    assert set(rows["device"].tolist()) == {2}
    assert set(rows["stream"].tolist()) == {16}
