"""Settings and fabrics: what keeps ranks from the fastest way to each other, where it matters."""

from dataclasses import replace

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Basis, Confidence, Status
from tests.findings.analyzed import analyze_trace
from tests.findings.exchange_runs import exchanges, fired
from tests.support.trace_builder import TraceBuilder

ONE, TWO = ("node0",), ("node0", "node1")
EDR = {"fabrics": ["mlx5_0 100 Gb/sec (4X EDR)"]}
MIB = 1 << 20


def judged(
    name: str, value: str, hosts: tuple[str, ...] = ONE, library: str = "", **topology: object
) -> dict[str, Finding]:
    trace = exchanges(
        size=MIB,
        count=1,
        each_s=0.1,
        environment={name: value},
        hosts=hosts,
        library=library,
        topology=topology or None,
    )
    return analyze_trace(trace).findings


@pytest.mark.parametrize(
    ("name", "value", "hosts", "is_slow"),
    [
        ("FI_PROVIDER", "tcp", TWO, True),
        ("FI_PROVIDER", "tcp", ONE, False),  # inside a node it is not asked
        ("FI_PROVIDER", "verbs;ofi_rxm", TWO, False),
        ("UCX_TLS", "tcp,self", ONE, True),
        ("UCX_TLS", "tcp,self", TWO, True),
        ("UCX_TLS", "rc,sm,self,tcp", TWO, False),
        ("UCX_TLS", "rc,self", ONE, True),
        ("UCX_TLS", "^cuda_ipc", ONE, False),
        ("UCX_TLS", "all", ONE, False),
        ("OMPI_MCA_btl", "tcp,self", ONE, True),
        ("OMPI_MCA_btl", "tcp,self", TWO, True),
        ("OMPI_MCA_btl", "^tcp", TWO, False),
        ("OMPI_MCA_btl", "^vader", ONE, True),
        ("OMPI_MCA_btl", "vader,self,tcp", ONE, False),
        ("I_MPI_FABRICS", "ofi", ONE, True),
        ("I_MPI_FABRICS", "ofi", TWO, False),  # one rank a host
        ("I_MPI_FABRICS", "shm:ofi", ONE, False),
        ("MPIR_CVAR_NOLOCAL", "1", ONE, True),
        ("MPIR_CVAR_NOLOCAL", "0", ONE, False),
    ],
)
def test_settings(name: str, value: str, hosts: tuple[str, ...], *, is_slow: bool) -> None:
    findings = judged(name, value, hosts)
    assert fired(findings) == (["wrong_transport"] if is_slow else ["network_bound"])
    finding = findings["wrong_transport"]
    assert any(f"{name}={value}" in action for action in finding.actions) is is_slow
    if is_slow:
        assert finding.status is Status.FAIL
        assert finding.gain_s == pytest.approx(50 * 0.1, rel=1e-6)
        assert finding.gain_basis is Basis.UPPER_BOUND
        assert findings["network_bound"].status is Status.INFO


@pytest.mark.parametrize(("name", "hosts"), [("NCCL_IB_DISABLE", TWO), ("NCCL_SHM_DISABLE", ONE)])
def test_settings_of_nccl_where_a_framework_communicates(name: str, hosts: tuple[str, ...]) -> None:
    trace = exchanges(
        size=MIB,
        count=1,
        each_s=0.1,
        environment={name: "1"},
        hosts=hosts,
        operation="torch.distributed.all_reduce",
    )
    assert fired(analyze_trace(trace).findings) == ["wrong_transport"]


@pytest.mark.parametrize(
    ("name", "value", "backend", "is_slow"),
    [
        ("NCCL_SHM_DISABLE", "1", "cpu:gloo,cuda:nccl", True),
        ("NCCL_SHM_DISABLE", "1", "gloo", False),
        ("UCX_TLS", "tcp,self", "gloo", False),
        ("UCX_TLS", "tcp,self", "ucc", True),
    ],
)
def test_gloo_reads_no_variable_of_another_library(
    name: str, value: str, backend: str, *, is_slow: bool
) -> None:
    operation = "torch.distributed.all_reduce"
    trace = exchanges(size=MIB, count=1, each_s=0.1, environment={name: value}, operation=operation)
    for rank in trace.ranks:
        frameworks = {"torch.distributed": {"backend": backend}}
        rank.metadata = {**rank.metadata, "frameworks": frameworks}
    assert fired(analyze_trace(trace).findings) == (
        ["wrong_transport"] if is_slow else ["network_bound"]
    )


def test_a_setting_that_costs_little_is_told() -> None:
    trace = exchanges(size=8, count=1, each_s=1e-4, environment={"MPIR_CVAR_NOLOCAL": "1"})
    finding = analyze_trace(trace).findings["wrong_transport"]
    assert (finding.status, finding.gain_s) == (Status.INFO, None)
    assert finding.title == "MPIR_CVAR_NOLOCAL=1 keeps the ranks from shared memory"


@pytest.mark.parametrize(
    ("library", "is_slow"), [("MPICH 4.3", True), ("Open MPI v5.0", False), ("", True)]
)
def test_a_variable_of_another_library_is_not_read(library: str, *, is_slow: bool) -> None:
    findings = judged("MPIR_CVAR_NOLOCAL", "1", ONE, library)
    assert (findings["wrong_transport"].status is Status.FAIL) is is_slow


@pytest.mark.parametrize(("fabrics", "is_slow"), [([], False), (["mlx5_0 100 Gb/sec"], True)])
def test_sockets_are_right_where_there_is_no_fabric(fabrics: list[str], *, is_slow: bool) -> None:
    findings = judged("FI_PROVIDER", "tcp", TWO, fabrics=fabrics)
    assert (findings["wrong_transport"].status is Status.FAIL) is is_slow


