"""One run of a study: its analysis.json and typed ways to what studies need."""

from functools import cached_property
from pathlib import Path
from typing import Any

from perfscope.schema.analysis import Analysis
from perfscope.schema.common import Metric
from perfscope.schema.devices import Devices
from perfscope.schema.read import read_known
from perfscope.schema.run import Throughput
from perfscope.schema.study import StudyRunRow
from perfscope.schema.time import Phase
from perfscope.structures import dataclass
from perfscope.trace.damage import UNKNOWN_SIZE
from perfscope.trace.host_cpus import cpu_set
from perfscope.units import counted

Json = dict[str, Any]
MPI = "MPI"
"""The MPI library among the versions of a run."""

# Variables that choose how ranks talk to each other, and where they run.
TRANSPORT_PREFIXES = (
    "BTL_", "FI_", "GLOO_", "HOROVOD_CPU_OPERATIONS", "HOROVOD_GPU_OPERATIONS", "I_MPI_FABRICS",
    "I_MPI_OFI", "I_MPI_SHM", "MPICH_OFI", "MPIR_CVAR_CH4", "MPIR_CVAR_NETMOD", "NCCL_",
    "OMPI_MCA_btl", "OMPI_MCA_mtl", "OMPI_MCA_pml", "PSM2_", "RCCL_", "UCX_",
)  # fmt: skip
PINNING_PREFIXES = (
    "GOMP_CPU_AFFINITY", "HWLOC_", "HYDRA_BIND", "I_MPI_PIN", "KMP_AFFINITY", "KMP_HW_SUBSET",
    "OMP_PLACES", "OMP_PROC_BIND", "OMPI_MCA_hwloc", "OMPI_MCA_rmaps", "PRTE_MCA_",
    "SLURM_CPU_BIND",
)  # fmt: skip

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
)
"""Variables that tell a rank how many threads to compute with."""


