"""How many blocks Python's allocator has given out: whether what grows is Python's or not."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .recorder import Recorder

_PERIOD_NS = 1000000000
_SHARE = 1000  # of the time that counting may take, at most: one part of so many

_due_ns = 0


def sample(rec: Recorder) -> None:
    """Counts and writes when it is due; the count walks all of Python's memory, so rarely."""
    global _due_ns
    begin_ns = rec.now()
    count = getattr(sys, "getallocatedblocks", None)  # CPython alone has it
    if begin_ns < _due_ns or count is None:
        return
    blocks = rec.look_at_all(count)
    if blocks is None:
        return
    spent_ns = rec.now() - begin_ns
    _due_ns = begin_ns + _PERIOD_NS + _SHARE * spent_ns
    rec.python_blocks(blocks)
