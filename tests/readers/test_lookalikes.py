"""Files that resemble what can be read are named as what they are, in three lines."""

import cProfile
import gzip
import json
import sqlite3
import struct
from pathlib import Path

import pytest

from perfscope.cli.main import main
from perfscope.errors import ExitCode, UnreadableInputError
from perfscope.readers import lookalikes
from perfscope.readers.registry import open_trace

RECORD = b"\x09\0\0\0\0\0\0\x41\x1a\x0dbrain.Event:2"
PPROF = b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04\x12\x06\x0a\x01\x01\x12\x01\x05"
FILES = {
    "table that perfscope exported": b"rank,tid,background,name,class,t0_ns\r\n",
    "Parquet": b"PAR1" + bytes(12),
    "a Java flight recording": b"FLR\0\0\2\0\1",
    "records of Linux perf": b"PERFILE2" + bytes(96),
    "perf script printed": b"python  4711 12345.678901:     250000 cpu-clock:\n\tff81 f ([k])\n",
    "perf script printed, with a head": b"# ========\n# captured on: Wed Aug 15 16:01:24 2018\n",
    "profile of pprof": gzip.compress(PPROF),
    "TensorBoard": struct.pack("<Q", len(RECORD)) + b"\1\2\3\4" + RECORD,
    "Weights & Biases": b":W&B\xe1\xbe\0" + bytes(40),
    "Dask's performance report": b"<!DOCTYPE html>\n<html><title>Dask Performance Report</title>",
    "report of pyinstrument": b"<!DOCTYPE html>\n<html><head><title>pyinstrument</title>",
    "a profile of TAU": b"12 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl\n",
    "a CUBE profile of before version 4": b'<?xml version="1.0"?>\n\n<cube version="3.0">\n',
    "trace of TAU": b'# FunctionId Group Tag "Name Type" Parameters\n',
    "HPCToolkit": b'<?xml version="1.0"?>\n<HPCToolkitExperiment version="2.2">\n',
    "HPCToolkit, compressed": gzip.compress(b"HPCRUN-profile____" + bytes(9)),
    "measurement of HPCToolkit": b"HPCRUN-profile____" + bytes(9),
    "database of HPCToolkit": b"HPCTOOLKITprof\4\0" + bytes(9),
    "Charm++": b"PROJECTIONS-RECORD 985\n6 77991\n",
    "session of pyinstrument": b'{"start_time": 1.5, "sample_count": 3, "root_frame": {}}',
    "timemory": b'{"timemory": {"WALL_CLOCK": {}}}',
    "Caliper": b'{"data": [[62, 0]], "columns": ["a"], "column_metadata": [{}]}',
    "Perfetto as text": b"# Sequence 1\npacket {\n  timestamp: 0\n",
    "settings of Vampir": b'<?xml version="1.0"?>\n<VampirConfig>\n',
    "report of IPM": b'<?xml version="1.0"?>\n<ipm>\n',
    "report of mpiP": b"@ mpiP\n@ Command : ./a.out\n",
    "callgrind": b"# callgrind format\nversion: 1\n",
    "massif": b"desc: (none)\ncmd: python\ntime_unit: i\n",
    "gprof": b"gmon\1\0\0\0",
    "Austin": b"# austin: 3.6.0\n# mode: wall\n",
    "allocator": b"\x80\4\x95" + bytes(8) + b"}\x94(\x8c\x08segments\x94]\x94u.",
    "execution trace of PyTorch": b'{\n  "schema": "1.0.1", "pid": 563677, "nodes": []}',
    "V8": b'{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}]}',
    "Node.js": b'{"head":{"callFrame":{"functionName":"(root)"}}}',
    "Chakra": b'{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": []}',
    "counters of rocprofv3": b'"Correlation_Id","Dispatch_Id","Counter_Name"\n1,1,"a"\n',
    "sums of rocprofv3": b'"Name","Calls","TotalDurationNs"\n"k",4,2\n',
    "sacct told as JSON": b'{"meta": {"plugin": {}, "Slurm": {}}, "jobs": []}',
    "log of V8": b"shared-library,/usr/bin/node,0x400000,0x2c00000,0\n",
    "profile of Firefox": b'{"meta": {"abi": "x86_64", "interval": 1, "product": "Firefox"}}',
    "profile of Firefox, old": b'{\n  "format": "profileJSONWithSymbolicationTable,1", "meta": 3}',
    "trace of methods of Android": b"*version\n3\ndata-file-overflow=false\nclock=dual\n",
    "trace of methods of Android, streamed": b"SLOW\xf3\0\x20\0",
    "simpleperf": b"SIMPLEPERF\1\0",
    "ftrace": b"# tracer: nop\n#\n#  TASK-PID    CPU#\n",
    "DHAT": b'{"dhatFileVersion": 2, "mode": "rust-heap"}',
    "sums by instruction of rocprofv3": b'"CodeObj","Vaddr","Instruction","Hitcount"\n',
    "Scalene": b'{"alloc_samples": 0, "files": {}}',
    "zstd": b"\x28\xb5\x2f\xfd\0",
}
CHROME = {
    "SageMaker": (
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "smdebug_step"}},
        {},
    ),
    "VizTracer": (
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "MainProcess"}},
        {"viztracer_metadata": {"version": "0.16.3"}},
    ),
    "a browser": (
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "CrRendererMain"}},
        {"metadata": {"source": "DevTools"}},
    ),
}


