"""Chrome JSON: by the schema, nested, exact to the nanosecond, and all that the trace holds."""

import gzip
import json
import tempfile
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
from hypothesis import given, settings

from perfscope.dataframes.opened import OpenedTrace
from perfscope.dataframes.source import Source
from perfscope.export.chrome import write
from perfscope.readers.kineto.file import REQUEST, read_kineto
from perfscope.readers.registry import open_trace
from perfscope.trace.model import Trace
from tests.export.chrome_schema import SCHEMA
from tests.export.expected import intervals, readable
from tests.support.environments import REPOSITORY
from tests.support.random_traces import kernel_and_copy, traces

VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SAMPLE = REPOSITORY / "sample_traces" / "rank_zero_evaluation"


def exported(trace: Trace, name: str = "out.json") -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / name
        write(Source(trace), path)
        content = path.read_bytes()
    text = gzip.decompress(content) if name.endswith(".gz") else content
    document = json.loads(text, parse_float=Decimal)
    assert isinstance(document, dict)
    return document


def check_schema(document: dict[str, Any]) -> None:
    VALIDATOR.validate(json.loads(json.dumps(document, default=float)))


def nanoseconds(value: Decimal | int) -> int:
    exact = Decimal(value) * 1000
    assert exact == int(exact)
    return int(exact)


def of_phase(document: dict[str, Any], phase: str) -> list[dict[str, Any]]:
    return [event for event in document["traceEvents"] if event["ph"] == phase]


def spans(document: dict[str, Any]) -> list[tuple[int, int, str, int, int]]:
    """Rank, track, name, start, end."""
    found = []
    for event in of_phase(document, "X"):
        start = nanoseconds(event["ts"])
        end = start + nanoseconds(event["dur"])
        found.append((event["pid"], event["tid"], event["name"], start, end))
    return found


def check_nested(document: dict[str, Any]) -> None:
    tracks = defaultdict(list)
    for rank, track, _, start, end in spans(document):
        tracks[rank, track].append((start, -end))
    for rows in tracks.values():
        stack: list[int] = []
        for start, negative_end in rows:  # in the order of the file
            while stack and stack[-1] <= start:
                stack.pop()
            assert not stack or stack[-1] >= -negative_end
            stack.append(-negative_end)


def readable_spans(document: dict[str, Any]) -> Counter[tuple[int, str, int, int]]:
    return Counter(
        (rank, readable(name), start, end) for rank, _, name, start, end in spans(document)
    )


@settings(deadline=None, max_examples=20)
@given(traces())
def test_what_goes_out_comes_back(trace: Trace) -> None:
    document = exported(trace)
    check_schema(document)
    check_nested(document)
    assert readable_spans(document) == intervals(trace, steps_by_number=True)
    assert document["baseTimeNanoseconds"] == trace.origin_unix_ns
    starts, ends = of_phase(document, "s"), of_phase(document, "f")
    messages = OpenedTrace(trace).messages()
    assert [nanoseconds(event["ts"]) for event in starts] == messages["send_t0_ns"].tolist()
    assert [event["pid"] for event in ends] == messages["target"].tolist()
    assert [event["id"] for event in starts] == [event["id"] for event in ends]
    assert len({event["id"] for event in starts}) == len(starts)


@settings(deadline=None, max_examples=20)
@given(traces())
def test_counters_and_samples_come_back(trace: Trace) -> None:
    document = exported(trace)
    memory = [e for e in of_phase(document, "C") if "rss_bytes" in e["args"]]
    found = Counter((e["pid"], nanoseconds(e["ts"]), e["args"]["rss_bytes"]) for e in memory)
    rows = OpenedTrace(trace).memory()
    assert found == Counter(zip(rows["rank"], rows["t_ns"], rows["rss_bytes"], strict=True))
    values = [e["args"]["value"] for e in of_phase(document, "C") if "value" in e["args"]]
    kept = [v for r in trace.ranks for v in r.metrics["value"].tolist() if np.isfinite(v)]
    assert sorted(map(float, values)) == sorted(kept)
    samples, requests = OpenedTrace(trace).samples(), OpenedTrace(trace).requests()
    of = {"sample": (samples, "t_ns"), "request_completed": (requests, "completed_ns")}
    for category, (table, moment) in of.items():
        seen = Counter(
            (e["pid"], e["tid"], nanoseconds(e["ts"]))
            for e in of_phase(document, "i")
            if e["cat"] == category
        )
        assert seen == Counter(zip(table["rank"], table["tid"], table[moment], strict=True))


def test_the_sample_comes_back_and_its_sums_are_equal() -> None:
    trace = open_trace(SAMPLE)
    document = exported(trace)
    check_schema(document)
    check_nested(document)
    assert readable_spans(document) == intervals(trace)
    profile = OpenedTrace(trace).profile()
    for rank in (0, 1):
        spent = sum(
            end - start
            for number, _, name, start, end in spans(document)
            if (number, name) == (rank, "MPI_Allreduce")
        )
        row = profile[(profile["rank"] == rank) & (profile["name"] == "MPI_Allreduce")]
        assert spent == row["inclusive_ns"].item()


def test_every_rank_and_thread_has_a_name() -> None:
    trace = open_trace(SAMPLE)
    named = {
        (event["pid"], event["tid"])
        for event in of_phase(exported(trace), "M")
        if event["name"] == "thread_name"
    }
    assert named == {(r.number, thread.tid) for r in trace.ranks for thread in r.threads}


def test_a_name_in_gz_is_compressed_and_the_same() -> None:
    trace = open_trace(SAMPLE)
    assert exported(trace, "out.json.gz") == exported(trace)


def test_kernels_stand_on_tracks_of_their_streams_with_arrows_from_their_launches() -> None:
    document = exported(kernel_and_copy())
    check_schema(document)
    kernels = {event["cat"]: event for event in of_phase(document, "X")}
    assert nanoseconds(kernels["kernel"]["dur"]) == 4_001
    assert kernels["gpu_memcpy"]["args"]["bytes"] == 64
    assert kernels["kernel"]["tid"] != kernels["gpu_memcpy"]["tid"]
    assert [nanoseconds(event["ts"]) for event in of_phase(document, "s")] == [4_500, 4_000]


@settings(deadline=None, max_examples=20)
@given(traces())
def test_the_reader_of_kineto_traces_finds_every_interval(trace: Trace) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "out.json"
        write(Source(trace), path)
        if not intervals(trace):
            return
        contents = read_kineto(path)
    found = Counter(
        (
            int(contents.threads[row["thread"]].process),
            readable(contents.names[row["name"]]),
            int(row["t0"]),
            int(row["t1"]),
        )
        for table in (contents.host, contents.calls)
        for row in table
        if table is contents.host or row["kind"] != REQUEST
    )
    wanted = intervals(trace, steps_by_number=True)
    base = trace.origin_unix_ns
    assert found == {(r, n, t0 + base, t1 + base): c for (r, n, t0, t1), c in wanted.items()}
