"""Variables that keep ranks from shared memory inside a node, or from the fabric between nodes."""

import re
from collections import Counter
from collections.abc import Mapping
from enum import Enum
from typing import Any

from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.metadata import noted_environment


class Way(Enum):
    """A fast way between ranks, in words."""

    SHARED_MEMORY = "shared memory"
    FABRIC = "the fabric"


@dataclass(frozen=True)
class Setting:
    """A variable of the run, what it keeps the ranks from, and what to set instead."""

    name: str
    value: str
    lost: Way
    wanted: str  # "" where it is best not set


TORCH = "torch.distributed"
AROUND = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize"}
"""Operations that move no data."""
_OF_FABRIC = "the provider of the fabric"
_ON = re.compile(r"^\s*(1|yes|true|on|y|t)\s*$", re.IGNORECASE)

RULES: tuple[tuple[str, re.Pattern[str], Way, str], ...] = (
    ("FI_PROVIDER", re.compile(r"^(tcp|sockets|udp|net)\b"), Way.FABRIC, _OF_FABRIC),
    ("I_MPI_OFI_PROVIDER", re.compile(r"^(tcp|sockets)\b"), Way.FABRIC, _OF_FABRIC),
    ("UCX_TLS", re.compile(r"^(?!\^)(?!.*\b(rc|dc|ud|ib|all)).*\btcp\b"), Way.FABRIC, "all"),
    ("UCX_TLS", re.compile(r"^\^.*\b(rc|dc|ud|ib)"), Way.FABRIC, "all"),
    ("OMPI_MCA_btl", re.compile(r"^(?!\^)(?!.*(openib|ofi|uct|usnic)).*tcp"), Way.FABRIC, ""),
    ("OMPI_MCA_pml", re.compile(r"^\s*ob1\s*$"), Way.FABRIC, "ucx or cm"),
    ("NCCL_IB_DISABLE", _ON, Way.FABRIC, "0"),
    ("NCCL_NET", re.compile(r"^socket$", re.IGNORECASE), Way.FABRIC, ""),
    ("I_MPI_FABRICS", re.compile(r"^(?!.*shm)"), Way.SHARED_MEMORY, "shm:ofi"),
    ("I_MPI_SHM", re.compile(r"^(off|no|0|disable)$", re.IGNORECASE), Way.SHARED_MEMORY, "auto"),
    (
        "UCX_TLS",
        re.compile(r"^(?!\^)(?!.*\b(sm|shm|shared|posix|sysv|mm|cma|knem|xpmem|all)).+"),
        Way.SHARED_MEMORY,
        "all",
    ),
    ("UCX_TLS", re.compile(r"^\^.*\b(sm|shm|shared|mm)\b"), Way.SHARED_MEMORY, "all"),
    (
        "OMPI_MCA_btl",
        re.compile(r"^(?!\^)(?!.*\b(vader|sm|smcuda|ofi|uct)\b).*tcp|^\^.*\b(vader|sm)\b"),
        Way.SHARED_MEMORY,
        "",
    ),
    ("MPIR_CVAR_NOLOCAL", _ON, Way.SHARED_MEMORY, ""),
    ("MPIR_CVAR_ODD_EVEN_CLIQUES", _ON, Way.SHARED_MEMORY, ""),
    ("NCCL_SHM_DISABLE", _ON, Way.SHARED_MEMORY, "0"),
    ("NCCL_P2P_DISABLE", _ON, Way.SHARED_MEMORY, "0"),
)
"""Variables, values that force the slow way, what is lost by it, and what to set if anything."""


def slow_settings(results: Results) -> tuple[Setting, ...]:
    """Those of this run that matter to it.

    Shared memory matters where ranks share a host, a fabric between hosts that have one, or of
    which the recording does not tell.
    """
    by_host = Counter(rank.host for rank in results.trace.ranks)
    matters = {
        Way.SHARED_MEMORY: max(by_host.values(), default=0) > 1,
        Way.FABRIC: len(by_host) > 1 and has_fabric(results) is not False,
    }
    environment = _environment(results)
    return tuple(
        Setting(name, environment[name], lost, wanted)
        for name, slow, lost, wanted in RULES
        if matters[lost]
        and name in environment
        and environment[name].strip()  # an empty value is none
        and slow.search(environment[name])
        and _is_read(results, name)
        and not _is_overruled(name, environment)
    )


