"""Chrome traces of other tools: taken for what they are, with phases by name or category."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfscope.attribution.preparation import prepare
from perfscope.metrics.compute import compute
from perfscope.metrics.devices.devices import devices
from perfscope.readers.detect import ReadOptions
from perfscope.readers.registry import open_trace
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Format, Trace
from tests.support.requirements import require_reference
from tests.support.trace_invariants import check_trace

Event = dict[str, Any]


def named(what: str, pid: int, tid: int = 0, **arguments: object) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": arguments}


def spans(name: str, category: str = "", *, pid: int = 1, tid: int = 1, **at: int) -> list[Event]:
    """Thirty intervals of `length` us, one each ms from `start` us on."""
    start, length = at.get("start", 0), at.get("length", 400)
    event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "dur": length}
    event |= {"cat": category} if category else {}
    return [{**event, "ts": start + 1000 * turn} for turn in range(30)]


EPOCH = named("process_name", 0, start_time_since_epoch_in_micros=1592860687560103)
FILES: dict[str, Any] = {
    "another tool": [EPOCH, *spans("Step", "Step"), *spans("Load", "DataLoad", start=500)],
    "VizTracer": {"traceEvents": spans("f (/x.py:1)", "FEE"), "viztracer_metadata": {}},
    "a browser": {"traceEvents": [named("thread_name", 1, 1, name="CrRendererMain"),
                                  *spans("RunTask", "toplevel")]},
}  # fmt: skip


def written(path: Path, document: Any, **options: Any) -> Trace:
    path.write_text(json.dumps(document))
    trace = open_trace(path, ReadOptions(**options))
    check_trace(trace)
    return trace


@pytest.mark.parametrize("tool", FILES)
def test_files_of_other_tools_are_called_what_they_are(tool: str, tmp_path: Path) -> None:
    trace = written(tmp_path / "t.json", FILES[tool])
    assert trace.format is Format.KINETO
    assert any(f"is a Chrome trace of {tool}" in note for note in trace.notes)
    assert len(trace.ranks[0].phases) >= 30
    efficiency = compute(trace).efficiency.parallel_efficiency
    assert efficiency.value is None
    assert "knows no ranks" in (efficiency.reason or "")


@pytest.mark.parametrize("glob", ["Data*", "Load"])
def test_a_rule_takes_foreign_events_by_name_or_category(glob: str, tmp_path: Path) -> None:
    document = FILES["another tool"]
    trace = written(tmp_path / "t.json", document, phase_rules=(("input", glob),))
    kinds = trace.ranks[0].phases["kind"].tolist()
    assert kinds.count(PhaseKind.INPUT) == 30
    assert kinds.count(PhaseKind.USER) == 30


def test_of_many_names_those_of_most_time_are_phases(tmp_path: Path) -> None:
    events = [event for n in range(300) for event in spans(f"f{n}", "FEE", length=1 + n)[:2]]
    trace = written(tmp_path / "t.json", events)
    used = {trace.names[name] for name in trace.ranks[0].phases["name"].tolist()}
    assert used == {f"f{n}" for n in range(100, 300)}


def test_devices_that_xla_names_are_devices_and_no_ranks(tmp_path: Path) -> None:
    """Steps and modules on a device's lines sum up its operations, and do not count again."""
    names = ["Steps", "XLA Modules", "XLA Ops"]
    document = {
        "traceEvents": [
            named("process_name", 3, name="/device:TPU:5"),
            named("process_name", 701, name="/host:CPU"),
            *(named("thread_name", 3, tid, name=name) for tid, name in enumerate(names)),
            *spans("1", pid=3, tid=0, length=999),
            *spans("jit_step", pid=3, tid=1, length=900),
            *spans("fusion.1", pid=3, tid=2, length=400),
            *spans("all-reduce.2", pid=3, tid=2, start=400, length=300),
            *spans("PjitFunction", pid=701, length=50),
        ]
    }
    trace = written(tmp_path / "t.json", document)
    assert len(trace.ranks) == 1
    found = devices(prepare(trace))
    assert found is not None
    (device,) = found.devices
    assert device.device == 5
    assert (device.use.compute_ns, device.use.communication_ns) == (12_000_000, 9_000_000)


def test_a_timeline_of_horovod_is_still_one() -> None:
    path = require_reference("horovod/hvd_tf_timeline.json")
    assert open_trace(path).format is Format.HOROVOD_TIMELINE
