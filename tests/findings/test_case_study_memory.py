"""A recording of a known case: Keras in a loop fills 200 GB nodes long before the run ends."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from perfscope.readers.recording.layout import KEPT_NOTHING, SampleKind
from perfscope.readers.recording.reader import open_recording
from perfscope.schema.enums import PhaseKind, Status
from tests.findings.analyzed import Analyzed, analyze_trace
from tests.support.write_recording import ProcessWriter, write_run

GB = 10**9
NODE_BYTES = 200 * GB
PEAK_BYTES, START_BYTES, WARM_BYTES = 56 * GB, 3 * GB, 5 * GB
RUN_S, WARM_S, EVERY_S = 20_000.0, 1_000.0, 20.0
CALLS = 200_000
CALL_S, SET_UP_S = 0.08, 0.05


def resident(at_s: float, *, cured: bool) -> int:
    """Memory of a rank: 2 GB of warm-up in 1,000 s, then 51 GB more until the end."""
    warm = START_BYTES + (WARM_BYTES - START_BYTES) * min(at_s / WARM_S, 1.0)
    steady = max(0.0, at_s - WARM_S) / (RUN_S - WARM_S) * (PEAK_BYTES - WARM_BYTES)
    return round(warm + (0 if cured else steady))


def write(directory: Path, *, ranks: int, cured: bool = False, set_up_s: float = SET_UP_S) -> None:
    """The recording of so many ranks on one node, in which one call of 200 is a phase."""
    random = np.random.default_rng(11)
    name = "predict_on_batch" if cured else "predict"
    for number in range(ranks):
        process = ProcessWriter(rank=number, size=ranks, pid=100 + number)
        process.communicator(0, 5, list(range(ranks)))
        process.header |= {"exit_ns": process.mono(RUN_S + 3.0)}
        process.metadata = {"schema": 1, "frameworks": {"keras": {"version": "2.4.3"}}}
        process.op("MPI_Init", 0.1, 0.5)
        for number_of_phases, at_s in enumerate(np.arange(1.0, RUN_S, EVERY_S).tolist(), start=1):
            noise = int(random.integers(0, 512)) * 4096
            rss = resident(at_s, cured=cured) + noise
            free = NODE_BYTES - 4 * GB - ranks * rss
            process.sample(SampleKind.PROCESS, at_s, sent=rss, peer=20, tag=1)
            process.sample(SampleKind.NODE, at_s, sent=max(0, free), received=NODE_BYTES, peer=1)
            calls = round(at_s / RUN_S * CALLS)
            kept = resident(at_s, cured=cured) - START_BYTES
            process.phase(PhaseKind.PREDICT, at_s, at_s + CALL_S, name=name)
            if cured:  # a run of which nearly nothing is known is not said to have nothing to fix
                process.phase(PhaseKind.TRAIN, at_s + CALL_S, at_s + EVERY_S, name="train")
            process.sample(
                SampleKind.CALLS,
                at_s + 0.09,
                comm=process.name(name),
                seq=calls,
                tag=calls,
                peer=calls,
                sent=KEPT_NOTHING + kept,
                received=rss,
                request=round(number_of_phases * set_up_s * 1e9),
            )
        process.op("MPI_Finalize", RUN_S + 1.0, RUN_S + 2.0)
        process.write(directory)
    end_ns = process.mono(RUN_S + 4.0)
    write_run(directory, launcher={"kind": "mpirun"}, ranks_requested=ranks, end_mono_ns=end_ns)


def analyzed(directory: Path) -> Analyzed:
    return analyze_trace(open_recording(directory))


def verdict(of: Analyzed) -> Mapping[str, object]:
    found = of.document()["verdict"]
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Analyzed:
    """Of the three ranks that a node can hold."""
    directory = tmp_path_factory.mktemp("faulty")
    write(directory, ranks=3)
    return analyzed(directory)


def test_the_verdict_names_the_call_and_what_it_costs(faulty: Analyzed) -> None:
    """Setting up is most of each call, so that all 80 ms of it are the bound; memory comes next."""
    found = verdict(faulty)
    assert found["status"] == "fail"
    assert found["top"] == ["predict_in_loop", "memory_growth"]
    gain_s = faulty.findings["predict_in_loop"].gain_s
    assert gain_s == pytest.approx(CALL_S * CALLS, rel=1e-2)
    assert found["sentence"] == (
        "Model.predict is called 199,810 times and builds an input pipeline each time: 62.5 % of "
        "each call. The fix would save about 4 h 26 min of the 5 h 33 min run (79.9 %), likely "
        "between 4 h 00 min and 5 h 33 min."
    )
    gain = faulty.findings["predict_in_loop"].gain
    assert gain is not None
    assert gain.counts == "counts all 80.0 ms of each call, as most of it is set-up"


def test_where_only_memory_is_known_the_verdict_is_about_memory(tmp_path: Path) -> None:
    write(tmp_path, ranks=3, set_up_s=0.0)
    found = verdict(analyzed(tmp_path))
    assert found["status"] == "fail"
    assert found["top"] == ["memory_growth"]
    assert "Model.predict keeps memory in every call" in str(found["sentence"])


def test_the_growth_is_named_with_its_cause(faulty: Analyzed) -> None:
    finding = faulty.findings["memory_growth"]
    assert finding.status is Status.FAIL
    assert finding.ranks == (0, 1, 2)
    assert "Model.predict keeps memory in every call" in finding.title
    assert "predict_on_batch" in finding.actions[0]
    rows = {row.label: row.value for row in finding.evidence}
    per_call = next(str(value) for label, value in rows.items() if "per predict()" in label)
    # 51 GB over 95 % of 200,000 calls
    assert float(per_call.removesuffix(" KiB")) == pytest.approx(51e6 / 190 / 1024, rel=0.02)
    assert rows["Warm-up ends after"] == pytest.approx(WARM_S, abs=100)


def test_the_ranks_that_fit_before_and_after_the_cure(faulty: Analyzed) -> None:
    """Three of 56 GB in 200 GB; without the growth of 51 GB the eight that are wanted, and more."""
    summary = faulty.findings["memory_growth"].summary
    assert "3 ranks like it fit the memory of host node0" in summary
    after = int(summary.rpartition("node0; ")[2].split()[0])
    assert 8 <= after <= (NODE_BYTES - 4 * GB) // WARM_BYTES
    headroom = faulty.findings["memory_headroom"]
    assert "3 ranks like it would fit; 3 ran there" in headroom.summary
    assert "Prediction" in headroom.summary


def test_eight_cured_ranks_fit(tmp_path: Path) -> None:
    write(tmp_path, ranks=8, cured=True)
    cured = analyzed(tmp_path)
    assert str(verdict(cured)["sentence"]).startswith("All is well: ")
    found = cured.findings
    assert found["memory_growth"].status is Status.PASS
    assert found["memory_headroom"].status is Status.PASS
    fits = int(found["memory_headroom"].summary.split(" ranks like it")[0].rpartition(" ")[2])
    assert 8 <= fits <= NODE_BYTES // WARM_BYTES
