"""The account of traces that tell all that ranks do has hardly a blank."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perfscope.attribution.ledger import INDEX
from perfscope.losses.account import loss_account
from perfscope.losses.cause import UNEXPLAINED
from perfscope.losses.entry import LossAccount
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options, Results
from perfscope.readers.registry import open_trace
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import Account, LossKind

LEAST = 0.05
KINDS = ("*.prv.gz", "*.otf2")
FULL = ("paraver_epoch", "otf2", "torch_gloo4")
"""What tells all that each rank does, from its start to its end."""

Reference = Callable[[str], Path]


def accounts(root: Path) -> Iterator[tuple[Path, Results, LossAccount]]:
    """Those of every trace below a directory."""
    for path in sorted({path for kind in KINDS for path in root.rglob(kind)}) or [root]:
        results = compute(open_trace(path), Options())
        yield path, results, loss_account(results, SegmentReplay(results))


@pytest.mark.parametrize("folder", FULL)
def test_of_full_traces_hardly_any_time_has_no_cause(reference: Reference, folder: str) -> None:
    for path, results, account in accounts(reference(folder)):
        entries = account.entries
        unknown = sum(one.ns for one in entries if one.cause.kind is LossKind.UNKNOWN)
        assert unknown < LEAST * account.window_ns, path
        waited = int(results.ledger.ns[INDEX[Account.COMMUNICATION_WAIT]].sum())
        unexplained = sum(one.ns for one in entries if one.cause == UNEXPLAINED and one.causes == 1)
        assert unexplained <= LEAST * waited, path
