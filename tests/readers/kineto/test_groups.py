"""Process groups of profiles that do not list them: from the arguments of their collectives."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from perfscope.attribution.preparation import prepare
from perfscope.metrics.devices.devices import devices
from perfscope.readers.kineto.file import GroupArguments
from perfscope.readers.kineto.groups import Groups, ranks_of
from perfscope.readers.registry import open_trace
from perfscope.trace.model import Trace
from tests.support.write_kineto import KinetoWriter

MS = 1_000_000


@pytest.mark.parametrize(
    ("ranks", "progression", "expected"),
    [
        ("[0, 1]", (-1, -1, 0), [0, 1]),
        ("[6,2, 4]", (-1, -1, 3), [6, 2, 4]),
        ("[]", (-1, -1, 0), list(range(8))),
        ("[0, 2, ..., 4, 6]", (0, 2, 4), [0, 2, 4, 6]),
        ("[0, 2, ..., 4, 6]", (-1, -1, 4), []),
        ("[0, 2, ..., 4, 6]", (0, 0, 4), []),
        ("", (0, 1, 4), []),
        ("[1, 1]", (-1, -1, 2), []),
        ("nonsense", (-1, -1, 0), []),
    ],
)
def test_how_members_are_told(
    ranks: str, progression: tuple[int, int, int], expected: list[int]
) -> None:
    assert list(ranks_of(GroupArguments("g", ranks, *progression), 8)) == expected


def job(folder: Path, calls: dict[str, str], ranks: int = 2) -> Trace:
    """Each rank calls once in each group (name to its ranks as told), all with the same ordinal."""
    for rank in range(ranks):
        writer = KinetoWriter(rank=rank, world_size=ranks, pid=100 + rank)
        writer.is_distributed = False
        writer.step(1, 0, 100 * MS)
        for place, (name, told) in enumerate(calls.items()):
            if told not in ("", "[]") and str(rank) not in told:
                continue
            arguments: dict[str, object] = {"Collective name": "allreduce", "Seq": 7}
            arguments |= {"Process Group Name": name, "Process Group Ranks": told}
            arguments["Group size"] = told.count(",") + 1 if told not in ("", "[]") else ranks
            start = 20 * place * MS
            writer.kernel("ncclDevKernel_Generic", start, start + 10 * MS, arguments=arguments)
        writer.write(folder / f"rank{rank}.json")
    return open_trace(folder)


def test_groups_as_large_as_the_world_are_told_apart_by_name(tmp_path: Path) -> None:
    """Without the arguments of both, their ordinals would collide in one communicator."""
    for number, ranks in enumerate(["[0, 1]", "[]", ""]):
        folder = tmp_path / str(number)
        folder.mkdir()
        trace = job(folder, {"0": ranks, "dp": ranks})
        assert [one.members for one in trace.communicators] == [(0, 1), (0, 1)]
        found = devices(prepare(trace))
        assert found is not None
        assert (found.communication.matched, found.communication.unmatched) == (2, 0)


def test_parts_of_the_world_are_communicators(tmp_path: Path) -> None:
    trace = job(tmp_path, {"0": "[]", "a": "[0, 2]", "b": "[1, 3]"}, ranks=4)
    assert [one.members for one in trace.communicators] == [(0, 1, 2, 3), (0, 2), (1, 3)]
    found = devices(prepare(trace))
    assert found is not None
    assert (found.communication.matched, found.communication.unmatched) == (3, 0)


def test_a_group_of_unknown_members_shows_how_many_there_are(tmp_path: Path) -> None:
    writer = KinetoWriter()
    writer.is_distributed = False
    writer.step(1, 0, 100 * MS)
    told = {"Collective name": "allreduce", "Process Group Name": "0", "Group size": 4}
    writer.kernel("ncclDevKernel_Generic", 0, 10 * MS, arguments=told)
    trace = open_trace(writer.write(tmp_path / "rank0.json"))
    assert (trace.world_size, trace.missing_ranks) == (4, [1, 2, 3])


def test_groups_show_ranks_of_which_no_profile_is_there(tmp_path: Path) -> None:
    trace = job(tmp_path, {"0": "[0, 1, 2, 3]"})
    assert trace.world_size == 4
    found = devices(prepare(trace))
    assert found is not None
    assert (found.communication.matched, found.communication.unmatched) == (0, 2)


def test_one_name_for_groups_of_other_members_in_one_file() -> None:
    """As in a merged file of four processes: what a collective tells of its members counts."""

    told = [GroupArguments("1", ranks, -1, -1, 2) for ranks in ("[0, 1]", "[2, 3]", "")]
    groups = Groups(4)
    groups.learn(SimpleNamespace(distributed={}, groups=told))  # type: ignore[arg-type]
    first, second, unsaid = groups.of_file
    assert tuple(groups.communicators[first].members or ()) == (0, 1)
    assert tuple(groups.communicators[second].members or ()) == (2, 3)
    assert unsaid == first
