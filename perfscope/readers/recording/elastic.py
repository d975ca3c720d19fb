"""Jobs whose ranks come and go: which processes belong to one, and how many it had when."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.readers.recording.record_file import MAX_RANKS

MAX_TIME_NS = 1 << 62

Group = tuple[int, int]
"""When a process came into a group, by the wall clock, and the size of that."""


def jobs(processes: Sequence[ProcessFile]) -> list[list[ProcessFile]]:
    """The processes of each job whose members changed, in their order."""
    found: dict[tuple[int, str], list[ProcessFile]] = {}
    for process in processes:
        driver = agent_metadata.integer(_told(process), "driver")
        if driver is not None and _groups(process):
            found.setdefault((driver, agent_metadata.job_of(process.metadata)), []).append(process)
    return [members for members in found.values() if _has_changed(members)]


def sizes(members: Sequence[ProcessFile]) -> list[int]:
    """How many ranks the job had, one after the other."""
    groups = sorted(group for process in members for group in _groups(process))
    return [size for size, _ in groupby(size for _, size in groups)]


def _has_changed(members: Sequence[ProcessFile]) -> bool:
    told = [group for process in members for group in _groups(process)]
    return len(told) > len(members) or {size for _, size in told} != {len(members)}


def _groups(process: ProcessFile) -> list[Group]:
    told = _told(process).get("groups")
    rows = told if isinstance(told, list) else []
    return [(process.unix_ns(row[0]), row[2]) for row in rows if _is_sound(row)]


def _is_sound(row: object) -> bool:
    """Whether it tells when a process became which rank of how many."""
    if not isinstance(row, list) or [type(value) for value in row] != [int, int, int]:
        return False
    return bool(0 <= row[1] < row[2] <= MAX_RANKS and 0 <= row[0] < MAX_TIME_NS)


def _told(process: ProcessFile) -> Mapping[str, Any]:
    frameworks = agent_metadata.mapping(process.metadata, "frameworks")
    return agent_metadata.mapping(agent_metadata.mapping(frameworks, "horovod"), "elastic")
