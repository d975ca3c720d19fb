"""One run of a study: its analysis.json and typed ways to what studies need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from perfscope.schema.common import NO_REASON
from perfscope.studies.common import fields
from perfscope.units import counted

Json = dict[str, Any]
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
class Figure:
    """A number of a run: `value` is None exactly when `reason` says why."""

    value: float | None
    unit: str = ""
    reason: str = ""


@dataclass(frozen=True)
class StudyPhase:
    """A phase of a run; lists follow the recorded ranks in ascending order."""

    id: str
    label: str
    kind: str
    source: str  # `marker`, `framework` or `sampled`
    count: int
    ranks: tuple[int, ...]
    seconds_by_rank: tuple[float, ...]
    communication_s_by_rank: tuple[float, ...]
    windows_s: tuple[tuple[int, float, float], ...]  # rank, start, end of the first occurrences
    places: tuple[tuple[str, str, int], ...] = ()  # function, file, line, most seconds first


@dataclass(frozen=True)
class Commit:
    """The commit of the program that ran; `branch` is "" when not known."""

    id: str
    branch: str

    @property
    def short(self) -> str:
        """The first letters of the commit, as git shows it."""
        return self.id[:10]

    @property
    def text(self) -> str:
        """Commit and branch in words."""
        return f"{self.short} ({self.branch})" if self.branch else self.short


@dataclass(frozen=True)
class StudyRun:
    """One run of a study: its analysis.json and typed ways to what studies need.

    Attributes:
        path: what the user named.
        label: a short name, unique within the study.
        document: analysis.json, whole.
    """

    path: Path
    label: str
    document: Json

    @property
    def ranks(self) -> int:
        """Ranks of the job."""
        return fields.integer(self.document, "run", "ranks") or self.recorded_ranks

    @property
    def recorded_ranks(self) -> int:
        """Ranks that left a recording."""
        return fields.integer(self.document, "run", "recorded_ranks") or 0

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts."""
        return tuple(fields.text(row, "name") for row in fields.rows(self.document, "run", "hosts"))

    @cached_property
    def rank_numbers(self) -> tuple[int, ...]:
        """Numbers of the recorded ranks, ascending: what every `..._by_rank` follows."""
        found = [
            int(rank)
            for row in fields.rows(self.document, "run", "hosts")
            for rank in fields.numbers(row, "ranks")
        ]
        return tuple(sorted(found)) or tuple(range(self.recorded_ranks))

    @cached_property
    def cores(self) -> int | None:
        """CPUs on which the ranks may run, all hosts together; None when not recorded."""
        by_host: dict[str, set[int]] = {}
        for row in fields.rows(self.document, "threads", "ranks"):
            cpus = parse_cpu_list(fields.text(row, "cpus_allowed"))
            by_host.setdefault(fields.text(row, "host"), set()).update(cpus)
        total = sum(len(cpus) for cpus in by_host.values())
        return total or None

    @cached_property
    def devices(self) -> int | None:
        """Accelerators that were measured, else those sampled that ranks use; None without any."""
        found = fields.rows(self.document, "devices", "devices")
        sampled = fields.rows(self.document, "devices", "sampled", "gpus")
        return len(found) or sum(1 for gpu in sampled if gpu.get("ranks")) or None

    @property
    def command(self) -> tuple[str, ...]:
        """The words of the command, secrets redacted."""
        found = fields.follow(self.document, "run", "command")
        return tuple(str(word) for word in found) if isinstance(found, list) else ()

    @property
    def program(self) -> str:
        """What the ranks ran, told apart by name and not by where it lies; "" unknown."""
        return fields.text(self.document, "run", "program")

    @property
    def commit(self) -> Commit | None:
        """Of the program, None when not recorded."""
        found = fields.text(self.document, "run", "commit", "id")
        return (
            Commit(found, fields.text(self.document, "run", "commit", "branch")) if found else None
        )

    @property
    def launcher(self) -> str:
        """`mpirun (MPICH)`, `direct`, ..."""
        return fields.text(self.document, "run", "launcher")

    @property
    def wall_s(self) -> float | None:
        """From the start of the launcher to its end."""
        return fields.number(self.document, "run", "wall_s")

    @property
    def focus_s(self) -> float:
        """Length of the focus of analysis, T of every efficiency."""
        found = fields.numbers(self.document, "run", "focus_of_analysis_s")
        return max(found[1] - found[0], 0.0) if len(found) == 2 else 0.0

    @property
    def start_unix_s(self) -> float | None:
        """Wall-clock time of the start."""
        return fields.number(self.document, "run", "start_unix_s")

    @property
    def batch_size(self) -> int | None:
        """Samples of one rank in one step."""
        return fields.integer(self.document, "run", "batch_size")

    @property
    def steps(self) -> int:
        """Training steps in the focus of analysis; 0 when none were found."""
        return fields.integer(self.document, "run", "throughput", "steps") or 0

    @property
    def samples_per_s(self) -> Figure:
        """Throughput of all ranks."""
        return self._figure("run", "throughput", "samples_per_s")

    @property
    def step_s(self) -> Figure:
        """Median time of a step."""
        return self._figure("run", "throughput", "step_s_median")

    @property
    def epoch_s(self) -> Figure:
        """Median time of an epoch."""
        return self._figure("run", "throughput", "epoch_s_median")

    def metric(self, identity: str) -> Figure:
        """An efficiency of the run, by its id in `metrics`."""
        return self._figure("metrics", identity)

    def of_mean_rank(self, seconds: float) -> float:
        """Seconds of all recorded ranks together, as those of a mean rank."""
        return seconds / max(self.recorded_ranks, 1)

    @cached_property
    def ledger_s(self) -> dict[str, float]:
        """Seconds of all ranks together by account, in the ledger's order; all of them or none."""
        found = {
            fields.text(row, "id"): fields.number(row, "seconds")
            for row in fields.rows(self.document, "ledger")
        }
        known = {name: spent for name, spent in found.items() if spent is not None}
        return known if len(known) == len(found) else {}

    @cached_property
    def ledger_labels(self) -> dict[str, str]:
        """What people call each account."""
        return {
            fields.text(row, "id"): fields.text(row, "label")
            for row in fields.rows(self.document, "ledger")
        }

    @cached_property
    def phases(self) -> tuple[StudyPhase, ...]:
        """The phases of the focus of analysis."""
        return tuple(_phase(row) for row in fields.rows(self.document, "phases"))

    def phase(self, identity: str) -> StudyPhase | None:
        """The phase of an id; None when the run has none."""
        return next((phase for phase in self.phases if phase.id == identity), None)

    @property
    def outside_s_by_rank(self) -> tuple[float, ...]:
        """W_i: time of each rank outside communication in the focus."""
        return fields.numbers(self.document, "metrics", "outside_communication_s_by_rank")

    @property
    def waiting_s_by_rank(self) -> tuple[float, ...] | None:
        """Waiting of each rank for others in the focus; None where the clocks do not tell."""
        if fields.text(self.document, "collectives", "clocks_reason"):
            return None
        return fields.numbers(self.document, "collectives", "wait_s_by_rank") or None

    @property
    def ideal_s(self) -> float | None:
        """T_id: the focus of analysis replayed on a network that takes no time."""
        return fields.number(self.document, "replay", "ideal_runtime_s")

    @cached_property
    def peak_bytes_by_rank(self) -> tuple[float, ...]:
        """Largest resident memory of each rank; empty when not recorded of every rank."""
        found = fields.rows(self.document, "memory", "ranks")
        known = [peak for row in found if (peak := fields.number(row, "peak_bytes")) is not None]
        return tuple(known) if len(known) == len(found) else ()

    @cached_property
    def threads_by_rank(self) -> tuple[Json, ...]:
        """Rows of `threads.ranks`: threads, CPU time, run-queue delay; empty when not recorded."""
        return fields.rows(self.document, "threads", "ranks")

    @cached_property
    def threads_per_rank(self) -> int | None:
        """Threads with which a rank computes: of its largest pool, or told; None unknown."""
        pools = [fields.integer(row, "pool_threads") or 0 for row in self.threads_by_rank]
        teams = fields.follow(self.document, "hardware", "useful_s_by_thread")
        named = (self.environment.get(name, "").partition(",")[0] for name in THREAD_VARIABLES)
        told = [int(text) for text in named if text.isascii() and text.isdigit()]
        seen = [len(team) for team in teams] if isinstance(teams, list) else []
        return max(pools, default=0) or max(seen, default=0) or max(told, default=0) or None

    @cached_property
    def environment(self) -> dict[str, str]:
        """Variables of the allow-list, redacted."""
        return fields.texts(self.document, "run", "environment")

    @cached_property
    def versions(self) -> dict[str, str]:
        """Libraries and their versions."""
        return fields.texts(self.document, "run", "versions")

    @cached_property
    def transport(self) -> dict[str, str]:
        """What is known of how ranks talked: hosts, MPI library, variables that choose a fabric."""
        found = {"hosts": str(len(self.hosts) or 1), "MPI": self.versions.get("MPI", "")}
        return found | _chosen(self.environment, TRANSPORT_PREFIXES)

    @cached_property
    def pinning(self) -> dict[str, str]:
        """CPUs that each rank was allowed, and the variables that choose them."""
        found = {
            f"rank {fields.integer(row, 'rank')}": fields.text(row, "cpus_allowed")
            for row in self.threads_by_rank
        }
        return found | _chosen(self.environment, PINNING_PREFIXES)

    @property
    def findings(self) -> tuple[Json, ...]:
        """Findings of the run, as analysis.json holds them."""
        return fields.rows(self.document, "findings")

    @property
    def exit_code(self) -> int | None:
        """Of the command."""
        return fields.integer(self.document, "run", "exit_code")

    @cached_property
    def ending(self) -> str:
        """How the first rank ended that did not end by itself; empty when all did."""
        incomplete = fields.numbers(self.document, "run", "incomplete_ranks")
        for row in fields.rows(self.document, "run", "endings"):
            if fields.number(row, "rank") in incomplete:
                return f"rank {fields.integer(row, 'rank')} {fields.text(row, 'text')}"
        missing = len(fields.numbers(self.document, "run", "missing_ranks"))
        return f"{counted(missing, 'rank')} left no recording" if missing else ""

    def as_json(self) -> Json:
        """The object of study.json's `runs`: what identifies a run and how it came out."""
        return {
            "label": self.label,
            "path": str(self.path),
            "command": list(self.command),
            "ranks": self.ranks,
            "hosts": len(self.hosts) or None,
            "cores": self.cores,
            "devices": self.devices,
            "launcher": self.launcher or None,
            "wall_s": self.wall_s,
            "focus_s": self.focus_s,
            "steps": self.steps,
            "batch_size": self.batch_size,
            "samples_per_s": self.samples_per_s.value,
            "step_s_median": self.step_s.value,
            "parallel_efficiency": self.metric("parallel_efficiency").value,
            "exit_code": self.exit_code,
            "ending": self.ending or None,
        }

    def _figure(self, *path: str) -> Figure:
        value = fields.number(self.document, *path, "value")
        unit = fields.text(self.document, *path, "unit")
        reason = fields.text(self.document, *path, "reason") or NO_REASON
        return Figure(value, unit, "" if value is not None else reason)


def parse_cpu_list(text: str) -> set[int]:
    """The CPUs of a list as Linux writes it: `0-3,8`; empty for what is none."""
    cpus: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.strip().partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()) or len(last or first) > 5:
            return set()
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def _phase(row: Json) -> StudyPhase:
    windows = fields.follow(row, "windows_s")
    known = [fields.numbers({"w": w}, "w") for w in windows] if isinstance(windows, list) else []
    return StudyPhase(
        id=fields.text(row, "id"),
        label=fields.text(row, "label"),
        kind=fields.text(row, "kind"),
        source=fields.text(row, "source"),
        count=fields.integer(row, "count") or 0,
        ranks=tuple(int(rank) for rank in fields.numbers(row, "ranks")),
        seconds_by_rank=fields.numbers(row, "seconds_by_rank"),
        communication_s_by_rank=fields.numbers(row, "communication_s_by_rank"),
        windows_s=tuple((int(w[0]), w[1], w[2]) for w in known if len(w) == 3),
        places=tuple(
            (fields.text(p, "function"), fields.text(p, "file"), fields.integer(p, "line") or 0)
            for p in fields.rows(row, "where")
        ),
    )


def _chosen(variables: dict[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(prefixes)}
