"""Every recorded function: operation, peer, tag, bytes, communicator and ordinal on every rank.

The programs' numbers of doubles are in jobs/families.py; what they make is derived here by hand.
"""

from tests.native.recorder.decode import (
    NONE,
    OPERATION,
    PEER_NONE,
    PEER_PROC_NULL,
    PEER_UNKNOWN,
    PHASE,
    Record,
    Recording,
)

SIZE = 3
DOUBLE = 8
ROOT = SIZE - 1
TRIANGLE = SIZE * (SIZE + 1) // 2  # of counts 1, 2, 3


def inside(recording: Recording, family: str) -> list[Record]:
    """Operations and completions that lie in the phase named after a family."""
    [phase] = [r for r in recording.of_kind(PHASE) if recording.names[r.comm] == family]
    return [r for r in recording.records if phase.t0 <= r.t0 < phase.t1 and r.kind in (1, 2)]


def operations(recording: Recording, family: str) -> list[Record]:
    """Operations of a family, in the order of the calls."""
    return [r for r in inside(recording, family) if r.kind == OPERATION]


def messages(records: list[Record]) -> list[tuple[str, int, int, int, int]]:
    """What point-to-point records say."""
    return [(r.name, r.peer, r.tag, r.sent, r.received) for r in records]


def test_every_record_is_closed_and_lies_in_the_life_of_its_process(
    families: list[Recording],
) -> None:
    assert [r.rank for r in families] == list(range(SIZE))
    for recording in families:
        for record in recording.records:
            assert int(recording.header["mono0_ns"]) <= record.t0 <= record.t1
            assert record.t1 <= int(recording.header["exit_ns"])


def test_blocking_messages_know_peer_tag_and_bytes(families: list[Recording]) -> None:
    first = {
        0: [
            ("MPI_Send", 1, 11, 80, 0),
            ("MPI_Ssend", 1, 12, 88, 0),
            ("MPI_Bsend", 1, 13, 96, 0),
            ("MPI_Recv", 1, 15, 0, 1),
            ("MPI_Rsend", 1, 14, 104, 0),
        ],
        1: [
            ("MPI_Recv", 0, 11, 0, 80),
            ("MPI_Recv", 0, 12, 0, 88),
            ("MPI_Recv", 0, 13, 0, 96),
            ("MPI_Irecv", 0, 14, 0, 104),
            ("MPI_Send", 0, 15, 1, 0),
            ("MPI_Wait", PEER_NONE, -1, 0, 0),
        ],
        2: [],
    }
    for rank, recording in enumerate(families):
        found = messages(operations(recording, "blocking_p2p"))
        right = (rank + 1) % SIZE
        ring = [
            ("MPI_Sendrecv", right, 21, 40, 40),
            ("MPI_Sendrecv_replace", right, 22, 48, 48),
            ("MPI_Send", PEER_PROC_NULL, 23, 0, 0),
        ]
        assert found[:-1] == first[rank] + ring
        assert found[-1][:2] + found[-1][3:] == ("MPI_Recv", PEER_PROC_NULL, 0, 0)


def test_receives_from_anybody_learn_their_source(families: list[Recording]) -> None:
    found = messages(operations(families[0], "wildcards"))
    assert sorted(found[: SIZE - 1]) == [
        ("MPI_Recv", source, 30 + source, 0, DOUBLE * source) for source in range(1, SIZE)
    ]
    assert [m for m in found if m[0] == "MPI_Irecv"] == [("MPI_Irecv", 1, 40, 0, 7 * DOUBLE)]
    [completion] = [r for r in inside(families[0], "wildcards") if r.kind != OPERATION]
    assert messages([completion]) == [("MPI_Irecv", 1, 40, 0, 7 * DOUBLE)]


