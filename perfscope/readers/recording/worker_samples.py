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
    tables = read_tables(read)
    rank.worker_stacks = _by_time(
        [_stacks(one, found) for one, found in zip(here, tables, strict=True)], offset
    )
    rank.worker_samples = _by_time(
        [_samples(one, found) for one, found in zip(here, tables, strict=True)], offset
    )


def _stacks(worker: ProcessFile, tables: Tables) -> Table:
    seen = tables.by_name["stacks"]
    rows = np.zeros(len(seen), WORKER_STACK_DTYPE)
    for name in ("t", "tid", "stack"):
        rows[name] = seen[name]
    rows["pid"] = worker.pid
    return rows


def _samples(worker: ProcessFile, tables: Tables) -> Table:
    seen = tables.by_name["process_samples"]
    rows = np.zeros(len(seen), WORKER_SAMPLE_DTYPE)
    for name in ("t", "cpu_ns", "queue_delay_ns"):
        rows[name] = seen[name]
    rows["pid"] = worker.pid
    return rows


def _by_time(tables: Sequence[Table], offset: int) -> Table:
    rows = np.concatenate(tables)
    rows["t"] += offset
    found: Table = rows[np.argsort(rows["t"], kind="stable")]
    return found
