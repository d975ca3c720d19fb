"""Buffers of a data-parallel model that are sent in each forward pass, changed or not."""

from dataclasses import replace
from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Confidence
from perfscope.trace.model import Frame
from tests.findings.analyzed import analyze_trace
from tests.findings.exchange_runs import exchanges

STEPS, EACH_S, SIZE = 50, 0.1, 1 << 24
CHANGE = "not seen to change"
MADE_AT = Frame("main", "/job/train.py", 51)


def row(name: str, size: int, **others: int) -> dict[str, Any]:
    seen = {"written": 0, "looks": 12, "same": 12, "revisits": 11, "kept": 11}
    return {"name": name, "bytes": size, **seen, **others}


def told(*rows: dict[str, Any], **others: Any) -> dict[str, Any]:
    """What a rank notes of its only model."""
    size = sum(one["bytes"] for one in rows)
    made_at = "\x1f".join((MADE_AT.function, MADE_AT.file, str(MADE_AT.line)))
    return {
        "model": 0,
        "argument": "forward_sync_buffers",
        "made_at": made_at,
        "syncs": STEPS,
        "bytes": size,
        "buffers": list(rows),
        **others,
    }


def judged(root: Any, other: Any, operation: str = "broadcast_buffers") -> Finding:
    """Both ranks are in the broadcast of the buffers for as long as they compute."""
    trace = exchanges(
        size=SIZE,
        count=1,
        each_s=EACH_S,
        steps=STEPS,
        operation=f"torch.distributed.{operation}",
    )
    ranks = [
        replace(rank, metadata={**rank.metadata, "frameworks": {"torch.distributed": noted}})
        for rank, noted in zip(trace.ranks, (root, other), strict=True)
    ]
    return analyze_trace(replace(trace, ranks=ranks)).findings["network_bound"]


def of(*rows: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"sent_buffers": [told(*rows, **others)]}


def unlooked(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    """The same on the rank that sends, which has nothing to compare."""
    return [{**one, "looks": 0, "same": 0} for one in rows]


FEATURES, INDEX = row("feats", 3 * SIZE // 4), row("graph.index", SIZE // 4)


def test_buffers_that_nobody_changes_need_not_be_sent() -> None:
    found = judged(of(*unlooked(FEATURES, INDEX)), of(FEATURES, INDEX))
    assert found.title.endswith(
        ", mainly DDP's broadcast of buffers that were not seen to change: `feats` (12.0 MiB) and "
        "`graph.index` (4.00 MiB)"
    )
    assert len(found.actions) == 1
    assert found.actions[0].startswith(
        "In main() (train.py:51): pass forward_sync_buffers=False (broadcast_buffers=False before "
        "PyTorch 2.13), or make its constant buffers plain attributes"
    )
    assert "if nothing writes them through .data or NumPy" in found.actions[0]
    assert found.confidence is Confidence.MEDIUM
    assert found.where == (MADE_AT,)
    assert found.gain_s == pytest.approx(STEPS * EACH_S, rel=0.02)
    assert found.gain is not None
    assert found.gain.is_bound


def test_where_the_argument_is_older_ranks_have_to_begin_alike() -> None:
    others = {"argument": "broadcast_buffers"}
    found = judged(of(*unlooked(FEATURES), **others), of(FEATURES, **others))
    told = (
        "pass broadcast_buffers=False (from PyTorch 2.13 on forward_sync_buffers=False), and give"
    )
    assert f"{told} every rank the same ones" in found.actions[0]


def test_buffers_that_change_are_sent_on() -> None:
    """Statistics are a tenth of the bytes: the rest is to be no buffers, and is priced alone."""
    mean = row("norm.running_mean", SIZE // 10, written=STEPS - 1, same=0)
    large = row("feats", 9 * SIZE // 10)
    found = judged(of(*unlooked(large, mean)), of(large, mean))
    assert "not seen to change: `feats` (14.4 MiB)" in found.title
    assert "sync_buffers=False" not in found.actions[0]
    assert "plain attributes" in found.actions[0]
    assert "; keep its other buffers registered." in found.actions[0]
    assert found.gain_s == pytest.approx(0.9 * STEPS * EACH_S, rel=0.02)


@pytest.mark.parametrize(
    ("root", "other"),
    [
        (row("feats", SIZE, written=STEPS - 1, looks=0, same=0), FEATURES),  # the first rank writes
        (row("feats", SIZE, looks=0, same=0), row("feats", SIZE, written=1)),  # another one does
        (row("feats", SIZE, looks=0, same=0), row("feats", SIZE, same=11)),  # something came
        (row("feats", SIZE, looks=0, same=0), row("feats", SIZE, looks=0, same=0)),  # no look
        (row("feats", SIZE, looks=0, same=0), row("other", SIZE)),  # other models
        # seldom, uncounted: by the first rank between two of its looks, by another one
        (row("feats", SIZE, looks=0, same=0, kept=10), FEATURES),
        (row("feats", SIZE, looks=0, same=0), row("feats", SIZE, kept=10)),
        # an agent that did not look there
        (row("feats", SIZE, looks=0, same=0, revisits=0, kept=0), FEATURES),
    ],
)
def test_nothing_is_said_of_what_may_change(root: dict[str, Any], other: dict[str, Any]) -> None:
    found = judged(of(root), of(other))
    assert found.status.is_fault
    assert CHANGE not in found.title


@pytest.mark.parametrize(
    ("of_root", "of_other"),
    [
        ({"bytes": SIZE // 2}, {"bytes": SIZE // 2}),  # its buffers are larger than all of them
        ({}, {"bytes": 2 * SIZE}),
        ({"syncs": 8 * STEPS}, {}),
        ({"model": 1}, {}),
    ],
)
def test_numbers_that_cannot_be_claim_nothing(
    of_root: dict[str, int], of_other: dict[str, int]
) -> None:
    found = judged(of(*unlooked(FEATURES, INDEX), **of_root), of(FEATURES, INDEX, **of_other))
    assert found.status.is_fault
    assert CHANGE not in found.title


def test_models_are_paired_by_number() -> None:
    """The first one of rank 0 is gone from its notes, as its buffers became others."""
    gone, kept = told(row("feats", SIZE, written=3)), told(FEATURES, INDEX, model=1)
    root = {"sent_buffers": [told(*unlooked(FEATURES, INDEX), model=1)]}
    assert CHANGE in judged(root, {"sent_buffers": [gone, kept]}).title


def test_nor_where_the_time_goes_elsewhere() -> None:
    both = of(*unlooked(FEATURES)), of(FEATURES)
    assert CHANGE not in judged(*both, operation="all_reduce").title
    few = of(*unlooked(FEATURES), syncs=STEPS // 4), of(FEATURES, syncs=STEPS // 4)
    assert CHANGE not in judged(*few).title  # most are of a model that was not looked at


@pytest.mark.parametrize(
    "odd",
    [None, 7, {}, [None], [[]], [{"buffers": 3}], [{"buffers": [1, {}, {"name": 2}]}], [told()]],
)
def test_odd_notes_are_no_buffers(odd: Any) -> None:
    noted = {"sent_buffers": odd}
    assert CHANGE not in judged(noted, noted).title
