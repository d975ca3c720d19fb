"""Paraver traces: the known values of a real series, and traces made by hand."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.cli.main import main
from perfscope.errors import ExitCode, UnreadableInputError
from perfscope.metrics.efficiency.scalability import RunTotals, Variant, run_totals, scalability
from perfscope.readers.paraver.reader import open_paraver
from perfscope.readers.registry import open_trace
from perfscope.replay.dimemas import dimemas_runtime
from perfscope.schema.check import problems
from perfscope.trace.model import PEER_UNKNOWN, Format, RowFlag, Trace
from perfscope.trace.operations import MPI_OTHER, code_of
from tests.support.trace_invariants import check_trace

Reference = Callable[[str], Path]
PROCESSES = (1, 2, 4)
COUNTERS_WITHIN = 0.0012  # what the source of the known values says of its counters


@pytest.fixture
def known(reference: Reference) -> dict[str, Any]:
    """The published values of the EPOCH traces."""
    values = json.loads(reference("expected.json").read_text(encoding="utf-8"))["paraver_epoch"]
    assert isinstance(values, dict)
    return values


def epoch(reference: Reference, processes: int) -> Path:
    return reference(f"paraver_epoch/epoch_{processes}proc.prv.gz")


def totals(path: Path) -> RunTotals:
    trace = open_paraver(path)
    found = run_totals(trace, dimemas_runtime(trace).value)
    assert found is not None
    return found


@pytest.mark.parametrize("place", range(3))
def test_times_are_the_published_ones(
    reference: Reference, known: dict[str, Any], place: int
) -> None:
    run = totals(epoch(reference, PROCESSES[place]))
    for value, key in (
        (run.runtime_s, "runtime_us"),
        (run.ideal_s, "runtime_ideal_us"),
        (sum(run.useful_s) / run.ranks, "useful_avg_us"),
        (max(run.useful_s), "useful_max_us"),
        (max(run.outside_s), "useful_max_ideal_us"),
    ):
        assert value is not None
        assert value * 1e6 == pytest.approx(known[key][place], abs=0.0051), key


def test_the_replayed_runtime_is_that_of_dimemas_to_the_nanosecond(reference: Reference) -> None:
    found = [dimemas_runtime(open_paraver(epoch(reference, n))).value for n in (2, 4)]
    assert found == [11.504370091, 6.051059081]


def test_efficiencies_are_the_published_ones_to_the_printed_digit(
    reference: Reference, known: dict[str, Any]
) -> None:
    runs = [totals(epoch(reference, n)) for n in PROCESSES]
    rows = scalability(runs, variant=Variant.BSC)
    exact = {
        "parallel_efficiency": "parallel_eff_pct",
        "load_balance": "load_balance_pct",
        "communication_efficiency": "comm_eff_pct",
        "serialization_efficiency": "serial_eff_pct",
        "transfer_efficiency": "transfer_eff_pct",
        "computation_scalability": "comp_scal_pct",
        "global_efficiency": "global_eff_pct",
    }
    for place, row in enumerate(rows):
        for name, key in exact.items():
            value = getattr(row, name).value * 100
            # their factors are computed from factors that are already rounded
            assert value == pytest.approx(known[key][place], abs=1.6e-6), (name, place)
        assert row.speedup.value == pytest.approx(known["speedup"][place], abs=1e-6)


def test_counters_and_their_scalabilities(reference: Reference, known: dict[str, Any]) -> None:
    runs = [totals(epoch(reference, n)) for n in PROCESSES]
    for place, (run, row) in enumerate(zip(runs, scalability(runs), strict=True)):
        for value, key in (
            (run.instructions, "useful_instructions"),
            (run.cycles, "useful_cycles"),
            (row.ipc_scalability.value, "ipc_scal_pct"),
            (row.instruction_scalability.value, "inst_scal_pct"),
            (row.frequency_scalability.value, "freq_scal_pct"),
        ):
            wanted = known[key][place] / (100 if key.endswith("pct") else 1)
            assert value == pytest.approx(wanted, rel=COUNTERS_WITHIN), key


@pytest.mark.parametrize("processes", PROCESSES)
def test_a_real_trace_is_a_trace(reference: Reference, tmp_path: Path, processes: int) -> None:
    path = epoch(reference, processes)
    trace = open_trace(path)
    check_trace(trace)
    assert trace.format is Format.PARAVER
    assert {len(rank.host) for rank in trace.ranks} == {8}
    assert trace.ranks[0].totals[code_of("MPI_Bcast")][0] > 0
    assert "PAPI_TOT_INS" in trace.names
    assert main(["analyze", str(path), "-o", str(tmp_path)]) == ExitCode.OK
    document = json.loads((tmp_path / "analysis.json").read_text(encoding="utf-8"))
    assert list(problems(document)) == []
    assert document["run"]["focus_kind"] == "whole_trace"
    assert document["hardware"]["ipc"] == pytest.approx(1.87, abs=0.01)
    if processes > 1:
        assert document["collectives"]["unmatched"] == {}
        assert document["metrics"]["parallel_efficiency"]["value"] > 0.97


HEADER = "#Paraver (01/02/2024 at 10:00):{us}000_ns:1(4):1:{n}({tasks}),1\nc:1:1:{n}:{members}\n"


def prv(path: Path, ranks: int, us: int, *records: str) -> Path:
    """A trace of some ranks, in microseconds; `records` are lines without their unit."""
    header = HEADER.format(
        us=us,
        n=ranks,
        tasks=",".join(["1:1"] * ranks),
        members=":".join(str(r + 1) for r in range(ranks)),
    )
    path.write_text(header + "".join(f"{line}\n" for line in records), encoding="utf-8")
    return path


def call(rank: int, kind: int, value: int, begin: int, end: int, extra: str = "") -> list[str]:
    """The two events of an MPI call; times in us."""
    where = f"2:{rank + 1}:1:{rank + 1}:1"
    return [
        f"{where}:{begin}000:{50000000 + kind}:{value}{extra}",
        f"{where}:{end}000:{50000000 + kind}:0",
    ]


def message(source: int, target: int, sent: int, posted: int, received: int, size: int) -> str:
    left, right = f"1:1:{source + 1}:1", f"1:1:{target + 1}:1"
    return f"3:{left}:{sent}000:{sent}000:{right}:{posted}000:{received}000:{size}:7"


def test_sends_and_receives_know_their_partners(tmp_path: Path) -> None:
    path = prv(
        tmp_path / "a.prv",
        2,
        100,
        *call(0, 1, 1, 10, 12),
        *call(1, 1, 4, 5, 6),
        *call(1, 1, 5, 8, 20),
        message(0, 1, 10, 5, 20, 4096),
        *call(0, 1, 41, 30, 40),
        *call(1, 1, 41, 32, 40),
        message(0, 1, 30, 32, 40, 64),
        message(1, 0, 32, 30, 40, 32),
        message(1, 0, 90, 91, 92, 32),
    )
    trace = open_paraver(path)
    check_trace(trace)
    first, second = trace.ranks[0].operations, trace.ranks[1].operations
    assert first["peer"].tolist() == [1, 1]
    assert first["sent"].tolist() == [4096, 64]
    assert first["seq"].tolist() == [-1, 1]
    assert first["request"].tolist() == [0, 8]
    assert second["op"].tolist() == [code_of(f"MPI_{n}") for n in ("Irecv", "Wait", "Sendrecv")]
    assert second["received"].tolist() == [4096, 0, 64]
    assert trace.ranks[1].completions["t0"].tolist() == [20_000]
    assert trace.ranks[1].completions["request"].tolist() == second["request"][:1].tolist()
    assert "has 1 message outside" in " ".join(trace.notes)


def test_collectives_have_ordinals_and_roots(tmp_path: Path) -> None:
    world = ":50100001:8:50100002:0:50100004:1"
    path = prv(
        tmp_path / "a.prv",
        2,
        100,
        *call(0, 2, 7, 10, 12, world + ":50100003:1"),
        *call(1, 2, 7, 5, 12, world),
        *call(0, 2, 10, 20, 22, world),
        *call(1, 2, 10, 21, 22, world),
        *call(0, 2, 9, 30, 32, world),
        *call(1, 2, 9, 31, 32, world),
        *call(0, 3, 19, 40, 41),
    )
    rows = [rank.operations for rank in open_paraver(path).ranks]
    assert rows[0]["seq"].tolist() == [0, 1, 2, -1]
    assert rows[1]["peer"].tolist() == [0, -1, PEER_UNKNOWN]
    assert rows[0]["op"].tolist()[-1] == MPI_OTHER
    assert rows[0]["sent"].tolist() == [8, 8, 8, 0]


@pytest.mark.parametrize(("size", "expected_us"), [(32 * 1024 - 1, 150), (32 * 1024, 190)])
def test_a_large_message_waits_for_its_receiver(
    tmp_path: Path, size: int, expected_us: int
) -> None:
    """The sender works 10 us, sends, works 140 more; the receiver comes after 50 us."""
    path = prv(
        tmp_path / "a.prv",
        2,
        200,
        *call(0, 1, 1, 10, 60),
        *call(1, 1, 2, 50, 60),
        *call(1, 3, 19, 60, 200),
        message(0, 1, 10, 50, 60, size),
    )
    ideal = dimemas_runtime(open_paraver(path)).value
    assert ideal == pytest.approx(expected_us * 1e-6)


def test_ranks_that_wait_for_one_another_have_no_ideal_runtime(tmp_path: Path) -> None:
    large = 1 << 20
    path = prv(
        tmp_path / "a.prv",
        2,
        100,
        *call(0, 1, 1, 10, 20),
        *call(1, 1, 1, 10, 20),
        *call(0, 1, 2, 30, 40),
        *call(1, 1, 2, 30, 40),
        message(0, 1, 10, 30, 40, large),
        message(1, 0, 10, 30, 40, large),
    )
    found = dimemas_runtime(open_paraver(path))
    assert found.value is None
    assert "wait for one another" in (found.reason or "")


def test_a_trace_without_labels_and_with_old_times(tmp_path: Path) -> None:
    path = tmp_path / "old.prv"
    path.write_text(
        "#Paraver (01/02/24 at 10:00):100:1(1):1:1(2:1)\n"
        "1:1:1:1:1:0:60:1\n1:1:1:1:1:60:100:12\n2:1:1:1:2:5:42000050:7\n4:1:2:3\n"
    )
    trace = open_paraver(path)
    assert trace.wall_ns == 100_000
    assert trace.ranks[0].compute is not None
    assert trace.ranks[0].compute.useful_ns == 60_000
    assert trace.ranks[0].compute.instructions is None
    notes = " ".join(trace.notes)
    assert "no old.pcf" in notes
    assert "1 record of an unknown kind" in notes
    assert "are no ranks" in notes


def cut(path: Path, content: bytes) -> Trace | None:
    path.write_bytes(content)
    try:
        return open_paraver(path)
    except UnreadableInputError:
        return None


def test_a_trace_cut_at_any_length_is_read_up_to_there_or_named(
    reference: Reference, tmp_path: Path
) -> None:
    whole = gzip.decompress(epoch(reference, 2).read_bytes())[:12_000]
    path = tmp_path / "cut.prv"
    for length in range(0, len(whole), 61):
        trace = cut(path, whole[:length])
        if trace is None:
            assert length <= whole.index(b"\n")
        elif whole[length - 1 : length] != b"\n":
            assert any("cut off inside a line" in note for note in trace.notes)


def test_flipped_bits_end_in_a_trace_or_an_error(reference: Reference, tmp_path: Path) -> None:
    whole = gzip.decompress(epoch(reference, 2).read_bytes())[:4000]
    generator = np.random.default_rng(7)
    path = tmp_path / "flipped.prv"
    for _ in range(200):
        content = bytearray(whole)
        for place in generator.integers(0, len(content), 3).tolist():
            content[place] ^= 1 << int(generator.integers(0, 8))
        trace = cut(path, bytes(content))
        if trace is not None:
            dimemas_runtime(trace)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#Paraver (x):1_ns:1(1):1:0()", "ends inside the header"),
        ("#Paraver (x):1_ns:1(1):1:0()\n", "no task"),
        ("#Paraver (x):99999999999999999999_ns:1(1):1:1(1:1)\n", "length of the trace"),
        ("#Paraver (x):1_ns:1(1):99999999999:1(1:1)\n", "number of applications"),
        ("#Paraver (x):1_ns:1(1):1:16777216(1:1)\n", "not that of the list"),
        ("#Paraver (x):1_ns:1(1):1:1(1:1)\nc:1:1:9999:1\n", "size of a communicator"),
        ("#Paraver (x):1_ns:1(1):1:1(1:1)\nc:1:1:1:2\n", "does not have"),
        ("#Paraver (x):1_ns:1(1):1:1(1:1)\n1:1:1:2:1:0:1:1\n", "header does not have"),
        ("#Paraver (x):1_ns:1(1):1:1(1:1)\n1:1:1:1:0:0:1:1\n", "no valid number"),
        ("#Paraver (x):1_ns:1(1):1:1(1:1)\n1:1:1:1:1:0\n", "a number was expected"),
        ("#Paraver (x):1_ns:1(1):1:1(1:1)\n2:1:1:1:1:0:5\n", "has no value"),
        ("#Paraver (x):1_ns:1(1):1:1(1:1)\n2:1:1:1:1:0:5:5x\n", "a colon was expected"),
        ("#Paraver (x):1_ns:1(1):1:1(1:1)\n1:1:1:1:1:0:9999999999999999999:1\n", "out of range"),
        ("#Paraver (x):1_ns:1(1):1:1(1:1)\nhello\n", "a record was expected"),
    ],
)
def test_damage_is_named_with_its_place(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "a.prv"
    path.write_text(text)
    with pytest.raises(UnreadableInputError) as caught:
        open_paraver(path)
    assert reason in caught.value.why
    assert "At byte" in caught.value.why


def test_hostile_numbers(tmp_path: Path) -> None:
    path = prv(
        tmp_path / "a.prv",
        1,
        100,
        "1:1:1:1:1:50:20:1",
        "1:1:1:1:2147483647:-5:20:-9223372036854775807",
        "2:1:1:1:1:10:42000050:9223372036854775807:42000050:9223372036854775807",
        "2:1:1:1:1:10:-7:-9:50000002:99999999999:50100004:99999999999",
        "2:1:1:1:1:9:50000002:7:50100004:77",
        *(f"2:1:1:1:{thread}:5:60000000:1" for thread in range(3, 2000)),
    )
    trace = open_paraver(path)
    assert trace.ranks[0].operations["flags"].tolist() == [RowFlag.OPEN, RowFlag.OPEN]
    assert "with an end before the begin" in " ".join(trace.notes)
    code = main(["analyze", str(path), "-o", str(tmp_path / "out")])
    assert code in {ExitCode.OK, ExitCode.INCOMPLETE}


@pytest.mark.parametrize("size", [1 << 60, (1 << 63) - 1])
def test_a_message_of_impossible_size(tmp_path: Path, size: int) -> None:
    both = [*call(0, 1, 1, 10, 20), *call(1, 1, 2, 10, 20)]
    ends = [f"2:1:1:{task}:1:100000:40000001:0" for task in (1, 2)]
    path = prv(tmp_path / "a.prv", 2, 100, *both, message(0, 1, 10, 10, 20, size), *ends)
    trace = open_paraver(path)
    assert [rank.operations["sent"].tolist() for rank in trace.ranks] == [[0], [0]]
    assert "has 2 calls whose bytes cannot be" in " ".join(trace.notes)
    assert main(["analyze", str(path), "-o", str(tmp_path / "out")]) == ExitCode.OK


def test_labels_that_make_no_sense(tmp_path: Path) -> None:
    path = prv(tmp_path / "a.prv", 1, 100, *call(0, 1, 1, 10, 20))
    (tmp_path / "a.pcf").write_bytes(b"EVENT_TYPE\n0 50000001 P2P\nVALUES\n1 \xff\xfe\nx y\n\n\0")
    (tmp_path / "a.row").write_bytes(b"LEVEL NODE SIZE 99999999999\n" + b"n" * 100_000 + b"\n")
    trace = open_paraver(path)
    assert trace.ranks[0].operations["op"].tolist() == [MPI_OTHER]
    assert trace.ranks[0].host == "n" * 100_000
    (tmp_path / "a.pcf").unlink()
    (tmp_path / "a.pcf.gz").write_bytes(b"\x1f\x8bnot gzip at all")
    assert "was left out" in " ".join(open_paraver(path).notes)
