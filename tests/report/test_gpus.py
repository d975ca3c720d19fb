"""The part of the page about sampled GPUs, from a run made by hand."""

import io
from typing import Any

import pytest
from rich.console import Console

from perfscope.report.terminal import print_summary
from perfscope.schema.check import problems
from perfscope.schema.enums import PhaseKind
from perfscope.schema.read import read_known
from perfscope.trace.devices import Gpu
from tests.findings.analyzed import analyze_trace
from tests.report.page_outline import shown
from tests.support.trace_builder import TraceBuilder

GIB = 1 << 30


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """Two GPUs of a node; one was lost, and its vendor's name is hostile."""
    gpus = [
        Gpu("node0", "GPU-0", 0, "<i>GPU</i>", capability=(9, 0), memory_bytes=80 * GIB),
        Gpu("node0", "GPU-1", 1, "A GPU", sm_mhz=1980.0, power_w=700.0, is_lost=True),
    ]
    builder = TraceBuilder(2, end_s=40.0).set(gpus=gpus)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(39.0)
        rank.phase(PhaseKind.EVALUATE, 9.5, 11.5)
        for second in range(2, 38):
            busy = 0.25 * (number + 1)
            memory = (60 if second == 10 else 20) * GIB
            values = {"sm_mhz": 1200.0, "power_w": 350.0, "celsius": 61.0, "throttling": 0x40}
            rank.gpu_sample(second, number, busy=busy, memory_bytes=memory, **values)
        rank.gpu_process(5.0, number, 1000 + number)
    made: Any = analyze_trace(builder.build()).document()
    return dict(made)


def test_the_document_has_its_shape(document: dict[str, Any]) -> None:
    assert list(problems(document)) == []
    assert document["devices"]["sampled"]["value"] == pytest.approx(0.375)


def test_the_section_shows_each_gpu(document: dict[str, Any]) -> None:
    page = shown(document, "devices")
    for text in (
        "node0 GPU 0",
        "25.0 %",
        "50.0 %",
        "60.0 GiB of 80.0 GiB",
        ">in evaluate<",
        "1,200 of 1,980 MHz",
        "350 of 700 W",
        "61 °C",
        "slowed by half for heat 100",
        "(lost during the run)",
        "the driver's process list",
    ):
        assert text in page.replace("&#39;", "'"), text
    assert "<i>GPU" not in page
    assert page.count("<svg") >= 3


@pytest.mark.parametrize("key", ["busy", "series", "ranks", "throttled", "memory_peak_bytes"])
def test_a_missing_part_breaks_nothing(document: dict[str, Any], key: str) -> None:
    found: list[dict[str, Any]] = document["devices"]["sampled"]["gpus"]
    gpus = [{name: gpu[name] for name in gpu if name != key} for gpu in found]
    sampled: dict[str, Any] = document["devices"]["sampled"] | {"gpus": gpus}
    devices = document["devices"] | {"sampled": sampled}
    assert "node0 GPU 0" in shown(document | {"devices": devices}, "devices")


def test_the_terminal_tells_how_busy_and_how_full(document: dict[str, Any]) -> None:
    console = Console(file=io.StringIO(), width=100)
    print_summary(read_known(document), console)
    assert isinstance(console.file, io.StringIO)
    text = " ".join(console.file.getvalue().replace("\xa0", " ").split())
    assert (
        "2 GPUs: a kernel ran 37.5 % of the time watched, at most 75.0 % of the memory in use"
        in text
    )


def test_without_samples_the_reason_is_said(document: dict[str, Any]) -> None:
    sampled: dict[str, Any] = {
        "value": None,
        "reason": "no NVIDIA driver is loaded on this node",
        "gpus": [],
    }
    devices = document["devices"] | {"sampled": sampled}
    page = shown(document | {"devices": devices}, "devices")
    assert "no NVIDIA driver is loaded on this node" in page
