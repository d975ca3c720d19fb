"""Lines of NCCL's and RCCL's inspector plugin: one JSON object for each operation of a rank.

`header` has the communicator and the rank on it, `metadata` the process, `coll_perf` or `p2p_perf`
the operation; from v4.1 on `dump_stats` says how many operations the plugin had to drop. Source:
NCCL, plugins/profiler/inspector (formats v4.0 to v4.2). The engine takes the lines apart.
"""

from dataclasses import field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perfscope.engine import engine
from perfscope.errors import UnreadableInputError
from perfscope.memory import rows_that_fit
from perfscope.readers.common.blocks import as_text, blocks
from perfscope.structures import dataclass
from perfscope.units import counted

RECORD_BYTES = 150
"""What each record takes at the peak (docs/engine.md), and some room."""
RECORD_DTYPE = np.dtype(
    [
        ("group", "i4"),  # place in Log.groups
        ("name", "i4"),  # place in Log.names
        ("rank", "i4"),
        ("is_message", "i4"),
        ("number", "i8"),  # of this operation on its communicator
        ("bytes", "i8"),
        ("us", "f8"),
        ("gbs", "f8"),  # bus bandwidth, not a number where it is not told
    ]
)
Records = npt.NDArray[np.void]


@dataclass(frozen=True)
class Group:
    """A communicator, by its hash; "" where it has no name."""

    id: str
    name: str
    ranks: int


@dataclass
class Log:
    """What one file tells."""

    path: Path
    records: Records
    groups: list[Group]
    names: list[str]
    sources: set[str]
    dropped: int = 0  # operations that the plugin overwrote before it wrote them
    notes: list[str] = field(default_factory=list)


def read_log(path: Path) -> Log:
    """The operations in a file.

    Raises:
        UnreadableInputError: it cannot be read, or no line tells of an operation.
    """
    notes: list[str] = []
    most = rows_that_fit(row_bytes=RECORD_BYTES)
    log = engine.InspectorLog(as_text(path), most)
    for block in blocks(path, notes.append):
        log.feed(block)
    log.finish()
    records = log.records().view(RECORD_DTYPE)
    odd = counted(log.odd, "line")
    if not len(records):
        raise UnreadableInputError(
            f"{path} tells of no operation.",
            why=f"{odd} could not be read as an operation of NCCL's inspector.",
            action="Record again: NCCL_INSPECTOR_ENABLE=1 NCCL_INSPECTOR_DUMP_DIR=DIR.",
        )
    if log.odd:
        notes.append(f"{path.name}: left out {odd} that tell no operation.")
    if log.beside:
        notes.append(f"{path.name}: {counted(log.beside, 'line')} beside those of operations.")
    if log.is_full:
        notes.append(f"{path.name}: of more than {most:,} operations the first were read.")
    groups = [Group(*group) for group in log.groups()]
    used, records["group"] = np.unique(records["group"], return_inverse=True)
    groups = [groups[place] for place in used.tolist()]
    return Log(path, records, groups, log.names(), set(log.sources()), log.dropped, notes)