@dataclass(frozen=True)
class StudyRun:
    """One run of a study: its result, and what studies work out of it."""

    path: Path  # what the user named
    label: str  # a short name, unique within the study
    document: Json  # analysis.json, whole

    @cached_property
    def result(self) -> Analysis:
        """The same as its declared structures."""
        return read_known(self.document)

    @cached_property
    def ranks(self) -> int:
        """Ranks of the job; where nobody knows their number, those of the files."""
        return self.result.run.ranks or self.result.run.recorded_ranks

    @cached_property
    def unknown_size(self) -> str:
        """Why nobody knows how many ranks and devices the job had; "" where that is known."""
        found = (one.text for one in self.result.run.damage if one.id == UNKNOWN_SIZE)
        return next(found, "").rstrip(".")

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts."""
        return tuple(host.name for host in self.result.run.hosts)

    @cached_property
    def rank_numbers(self) -> tuple[int, ...]:
        """Numbers of the recorded ranks, ascending: what every `..._by_rank` follows."""
        found = sorted(rank for host in self.result.run.hosts for rank in host.ranks)
        return tuple(found) or tuple(range(self.result.run.recorded_ranks))

    @cached_property
    def cpus_by_host(self) -> dict[str, set[int]]:
        """CPUs on which the ranks of each host may run; empty when not recorded."""
        found: dict[str, set[int]] = {}
        for rank in self.result.threads.ranks:
            found.setdefault(rank.host, set()).update(cpu_set(rank.cpus_allowed))
        return found

    @cached_property
    def cores(self) -> int | None:
        """CPUs on which the ranks may run, all hosts together; None when not recorded."""
        return sum(len(cpus) for cpus in self.cpus_by_host.values()) or None

    @cached_property
    def devices(self) -> int | None:
        """Accelerators that were measured, else those sampled that ranks use; None without any."""
        found = self.result.devices
        measured = len(found.devices) if isinstance(found, Devices) else 0
        return measured or sum(1 for gpu in found.sampled.gpus if gpu.ranks) or None

    @cached_property
    def focus_s(self) -> float:
        """Length of the focus of analysis, T of every efficiency."""
        start, end = self.result.run.focus_of_analysis_s
        return end - start if end > start else 0.0

    @cached_property
    def started_s(self) -> float:
        """Wall-clock time of the start, in seconds since 1970; 0 when not recorded."""
        return max(self.result.run.start_unix_s or 0.0, 0.0)

    @cached_property
    def throughput(self) -> Throughput:
        """How fast it trained."""
        return self.result.run.throughput

    def metric(self, identity: str) -> Metric:
        """An efficiency of the run, by its id."""
        found = getattr(self.result.metrics, identity)
        assert isinstance(found, Metric)
        return found

    def of_mean_rank(self, seconds: float) -> float:
        """Seconds of all recorded ranks together, as those of a mean rank."""
        return seconds / max(self.result.run.recorded_ranks, 1)

    @cached_property
    def ledger_s(self) -> dict[str, float]:
        """Seconds of all ranks together by account, in the ledger's order."""
        return {account.id: account.seconds for account in self.result.ledger}

    def spent_s(self, account: str) -> float:
        """Seconds of all ranks together in the account of an id; 0 where the run has none."""
        return self.ledger_s.get(account, 0.0)

    def phase(self, identity: str) -> Phase | None:
        """The phase of an id; None when the run has none."""
        return next((phase for phase in self.result.phases if phase.id == identity), None)

    @cached_property
    def waiting_s_by_rank(self) -> tuple[float, ...] | None:
        """Waiting of each rank for others in the focus; None where the clocks do not tell."""
        found = self.result.collectives
        return None if found.clocks_reason else found.wait_s_by_rank or None

    @cached_property
    def peak_bytes_by_rank(self) -> tuple[float, ...]:
        """Largest resident memory of each rank; empty when not recorded."""
        return tuple(rank.peak_bytes for rank in self.result.memory.ranks)

    @cached_property
    def threads_told(self) -> int | None:
        """Threads that the environment tells each rank to compute with; None: it does not say."""
        told = self.result.run.environment
        named = (told.get(name, "").partition(",")[0] for name in THREAD_VARIABLES)
        return max((int(n) for n in named if n.isascii() and n.isdigit()), default=0) or None

    @cached_property
    def threads_per_rank(self) -> int | None:
        """Threads with which a rank computes: of its largest pool, or told; None unknown."""
        pools = [rank.pool_threads or 0 for rank in self.result.threads.ranks]
        hardware = self.result.hardware
        seen = len((hardware and hardware.useful_s_by_thread) or ())
        return max(pools, default=0) or seen // self.ranks or self.threads_told

    @cached_property
    def reserved_cores(self) -> int:
        """Cores that it keeps: one a thread with which its ranks compute, as far as there are."""
        threads = self.threads_per_rank or 1
        nodes = [(len(node.ranks), node.cpus) for node in self.result.threads.nodes]
        if sum(ranks for ranks, _ in nodes) != self.ranks:
            return self.ranks * threads
        return sum(int(min(ranks * threads, cpus or ranks * threads)) for ranks, cpus in nodes)

    @property
    def mpi_library(self) -> str:
        """Name and version of the MPI library, "" without one."""
        return self.result.run.versions.get(MPI, "")

    @cached_property
    def transport(self) -> dict[str, str]:
        """What is known of how ranks talked: hosts, MPI library, variables that choose a fabric."""
        found = {"hosts": str(len(self.hosts) or 1), MPI: self.mpi_library}
        return found | starting(self.result.run.environment, TRANSPORT_PREFIXES)

    @cached_property
    def pinning(self) -> dict[str, str]:
        """CPUs that each rank was allowed, and the variables that choose them."""
        found = {f"rank {rank.rank}": rank.cpus_allowed for rank in self.result.threads.ranks}
        return found | starting(self.result.run.environment, PINNING_PREFIXES)

    @cached_property
    def ending(self) -> str:
        """How the first rank ended that did not end by itself; empty when all did."""
        run = self.result.run
        for row in run.endings:
            if row.rank in run.incomplete_ranks:
                return f"rank {row.rank} {row.text}"
        missing = len(run.missing_ranks)
        return f"{counted(missing, 'rank')} left no recording" if missing else ""

    def row(self) -> StudyRunRow:
        """The run as study.json names it."""
        run = self.result.run
        return StudyRunRow(
            label=self.label,
            path=str(self.path),
            command=run.command,
            ranks=self.ranks,
            hosts=len(self.hosts) or None,
            cores=self.cores,
            devices=self.devices,
            launcher=run.launcher or None,
            wall_s=run.wall_s,
            focus_s=self.focus_s,
            steps=run.throughput.steps,
            batch_size=run.batch_size,
            samples_per_s=run.throughput.samples_per_s.value,
            step_s_median=run.throughput.step_s_median.value,
            parallel_efficiency=self.result.metrics.parallel_efficiency.value,
            exit_code=run.exit_code,
            ending=self.ending or None,
            report=None,
        )


def starting(variables: dict[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    """The variables whose names begin so."""
    return {name: value for name, value in variables.items() if name.startswith(prefixes)}
