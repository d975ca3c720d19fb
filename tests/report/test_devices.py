"""The section about accelerators, from a document with devices."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from perfscope.document.analysis import analysis
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.report.build import build_html
from perfscope.report.terminal import print_summary
from perfscope.schema.read import read_known
from tests.report.page_outline import shown
from tests.support.write_kineto import KinetoWriter

MS = 1_000_000


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two ranks whose devices are idle for 60 of 100 ms, while the hosts wait for input."""
    place: Path = tmp_path_factory.mktemp("devices")
    for rank in range(2):
        writer = KinetoWriter(rank=rank, world_size=2)
        for step in range(12):
            start = step * 100 * MS
            writer.step(step, start, start + 100 * MS)
            writer.host_event("## load_batch ##", start, start + 60 * MS)
            begin = start + 60 * MS
            writer.kernel("<b>gemm</b>", begin, begin + 30 * MS, launch=begin)
            writer.allreduce(begin + 30 * MS, begin + 40 * MS, launch=begin)
        writer.write(place / f"rank{rank}.json")
    return analysis(open_trace(place), Options())


def test_the_section_shows_trees_devices_streams_and_kernels(document: dict[str, Any]) -> None:
    found = shown(document, "devices")
    assert "was idle for 60.0 %" in found
    assert "while the host was waiting for input" in found
    for label in ("Orchestration efficiency", "Host wait", "Last to begin", "A GPU"):
        assert label in found
    assert "&lt;b&gt;gemm&lt;/b&gt;" in found
    assert "<b>gemm" not in found


def test_the_device_tree_leads_the_first_screen(document: dict[str, Any]) -> None:
    page = build_html(read_known(document))
    assert page.index("Device efficiency") < page.index("Training efficiency")


@pytest.mark.parametrize("part", ["devices", "efficiency", "communication", "kernels", "steps"])
def test_a_missing_part_of_it_breaks_nothing(document: dict[str, Any], part: str) -> None:
    devices = {key: value for key, value in document["devices"].items() if key != part}
    assert "Accelerators" in shown(document | {"devices": devices}, "devices")


def test_the_terminal_shows_devices_before_hosts(document: dict[str, Any]) -> None:
    console = Console(file=io.StringIO(), width=100)
    print_summary(read_known(document), console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "Device efficiency 0.300 = load balance 1.000" in text
    assert text.index("Device efficiency") < text.index("Parallel efficiency")
