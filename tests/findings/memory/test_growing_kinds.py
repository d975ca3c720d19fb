"""Of what kind the memory is that grows: in closed form, of each kind."""

import pytest

from perfscope.findings.core.finding import Finding
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

MIB = 1 << 20
SECONDS = 60
KINDS = ("allocated_bytes", "held_bytes", "anonymous_bytes", "file_bytes", "shared_bytes")


def judged(blocks_per_s: int, *grows: str) -> Finding:
    """A rank that grows by 4 MiB/s, all of it in some kinds of memory."""
    builder = TraceBuilder(1, end_s=SECONDS + 1.5)
    rank = builder.rank(0).init(0.5).finalize(SECONDS + 1.0)
    for tick in range(5, (SECONDS + 1) * 10):
        at = tick / 10
        grown = round(4 * MIB * at)
        rank.process_sample(at, rss_bytes=500 * MIB + grown)
        if tick % 10 == 0:
            sizes = {one: 100 * MIB + (grown if one in grows else 0) for one in KINDS}
            rank.heap_sample(at, **sizes)
            rank.python_sample(at, 500_000 + round(blocks_per_s * at))
    return analyze_trace(builder.build()).findings["memory_growth"]


ALLOCATED = ("allocated_bytes", "held_bytes", "anonymous_bytes")


def test_buffers_that_a_library_never_frees() -> None:
    found = judged(0, *ALLOCATED)
    assert "allocated with malloc is never freed, and Python keeps no more objects" in found.title


def test_python_objects_beside_do_not_make_it_python() -> None:
    found = judged(40, *ALLOCATED)
    assert "allocated with malloc is never freed" in found.title
    assert "Python keeps objects" not in found.title
    assert found.actions[0].startswith("Either a native library keeps it")
    assert "--memory-detail" in found.actions[0]


def test_small_objects_of_python() -> None:
    assert "Python keeps objects" in judged(40_000, "anonymous_bytes").title


@pytest.mark.parametrize(
    ("grows", "told"),
    [
        (("held_bytes", "anonymous_bytes"), "stays with malloc (fragmentation)"),
        (("shared_bytes",), "/dev/shm"),
        (("file_bytes",), "pages of mapped files"),
    ],
)
def test_what_is_no_object_and_no_leak(grows: tuple[str, ...], told: str) -> None:
    assert told in judged(40, *grows).title