@pytest.mark.parametrize(
    ("each_s", "hosts", "found"),
    [
        (0.1, TWO, ["wrong_transport"]),  # 160 MiB/s of 12.5 GB/s
        (0.012, TWO, ["network_bound"]),  # 1.4 GB/s
        (0.1, ONE, ["network_bound"]),  # inside a node the fabric carries nothing
    ],
)
def test_a_fabric_that_is_hardly_used(
    each_s: float, hosts: tuple[str, ...], found: list[str]
) -> None:
    trace = exchanges(size=16 * MIB, count=1, each_s=each_s, hosts=hosts, topology=EDR)
    findings = analyze_trace(trace).findings
    assert fired(findings) == found
    if found == ["wrong_transport"]:
        finding = findings["wrong_transport"]
        assert finding.status is Status.WARN  # the rate alone is no proof
        assert "mlx5_0" in finding.actions[0]
        assert "1.3 % of the rate" in finding.summary


def test_a_card_for_ethernet_tells_no_rate_of_a_fabric() -> None:
    card = {"fabrics": ["mlx5_0 40 Gb/sec (4X QDR) Ethernet"]}
    trace = exchanges(size=16 * MIB, count=1, each_s=0.1, hosts=TWO, topology=card)
    assert fired(analyze_trace(trace).findings) == ["network_bound"]


def test_a_few_large_collectives_tell_no_rate() -> None:
    trace = exchanges(size=16 * MIB, count=1, each_s=0.1, hosts=TWO, topology=EDR, steps=10)
    assert fired(analyze_trace(trace).findings) == ["network_bound"]


@pytest.mark.parametrize(
    ("environment", "hosts", "is_slow"),
    [
        ({"NCCL_IB_DISABLE": "1"}, TWO, False),  # of a run of MPI alone
        ({"OMPI_MCA_pml": "ucx", "OMPI_MCA_btl": "self,vader,tcp"}, TWO, False),
        ({"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,openib"}, TWO, False),
        ({"OMPI_MCA_pml": "ob1"}, TWO, True),
        ({"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,tcp"}, TWO, True),
        ({"I_MPI_FABRICS": ""}, ONE, False),
        ({"UCX_TLS": "^sm"}, ONE, True),
        ({"UCX_TLS": "^rc,dc,ud"}, TWO, True),
    ],
)
def test_settings_together(
    environment: dict[str, str], hosts: tuple[str, ...], *, is_slow: bool
) -> None:
    trace = exchanges(size=MIB, count=1, each_s=0.1, environment=environment, hosts=hosts)
    findings = analyze_trace(trace).findings
    assert fired(findings) == (["wrong_transport"] if is_slow else ["network_bound"])


def test_a_fabric_of_which_nothing_is_known_may_not_be_there() -> None:
    assert judged("FI_PROVIDER", "tcp", TWO)["wrong_transport"].confidence is Confidence.LOW
    known = judged("FI_PROVIDER", "tcp", TWO, fabrics=["mlx5_0 100 Gb/sec"])
    assert known["wrong_transport"].confidence is Confidence.MEDIUM


def test_variables_that_were_not_recorded_are_not_absent() -> None:
    trace = exchanges(size=MIB, count=1, each_s=0.1, hosts=TWO)
    assert analyze_trace(trace).findings["wrong_transport"].status is Status.PASS  # none is set
    trace = replace(trace, ranks=[replace(rank, metadata={}) for rank in trace.ranks])
    assert analyze_trace(trace).findings["wrong_transport"].status is Status.NOT_MEASURED
    trace = exchanges(size=8, count=1, each_s=1e-4, hosts=TWO)
    trace = replace(trace, ranks=[replace(rank, metadata={}) for rank in trace.ranks])
    assert analyze_trace(trace).findings["wrong_transport"].status is Status.PASS


@pytest.mark.parametrize(
    ("operation", "each_s", "rate", "is_slow"),
    [
        ("MPI_Alltoall", 0.2, "100", False),  # 16 ranks share a card: 10.7 of 12.5 GB/s
        ("MPI_Allreduce", 0.2, "100", False),  # 2.6 GB/s
        ("MPI_Allreduce", 0.2, "400", False),  # the same of 50 GB/s: no sockets
        ("MPI_Allreduce", 0.8, "100", True),  # 650 MB/s
        ("MPI_Alltoall", 12.0, "100", True),  # 16 times 11 MB/s
    ],
)
def test_the_rate_of_a_card(operation: str, each_s: float, rate: str, *, is_slow: bool) -> None:
    """32 ranks on two hosts move 256 MiB each."""
    builder, at = TraceBuilder(32, end_s=1e6, hosts=[f"n{i // 16}" for i in range(32)]), 1.0
    table = {"environment": {"A": "1"}, "topology": {"fabrics": [f"mlx5_0 {rate} Gb/sec"]}}
    for _ in range(20):
        for number in range(32):
            rank, end = builder.rank(number), at + 0.3
            rank.op(operation, end, end + each_s, sent=256 * MIB, received=256 * MIB)
        at += 0.3 + each_s
    for number in range(32):
        builder.rank(number).set(metadata=table)
    findings = analyze_trace(builder.ended(at, init_s=1.0, after_s=0.0)).findings
    assert fired(findings) == (["wrong_transport"] if is_slow else ["network_bound"])


def test_the_function_that_communicates_is_told() -> None:
    trace = exchanges(
        size=MIB,
        count=1,
        each_s=0.1,
        environment={"FI_PROVIDER": "tcp"},
        hosts=TWO,
        stacks=[[("exchange", "/job/train.py", 88)]] * 3,
    )
    finding = analyze_trace(trace).findings["wrong_transport"]
    assert finding.status is Status.FAIL
    assert [frame.function for frame in finding.where] == ["exchange"]