def test_each_wait_is_followed_by_the_completions_of_its_requests(
    families: list[Recording],
) -> None:
    for rank, recording in enumerate(families):
        right, left = (rank + 1) % SIZE, (rank - 1) % SIZE
        records = inside(recording, "waits")
        made = {r.request: r for r in records if r.name.startswith("MPI_I") and r.kind == 1}
        done = {r.request: r for r in records if r.kind == 2}
        assert made.keys() == done.keys()
        for number, completion in done.items():
            creation = made[number]
            assert (completion.op, completion.comm) == (creation.op, creation.comm)
            assert completion.t0 == completion.t1 >= creation.t1
            is_receive = completion.name == "MPI_Irecv"
            assert completion.peer == (left if is_receive else right)
            assert completion.received == (24 if is_receive else 0)
            assert completion.sent == (0 if is_receive else 24)
            assert completion.tag == creation.tag
        waits = [r for r in records if r.kind == 1 and r.name.startswith("MPI_Wait")]
        assert [r.request for r in waits if r.name == "MPI_Waitall"] == [2]
        assert [r.request for r in waits if r.name == "MPI_Waitany"] == [2, 2]
        assert {r.request for r in waits if r.name == "MPI_Waitsome"} == {2}
        assert {r.request for r in waits if r.name == "MPI_Wait"} <= made.keys()


def test_reused_handles_get_new_request_ids(families: list[Recording]) -> None:
    for recording in families:
        records = inside(recording, "reuse")
        completions = [r for r in records if r.kind == 2]
        creations = {r.request: r for r in records if r.kind == 1 and r.name.startswith("MPI_I")}
        assert len(completions) == 2 * 20 + 2 * 50
        assert len({r.request for r in completions}) == len(completions)
        for completion in completions:
            creation = creations[completion.request]
            assert (creation.op, creation.tag) == (completion.op, completion.tag)


def test_polling_is_one_record_and_a_successful_test_another(families: list[Recording]) -> None:
    for rank, recording in enumerate(families):
        records = inside(recording, "tests")
        tests = [r for r in records if r.kind == 1 and r.name == "MPI_Test"]
        if rank == 0:
            # A thousand calls that found nothing; slow stretches may have cut them into several.
            before = [r for r in tests if r.request]
            assert sum(r.request for r in before) >= 1000
            assert len(before) < 200
        assert tests[-1].request == 0
        for name in ("MPI_Testall", "MPI_Testany", "MPI_Testsome"):
            assert any(r.name == name and r.kind == 1 for r in records)
        assert len([r for r in records if r.kind == 2]) == 8
        total = recording.totals["MPI_Test"]
        assert total.count == sum(max(1, r.request) for r in recording.operations("MPI_Test"))


def test_cancelled_and_freed_requests(families: list[Recording]) -> None:
    for recording in families:
        records = inside(recording, "given_up")
        by_tag = {r.tag: r for r in records if r.kind == 1 and r.name.startswith("MPI_I")}
        done = [r for r in records if r.kind == 2]
        assert [r.request for r in done] == [by_tag[77].request]
        assert done[0].received == 0


def test_probes_and_matched_messages(families: list[Recording]) -> None:
    for rank, recording in enumerate(families):
        left = (rank - 1) % SIZE
        found = [r for r in inside(recording, "probes") if r.name != "MPI_Isend"]
        successful = [r for r in found if r.request == 0 and r.name != "MPI_Waitall"]
        assert [(r.name, r.peer, r.tag, r.received) for r in successful] == [
            ("MPI_Probe", left, 1, 0),
            ("MPI_Recv", left, 1, 32),
            ("MPI_Iprobe", left, 2, 0),
            ("MPI_Recv", left, 2, 32),
            ("MPI_Mprobe", left, 3, 0),
            ("MPI_Mrecv", left, 3, 32),
            ("MPI_Improbe", left, 4, 0),
        ]
        [imrecv] = [r for r in found if r.kind == 1 and r.name == "MPI_Imrecv"]
        assert (imrecv.peer, imrecv.tag, imrecv.received) == (left, 4, 32)
        assert all(recording.members(r) == (0, 1, 2) for r in successful)