def is_recorded(results: Results) -> bool:
    """Whether it is known which variables the ranks had."""
    return any(isinstance(r.metadata.get("environment"), dict) for r in results.trace.ranks)


def _is_overruled(name: str, environment: Mapping[str, str]) -> bool:
    """Whether another variable of Open MPI takes the effect away.

    The layer below ob1, btl, is asked by ob1 alone, and may itself be made of fabrics.
    """
    pml = environment.get("OMPI_MCA_pml", "").strip()
    btl = environment.get("OMPI_MCA_btl", "")
    if name == "OMPI_MCA_btl":
        return pml in {"ucx", "cm", "yalla", "mxm"}
    is_fabric = not btl.startswith("^") and re.search(r"\b(openib|ofi|uct|usnic)\b", btl)
    return name == "OMPI_MCA_pml" and bool(is_fabric)


def _is_read(results: Results, name: str) -> bool:
    """Whether the library that communicates looks at a variable, as far as that is known."""
    operations = [row.name for row in results.communication.operations]
    names = [one for one in operations if one not in AROUND]
    by_framework = [one for one in names if one.startswith(("torch.", "Horovod_"))]
    if name.startswith("NCCL_"):
        return bool(by_framework) and _may_use_nccl(results)
    if by_framework and len(by_framework) == len(names) and _is_gloo(results):
        return False  # it has its own sockets and no MPI library below it
    library = " ".join(rank.mpi_library for rank in results.trace.ranks[:1]).lower()
    if name.startswith("UCX_") and "ch4:ofi" in library:
        return False
    if name.startswith("FI_") and "ch4:ucx" in library:
        return False
    readers = {"OMPI_": "open mpi", "I_MPI_": "intel", "MPIR_": "mpich"}
    known = next((wanted for start, wanted in readers.items() if name.startswith(start)), "")
    return not known or not library or known in library


def _backends(results: Results) -> list[str]:
    """By what PyTorch says that it communicates: `gloo`, `cpu:gloo,cuda:nccl`."""
    told = (str(rank.framework(TORCH).get("backend", "")) for rank in results.trace.ranks)
    return [backend.lower() for backend in told if backend]


def _may_use_nccl(results: Results) -> bool:
    """Whether a framework says that it communicates by NCCL, or does not say by what."""
    backends = _backends(results)
    return not backends or any("nccl" in backend for backend in backends)


def _is_gloo(results: Results) -> bool:
    """Whether all that a framework communicates goes by gloo."""
    backends = _backends(results)
    return bool(backends) and all(backend == "gloo" for backend in backends)


def _environment(results: Results) -> Mapping[str, str]:
    """Variables of the ranks, those of the first one first."""
    found: dict[str, str] = {}
    for rank in results.trace.ranks:
        found = {**noted_environment(rank.metadata), **found}
    return found


def _tables(results: Results) -> list[Mapping[str, Any]]:
    """What is noted about the machines of the run."""
    of_run = results.trace.environment.get("topology")
    tables = [rank.metadata.get("topology") for rank in results.trace.ranks]
    tables += list(of_run.values()) if isinstance(of_run, dict) else []
    return [table for table in tables if isinstance(table, dict)]


def has_fabric(results: Results) -> bool | None:
    """Whether a machine of the run has a fast fabric; None where the recording does not tell.

    A card that can do RDMA over Ethernet does not tell whether the network can.
    """
    if not any("fabrics" in table for table in _tables(results)):
        return None
    names = fabrics(results)
    return None if names and all(map(_is_ethernet, names)) else bool(names)


def _is_ethernet(name: str) -> bool:
    return name.endswith(" Ethernet")


def fabrics(results: Results) -> tuple[str, ...]:
    """The fabrics of the machines, as noted."""
    found: dict[str, None] = {}
    for table in _tables(results):
        names = table.get("fabrics")
        found.update(dict.fromkeys(str(name) for name in names) if isinstance(names, list) else {})
    return tuple(found)


def fabric_bytes_per_s(results: Results) -> float | None:
    """What the fastest fabric of the run carries, None where no rate is known."""
    names = [name for name in fabrics(results) if not _is_ethernet(name)]
    rates = [re.search(r"\b([0-9]{1,5}(?:\.[0-9]+)?) ?Gb/sec", name) for name in names]
    return max((float(rate[1]) * 1e9 / 8 for rate in rates if rate), default=None)
