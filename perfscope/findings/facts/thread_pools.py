"""The thread pools of a rank, by whose setting they are as large as they are."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfscope.findings.core import wording
from perfscope.metrics.host.resources import NodeThreads
from perfscope.metrics.results import Results
from perfscope.schema.resources import ThreadGroup
from perfscope.structures import dataclass
from perfscope.trace.host_cpus import cpu_set
from perfscope.trace.metadata import noted_environment
from perfscope.trace.model import Rank

MOST_THREADS = 1 << 16
"""A pool of more threads is not one that a library made: the number is damage."""


@dataclass(frozen=True)
class Pool:
    """One pool: what it belongs to, its threads in each rank, and what makes it smaller.

    `variable` is the environment variable that sets it, "" where only `call` in the program does.
    """

    name: str
    threads: int
    variable: str
    call: str = ""


_LIBRARIES = (
    ("openblas", "OpenBLAS", "OPENBLAS_NUM_THREADS"),
    ("mkl_rt", "Intel MKL", "MKL_NUM_THREADS"),
    ("blis", "BLIS", "BLIS_NUM_THREADS"),
    ("gomp", "OpenMP", "OMP_NUM_THREADS"),
    ("iomp5", "OpenMP", "OMP_NUM_THREADS"),
    ("libomp", "OpenMP", "OMP_NUM_THREADS"),
)
INTEROP = "TF_NUM_INTEROP_THREADS"
_TENSORFLOW = (
    (
        "intra_op_threads",
        "TensorFlow's intra-op pool (Eigen)",
        "TF_NUM_INTRAOP_THREADS",
        "tf.config.threading.set_intra_op_parallelism_threads({})",
    ),
    (
        "inter_op_threads",
        "TensorFlow's inter-op pool",
        INTEROP,
        "tf.config.threading.set_inter_op_parallelism_threads({})",
    ),
)
_OPENMP = "OMP_NUM_THREADS"
_TORCH_INTEROP = "PTThreadPool"
"""What PyTorch calls the threads of its inter-op pool."""


def busiest_rank(results: Results, node: NodeThreads) -> Rank:
    """The rank of a node with the most runnable threads, to a whole one; the first of equals."""
    runnable = {rank.rank: rank.runnable_mean for rank in results.resources.threads_of(node)}
    number = max(sorted(node.ranks), key=lambda one: round(runnable.get(one, 0.0)))
    return next(rank for rank in results.trace.ranks if rank.number == number)


@dataclass(frozen=True)
class Holders:
    """Which of some ranks have a pool."""

    ranks: tuple[int, ...]
    is_every: bool

    @property
    def text(self) -> str:
        """`each rank`, or `ranks 1 and 3`."""
        return "each rank" if self.is_every else wording.ranks(self.ranks)


def holders(ranks: Sequence[Rank], found: Sequence[Pool]) -> dict[Pool, Holders]:
    """Which of some ranks have each of these pools."""
    known = {rank.number: set(pools(rank)) for rank in ranks}
    have = {pool: [number for number, own in known.items() if pool in own] for pool in found}
    return {
        pool: Holders(tuple(numbers), is_every=len(numbers) == len(ranks))
        for pool, numbers in have.items()
    }


def pools(rank: Rank) -> tuple[Pool, ...]:
    """Every pool that the rank is known to have, the largest first; one entry a variable or call.

    A pool of unset size takes as many threads as the affinity mask has CPUs: quotas are not seen.
    """
    cpus = rank.cpu_count_allowed or len(cpu_set(rank.cpus_allowed))
    found: dict[tuple[str, str], Pool] = {}
    for pool in _all(rank, cpus):
        known = found.get((pool.variable, pool.call))
        if known is None or known.threads < pool.threads:
            found[pool.variable, pool.call] = pool
    return tuple(sorted(found.values(), key=lambda pool: -pool.threads))


def _all(rank: Rank, cpus: int) -> Iterator[Pool]:
    yield from _libraries(rank.metadata)
    told = noted_environment(rank.metadata)
    yield from _tensorflow(rank.framework("tensorflow"), cpus, told)
    yield from _torch(rank)
    threads = _count(rank.framework("daal4py").get("threads"))
    if threads:
        yield Pool("oneTBB of daal4py", threads, "", "daal4py.daalinit(nthreads={})")


def _libraries(metadata: Mapping[str, Any]) -> Iterator[Pool]:
    rows = metadata.get("blas_libraries")
    named = False
    for row in rows if isinstance(rows, list) else ():
        library = str(row.get("library", "")) if isinstance(row, dict) else ""
        threads = _count(row.get("threads")) if isinstance(row, dict) else 0
        for stem, name, variable in _LIBRARIES:
            if stem in library and threads:
                named = named or name != "OpenMP"
                yield Pool(f"{name} ({library[:60]})", threads, variable)
                break
    threads = _count(metadata.get("blas_threads"))
    if threads and not named:
        yield Pool("the numerical library (BLAS)", threads, "OPENBLAS_NUM_THREADS")


def number_set(environment: Mapping[str, str], name: str) -> int | None:
    """The number of threads that a variable holds; None without one."""
    text = environment.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _tensorflow(
    facts: Mapping[str, Any], cpus: int, environment: Mapping[str, str]
) -> Iterator[Pool]:
    for key, name, variable, call in _TENSORFLOW:
        if key not in facts or not isinstance(facts[key], int):
            continue
        told = _count(facts[key])
        if told:  # the program set it, which wins over the variable
            yield Pool(name, told, "", call)
        elif size := number_set(environment, variable) or cpus:
            yield Pool(name, size, variable)  # 0 is TensorFlow's word for: as many as CPUs


def _torch(rank: Rank) -> Iterator[Pool]:
    """PyTorch's pools; the inter-op pool where its threads were seen.

    It has none until TorchScript forks, whatever its size: eager programs never start it.
    """
    facts = rank.framework("torch")
    threads = _count(facts.get("threads"))
    if threads:
        told = noted_environment(rank.metadata).get(_OPENMP)
        is_set_by_program = told is not None and told != str(threads)
        call = "torch.set_num_threads({})" if is_set_by_program else ""
        yield Pool("PyTorch's intra-op pool", threads, "" if call else _OPENMP, call)
    threads = _count(facts.get("interop_threads"))
    if threads > 1 and any(thread.name == _TORCH_INTEROP for thread in rank.threads):
        yield Pool("PyTorch's inter-op pool", threads, "", "torch.set_num_interop_threads({})")


def _count(value: object) -> int:
    """A number of threads that can be true, else 0."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return value if 0 < value <= MOST_THREADS else 0


def named_group(groups: Sequence[ThreadGroup]) -> ThreadGroup | None:
    """The threads of one name that want to run most, where there is more than one of them."""
    several = [group for group in groups if group.count > 1]
    return max(several, key=lambda group: group.runnable_mean, default=None)