def collective_volumes(rank: int) -> list[tuple[str, int, int, int]]:
    """Name, root, bytes contributed, bytes obtained of the family `collectives`."""
    is_root = rank == ROOT
    two, own, triangle = 2 * DOUBLE, (rank + 1) * DOUBLE, TRIANGLE * DOUBLE
    everyone = SIZE * two
    return [
        ("MPI_Barrier", PEER_NONE, 0, 0),
        ("MPI_Bcast", ROOT, two if is_root else 0, 0 if is_root else two),
        ("MPI_Reduce", ROOT, two, two if is_root else 0),
        ("MPI_Allreduce", PEER_NONE, two, two),
        ("MPI_Gather", ROOT, two, everyone if is_root else 0),
        ("MPI_Gatherv", ROOT, own, triangle if is_root else 0),
        ("MPI_Scatter", ROOT, everyone if is_root else 0, two),
        ("MPI_Scatterv", ROOT, triangle if is_root else 0, own),
        ("MPI_Allgather", PEER_NONE, two, everyone),
        ("MPI_Allgatherv", PEER_NONE, own, triangle),
        ("MPI_Alltoall", PEER_NONE, everyone, everyone),
        ("MPI_Alltoallv", PEER_NONE, SIZE * own, triangle),
        ("MPI_Alltoallw", PEER_NONE, SIZE * own, triangle),
        ("MPI_Reduce_scatter", PEER_NONE, triangle, own),
        ("MPI_Reduce_scatter_block", PEER_NONE, everyone, two),
        ("MPI_Scan", PEER_NONE, two, two),
        ("MPI_Exscan", PEER_NONE, two, 0 if rank == 0 else two),
    ]


def in_place_volumes(rank: int) -> list[tuple[str, int, int, int]]:
    """As `collective_volumes`, of the family `in_place`: the same data, without a second buffer."""
    plain = {name: (root, sent, got) for name, root, sent, got in collective_volumes(rank)}
    names = "Allreduce Reduce Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall".split()
    return [(f"MPI_{name}", *plain[f"MPI_{name}"]) for name in names]


def volumes(records: list[Record]) -> list[tuple[str, int, int, int]]:
    """What collective records say."""
    return [(r.name, r.peer, r.sent, r.received) for r in records]


def test_collectives_know_root_and_bytes(families: list[Recording]) -> None:
    for rank, recording in enumerate(families):
        assert volumes(operations(recording, "collectives")) == collective_volumes(rank)


def test_in_place_collectives_count_the_same_bytes(families: list[Recording]) -> None:
    for rank, recording in enumerate(families):
        assert volumes(operations(recording, "in_place")) == in_place_volumes(rank)


def test_ordinals_count_all_collectives_of_a_communicator(families: list[Recording]) -> None:
    numbered = [
        [
            (r.name, r.seq)
            for r in recording.operations()
            if r.comm == 0 and r.seq != NONE and not r.name.startswith("MPI_Sendrecv")
        ]
        for recording in families
    ]
    assert numbered[0] == numbered[1] == numbered[2]
    assert [seq for _, seq in numbered[0]] == list(range(len(numbered[0])))


def test_nonblocking_collectives(families: list[Recording]) -> None:
    two = 2 * DOUBLE
    for rank, recording in enumerate(families):
        is_root = rank == 1
        own, triangle = (rank + 1) * DOUBLE, TRIANGLE * DOUBLE
        expected = [
            ("MPI_Ibarrier", PEER_NONE, 0, 0),
            ("MPI_Ibcast", 1, two if is_root else 0, 0 if is_root else two),
            ("MPI_Ireduce", 1, two, two if is_root else 0),
            ("MPI_Iallreduce", PEER_NONE, two, two),
            ("MPI_Iallgather", PEER_NONE, two, SIZE * two),
            ("MPI_Iallgatherv", PEER_NONE, own, triangle),
        ]
        records = inside(recording, "nonblocking_collectives")
        calls = [r for r in records if r.kind == 1 and r.name.startswith("MPI_I")]
        done = [r for r in records if r.kind == 2]
        last = records[-1]
        assert volumes(calls) == volumes(done) == expected
        assert [r.request for r in calls] == [r.request for r in done]
        assert [r.seq for r in calls] == [r.seq for r in done]
        assert (last.name, last.seq) == ("MPI_Allreduce", calls[-1].seq + 1)


