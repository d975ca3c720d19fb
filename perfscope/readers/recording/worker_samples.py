"""What processes that work for a rank were seen doing, in the rank's tables and on its clock."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfscope.readers.recording.interning import Interning
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.readers.recording.record_tables import CallsRead, Tables, read_tables
from perfscope.readers.recording.wall_clocks import domain_of
from perfscope.trace.model import Rank, Table
from perfscope.trace.samples import WORKER_SAMPLE_DTYPE, WORKER_STACK_DTYPE


def adopt_workers(
    rank: Rank, own: ProcessFile, workers: Sequence[ProcessFile], interning: Interning, offset: int
) -> None:
    """Gives a rank the samples of its workers on its host, their times moved by `offset`.

    The workers' records are given away.
    """
    most = np.iinfo(WORKER_STACK_DTYPE["pid"]).max  # a file may be named as no process is
    here = [one for one in workers if domain_of(one) == domain_of(own) and one.pid <= most]
    if not here:
        return
    read = []
    for worker in here:
        definitions = replace(worker.definitions, communicators={})
        numbering = interning.number(definitions, rank=rank.number)
        read.append(CallsRead(worker, numbering, end_of=lambda last_ns: last_ns))
    found = list(zip(here, read_tables(read), strict=True))
    rank.worker_stacks = _joined("stacks", WORKER_STACK_DTYPE, found, offset)
    rank.worker_samples = _joined("process_samples", WORKER_SAMPLE_DTYPE, found, offset)


def _joined(
    name: str, dtype: np.dtype[np.void], read: Sequence[tuple[ProcessFile, Tables]], offset: int
) -> Table:
    """The rows that all workers have in one of their tables, with their numbers, in order."""
    parts = []
    for worker, tables in read:
        seen = tables.by_name[name]
        rows = np.zeros(len(seen), dtype)
        for column in set(dtype.names or ()) - {"pid"}:
            rows[column] = seen[column]
        rows["pid"] = worker.pid
        parts.append(rows)
    joined = np.concatenate(parts)
    joined["t"] += offset
    found: Table = joined[np.argsort(joined["t"], kind="stable")]
    return found
