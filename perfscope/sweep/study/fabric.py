"""The transport and hosts that each run used, which decide whether runs can be compared at all."""

from collections.abc import Mapping, Sequence

from perfscope.schema.sweep_result import SameFabric
from perfscope.structures import dataclass
from perfscope.studies.common.run import PINNING_PREFIXES, StudyRun
from perfscope.sweep.study.model import Sweep
from perfscope.trace.host_cpus import cpu_set

_OWN = ("hosts", "MPI")
# Variables that name a fabric, and the words in them that mean one.
_WITHIN_A_HOST = {"shared memory": ("shm", "vader", "sm", "self", "posix", "cma", "xpmem")}
_BETWEEN_HOSTS = {
    "TCP": ("tcp", "sockets", "tcp;ofi_rxm"),
    "InfiniBand or RoCE": ("verbs", "rc", "rc_x", "ud", "dc", "ib", "openib", "mlx", "mlx5"),
    "Omni-Path": ("psm2", "psm3", "opx"),
    "Slingshot": ("cxi",),
    "EFA": ("efa",),
}
_NAMING = (
    "FI_PROVIDER",
    "I_MPI_FABRICS",
    "I_MPI_OFI_PROVIDER",
    "OMPI_MCA_btl",
    "OMPI_MCA_mtl",
    "UCX_TLS",
    "UCX_NET_DEVICES",
)


@dataclass(frozen=True)
class Medium:
    """The transport of one run, as far as its recording shows."""

    library: str  # name and version of the MPI library, "" without one
    hosts: int  # of the run
    named: tuple[str, ...]  # fabrics that its settings name
    settings: Mapping[str, str]  # variables that choose a transport


def medium_of(run: StudyRun) -> Medium:
    """The transport that a recording shows for its run."""
    known = run.transport
    settings = {name: value for name, value in known.items() if name not in _OWN}
    words = {
        word
        for name in _NAMING
        for word in settings.get(name, "").lower().replace(":", ",").split(",")
    }
    within, between = (
        [fabric for fabric, signs in table.items() if words & set(signs)]
        for table in (_WITHIN_A_HOST, _BETWEEN_HOSTS)
    )
    named = between if between and len(run.hosts) > 1 else [*within, *between]
    library = run.mpi_library.partition(" (")[0][:80]
    return Medium(library, len(run.hosts) or 1, tuple(named), settings)


def comparison(sweep: Sweep) -> SameFabric:
    """Whether the runs were on the same fabric and pinned alike, in sentences."""
    runs = [run.run for run in sweep.runs if run.is_measured and run.run is not None]
    media = [medium_of(run) for run in runs]
    libraries = sorted({medium.library for medium in media if medium.library})
    verdict, sentence = _same_fabric(media, libraries)
    return SameFabric(tuple(libraries), verdict, sentence, _pinning(sweep))


def _same_fabric(media: Sequence[Medium], libraries: Sequence[str]) -> tuple[bool | None, str]:
    if not media:
        return None, "No run was measured."
    if not libraries:
        return True, "No run used MPI."
    hosts = sorted({medium.hosts for medium in media})
    named = sorted({medium.named for medium in media})
    who = f"{len(libraries)} MPI libraries" if len(libraries) > 1 else "The runs"
    if len(hosts) > 1:
        shown = " and ".join(map(str, hosts))
        return False, (
            f"{who} were not compared on the same fabric: the runs were on {shown} hosts, and "
            "messages between hosts take another way than messages within one."
        )
    if len(named) > 1:
        shown = " against ".join(_fabric_words(names) for names in named)
        return False, f"{who} were not compared on the same fabric: their settings name {shown}."
    return _alike(who, hosts[0], named[0], libraries)


def _alike(
    who: str, hosts: int, named: Sequence[str], libraries: Sequence[str]
) -> tuple[bool | None, str]:
    """What can be said of runs on equally many hosts that were told the same."""
    if hosts == 1 and named:
        return True, f"{who} were on one host, and all were told {_fabric_words(named)}."
    if hosts == 1:
        return True, (
            f"{who} were on one host: no network was involved, and no setting selects a transport "
            "within the host."
        )
    if named:
        return True, (
            f"{who} were on the same fabric as far as settings tell: {_fabric_words(named)}, on "
            f"{hosts} hosts."
        )
    if len(libraries) == 1:
        return True, f"All runs used {libraries[0]} on {hosts} hosts with the fabric it chooses."
    return None, (
        f"{who} ran on {hosts} hosts, and nothing that was recorded tells which fabric each "
        "chose: name it for all, for example with FI_PROVIDER, UCX_TLS or OMPI_MCA_btl."
    )


def _fabric_words(named: Sequence[str]) -> str:
    return " and ".join(named) or "nothing"


def _pinning(sweep: Sweep) -> str:
    """Whether runs of the same ranks were free to use the same CPUs."""
    found: dict[int, dict[str, str]] = {}
    for result in sweep.results:
        for run in result.runs:
            if run.is_measured and run.run is not None and run.run.result.threads.ranks:
                by_label = found.setdefault(run.run.ranks, {})
                by_label.setdefault(_pinned_words(run.run), result.configuration.label)
    for ranks, by_words in sorted(found.items()):
        if len(by_words) > 1:
            shown = "; ".join(f"{label}: {words}" for words, label in by_words.items())
            return f"Pinning differs between runs of {ranks} ranks. {shown}."
    if not found:
        return "Pinning was not recorded."
    shown = ", ".join(dict.fromkeys(words for one in found.values() for words in one))
    return f"Pinning is the same in all runs with as many ranks: {shown}."


def _pinned_words(run: StudyRun) -> str:
    """How many CPUs a rank may use, and what was asked for."""
    counts = sorted(
        {len(cpu_set(text)) for name, text in run.pinning.items() if name.startswith("rank ")}
    )
    # ranks that share their CPUs are pinned otherwise than ranks with CPUs of their own
    distinct = sorted({len(cpus) for cpus in run.cpus_by_host.values()})
    in_all = " to ".join(str(count) for count in dict.fromkeys((distinct[0], distinct[-1])))
    cpus = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    own = [f"{k}={v}" for k, v in run.pinning.items() if k.startswith(PINNING_PREFIXES)]
    asked = f" ({', '.join(own)})" if own else ""
    noun = "CPU" if cpus == "1" else "CPUs"
    return f"each rank on {cpus} {noun}, {in_all} of a host in total{asked}"
