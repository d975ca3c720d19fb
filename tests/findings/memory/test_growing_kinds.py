"""Of what kind the memory is that grows: in closed form, of each kind."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
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


def fluctuating(in_use_mib: int, *, since_s: int = 5) -> Finding:
    """Rank 0 holds 1 MiB/s more, of which what is in use goes up and down; rank 1 did so before."""
    builder = TraceBuilder(2, end_s=SECONDS + 1.5)
    for number in range(2):
        rank = builder.rank(number).init(0.5).finalize(SECONDS + 1.0)
        for tick in range(50, (SECONDS + 1) * 10):
            at = tick / 10
            grown = round(MIB * (at if number == 0 or at < 50 else 50))
            rank.process_sample(at, rss_bytes=500 * MIB + grown)
            if tick % 10 == 0 and at >= since_s:
                used = (in_use_mib + 20 * (tick // 10 % 2)) * MIB
                held = 200 * MIB + grown
                rank.heap_sample(
                    at,
                    allocated_bytes=used,
                    held_bytes=held,
                    anonymous_bytes=held,
                    file_bytes=MIB,
                    shared_bytes=0,
                )
                rank.python_sample(at, 500_000)
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


def test_freed_memory_that_is_less_than_what_is_used_is_no_fault() -> None:
    assert fluctuating(70).status is Status.WARN
    found = fluctuating(170)
    assert found.status is Status.INFO
    assert "stays with malloc (fragmentation)" in found.title


def test_ranks_that_rise_less_evenly_are_told() -> None:
    found = fluctuating(70)
    assert found.ranks == (0,)
    assert "Rank 1 rose as well, but less evenly." in found.summary
    assert "Rank 1" not in judged(0, *ALLOCATED).summary


def test_use_that_may_rise_or_not_tells_no_kind() -> None:
    found = fluctuating(70, since_s=57)
    assert "malloc" not in found.title