def test_a_communicator_is_the_same_on_all_its_ranks_and_no_other(
    families: list[Recording],
) -> None:
    members: dict[int, tuple[int, ...]] = {}
    holders: dict[int, set[int]] = {}
    for recording in families:
        identities = [c.identity for c in recording.communicators.values()]
        assert len(set(identities)) == len(identities)
        for communicator in recording.communicators.values():
            known = members.setdefault(communicator.identity, communicator.members)
            assert known == communicator.members
            assert communicator.members[communicator.my_rank] == recording.rank
            holders.setdefault(communicator.identity, set()).add(recording.rank)
    for identity, ranks in holders.items():
        assert ranks == set(members[identity])


def test_communicators_have_their_members_in_rank_order(families: list[Recording]) -> None:
    upper, everyone = (1, 2), (0, 1, 2)
    for rank, recording in enumerate(families):
        same_parity = tuple(r for r in everyone if r % 2 == rank % 2)
        expected = [everyone, everyone, everyone[::-1], same_parity]
        expected += [upper] if rank else []
        expected += [everyone]
        expected += [upper] * 3 if rank else []
        expected += [everyone, (rank,)] + [everyone] * 3
        barriers = [r for r in operations(recording, "communicators") if r.name == "MPI_Barrier"]
        assert [recording.members(r) for r in barriers] == expected
        assert len({r.comm for r in barriers}) == len(barriers)
        world, own = recording.communicators[0], recording.communicators[1]
        assert (world.parent, world.members) == (NONE, everyone)
        assert (own.parent, own.members) == (NONE, (rank,))
        assert recording.communicators[barriers[0].comm].parent == 0


def test_peers_on_part_of_the_world_are_world_ranks(families: list[Recording]) -> None:
    for rank, recording in enumerate(families):
        [exchange] = [r for r in operations(recording, "communicators") if r.name == "MPI_Sendrecv"]
        assert exchange.peer == {0: 2, 1: 1, 2: 0}[rank]


def test_unwatched_and_inter_communicators(families: list[Recording]) -> None:
    for recording in families:
        calls = operations(recording, "elsewhere")
        [reduction] = [r for r in calls if r.name == "MPI_Allreduce" and r.sent == 8]
        assert recording.members(reduction) == (0, 1, 2)
        [bcast] = [r for r in calls if r.name == "MPI_Bcast" and r.peer == PEER_UNKNOWN]
        assert (bcast.sent, bcast.received) == (0, 0)
        sends = [r for r in calls if r.name == "MPI_Send" and r.sent == 16]
        assert all(r.peer == PEER_UNKNOWN for r in sends)
        assert len(sends) == (recording.rank == 0)


def test_a_freed_type_does_not_lend_its_size(families: list[Recording]) -> None:
    for rank, recording in enumerate(families):
        bcasts = [r for r in operations(recording, "types") if r.name == "MPI_Bcast"]
        assert [r.sent or r.received for r in bcasts] == [48, 80, 7]
        assert all((r.sent == 0) == (rank != 0) for r in bcasts)


def test_totals_equal_the_sums_over_the_records(families: list[Recording]) -> None:
    for recording in families:
        for name, total in recording.totals.items():
            records = recording.operations(name)
            if name.startswith(("MPI_Test", "MPI_Iprobe", "MPI_Improbe")):
                continue  # coalesced: see the test of polling
            assert total.count == len(records)
            assert total.ns == sum(r.t1 - r.t0 for r in records)
            assert total.sent == sum(r.sent for r in records)
            assert total.received == sum(r.received for r in records)


def test_exchanges_know_the_source_and_tag_of_what_they_received(families: list[Recording]) -> None:
    for rank, recording in enumerate(families):
        ring = [
            r for r in operations(recording, "blocking_p2p") if r.name.startswith("MPI_Sendrecv")
        ]
        left = (rank - 1) % SIZE
        assert [(r.seq, r.request) for r in ring] == [(left, 21 + 1), (left, 22 + 1)]
        calls = operations(recording, "communicators")
        [wildcard] = [r for r in calls if r.name == "MPI_Sendrecv"]
        assert (wildcard.seq, wildcard.request) == ({0: 2, 1: 1, 2: 0}[rank], 0 + 1)