def why(path: Path) -> str:
    with pytest.raises(UnreadableInputError) as caught:
        open_trace(path)
    what, reason, action = caught.value.lines()
    assert what == f"{path} is not a trace that perfscope can read."
    assert len(action) < 120
    return reason


@pytest.mark.parametrize("tool", FILES)
def test_files_of_other_tools_are_named(tmp_path: Path, tool: str) -> None:
    (tmp_path / "file").write_bytes(FILES[tool])
    assert tool.partition(",")[0] in why(tmp_path / "file")


def test_a_directory_of_another_tool_is_named_by_a_file_in_it(tmp_path: Path) -> None:
    (tmp_path / "FORMATS.md").write_text("A database\n")
    (tmp_path / "cct.db").write_bytes(b"HPCTOOLKITctxt\4\0")
    assert why(tmp_path).endswith("known trace; cct.db is a database of HPCToolkit.")


def test_what_tools_here_write_is_named(tmp_path: Path) -> None:
    profile = cProfile.Profile()
    profile.runcall(sum, range(10))
    profile.dump_stats(tmp_path / "cprofile")
    assert "statistics of cProfile" in why(tmp_path / "cprofile")
    with sqlite3.connect(tmp_path / "nvprof") as connection:
        connection.execute("CREATE TABLE StringTable (_id_ INTEGER, value TEXT)")
    connection.close()
    assert "database of nvprof" in why(tmp_path / "nvprof")
    with sqlite3.connect(tmp_path / "results.db") as connection:
        connection.execute('CREATE TABLE HIP ("BeginNs" INTEGER, "EndNs" INTEGER, "pid" INTEGER)')
    connection.close()
    assert "old rocprof" in why(tmp_path / "results.db")


@pytest.mark.parametrize("name", ["a.nsys-rep", "a.QDREP", "a.ncu-rep", "a.stf"])
def test_formats_without_a_known_sign_are_named_by_their_ending(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\1\2\3\4")
    assert why(tmp_path / name).endswith(", by its name.")


@pytest.mark.parametrize("tool", CHROME)
def test_events_of_a_tool_that_is_no_profiler_of_ranks_are_named(
    tmp_path: Path, tool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    named, members = CHROME[tool]
    events = [
        {"name": f"f{at % 3}", "ph": "X", "ts": at * 100, "dur": 50, "pid": 1, "tid": 1, "cat": "x"}
        for at in range(40)
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [named, *events], **members}))
    trace = open_trace(path)
    assert any(f"a Chrome trace of {tool}" in note for note in trace.notes)
    assert "communication" in trace.not_recorded
    assert main(["analyze", str(path), "--no-report"]) == ExitCode.OK
    assert f"a Chrome trace of {tool}" in capsys.readouterr().err


def test_no_sign_takes_long_on_a_head_that_resembles_it() -> None:
    for head in (b"<" * 65536, b" " * 65536, b"1 " * 32768, b"a\x80\4" * 20000, b"{" * 65536):
        assert lookalikes.look_alike(head) is None
