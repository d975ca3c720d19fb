"""One fault each, its cure, and what the report must say of both."""

from dataclasses import dataclass
from enum import Enum

TRAINER = "train_numpy.py"
KERAS = "faults/keras_loop.py"
PROGRESS = "faults/progress_output.py"
LOADER = "faults/loader_cores.py"
FILES = "faults/cold_files.py"
KMEANS = "kmeans_daal4py.py"


class Work(Enum):
    """What of a fault and of its cure can be compared, for the gain that the cure really has."""

    SAME = "the time that is analyzed: both do as much"
    WITH_ITS_START = "the whole job: the fault lies before that time"
    OTHER = "nothing: the cure does less, or the fault ends the job early"


@dataclass(frozen=True)
class Case:
    """A fault and its cure."""

    fault: str  # what is wrong
    environment: str  # below .envs/
    script: str  # below examples/
    before: tuple[str, ...]  # options with the fault
    after: tuple[str, ...]  # options with the cure
    expected: tuple[str, ...]  # the diagnoses of which one must fire; the others may
    ranks: tuple[int, ...] = ()  # those that it must name; empty: any
    words: str = ""  # that its title or actions must hold
    where: str = ""  # the function that it must name, without its class; "": any or none
    work: Work = Work.SAME  # what the run became shorter by is the difference of
    # diagnoses that may fire as well, as the same time shows in them
    companions: tuple[str, ...] = ()
    ranks_started: int = 2  # by mpirun; 0: without mpirun
    wrapper: tuple[str, ...] = ()  # between mpirun and Python, with the fault only
    launcher: str = ""  # the environment whose mpirun starts it; "": its own
    may_fail: bool = False  # the job with the fault may end with an error


STEP = ("--quiet", "--batch", "64", "--hidden", "128", "--work", "sleep", "--forward-ms", "8")
NEVER = (*STEP, "--evaluate-every", "none", "--steps", "500")
IMBALANCE = ("load_imbalance", "straggler")
TRANSIENT = ("transient_imbalance", "load_imbalance")
SMALL = ("small_allreduces", "network_bound")
LARGE = ("network_bound", "communication_per_step")
POINTS = ("--threads", "1", "--points", "1000000", "--rounds", "40")
NOT_EVEN = ("load_imbalance", "straggler", "transient_imbalance")
CHECKPOINTS = (
    *("--checkpoint-every", "20", "--checkpoint-ms", "150"),
    *("--checkpoint-file", "{place}/parameters.npz"),
)


def _trainer(
    fault: str,
    options: tuple[str, ...],
    expected: tuple[str, ...],
    *,
    ranks: tuple[int, ...] = (),
    words: str = "",
    where: str = "",
    companions: tuple[str, ...] = (),
    ranks_started: int = 2,
) -> Case:
    """A case of the trainer, whose cure is to leave the options away."""
    return Case(
        fault,
        "mpich",
        TRAINER,
        (*NEVER, *options),
        NEVER,
        expected,
        ranks=ranks,
        words=words,
        where=where,
        companions=companions,
        ranks_started=ranks_started,
    )


CASES = (
    _trainer(
        "rank 0 evaluates alone every 20 steps",
        ("--evaluate-every", "20", "--evaluate-ms", "150"),
        ("rank_zero_evaluation",),
        ranks=(0,),
        words="evaluate",
        where="evaluate",
    ),
    _trainer(
        "all ranks evaluate every 10 steps",
        ("--evaluate-every", "10", "--evaluate-ms", "200", "--evaluate-on", "all"),
        ("frequent_evaluation",),
        ranks=(0, 1),
        words="evaluate",
        where="evaluate",
    ),
    _trainer(
        "rank 1 loses 15 ms in each step",
        ("--slow-rank", "1", "--slow-ms", "15"),
        IMBALANCE,
        ranks=(1,),
        words="rank 1",
        where="spend",
    ),
    Case(
        "the same, with the samples of each step told",
        "mpich",
        TRAINER,
        (*NEVER, "--markers", "--slow-rank", "1", "--slow-ms", "15"),
        (*NEVER, "--markers"),
        ("straggler",),
        ranks=(1,),
        words="ank 1",
        where="spend",
    ),
    _trainer(
        "rank 0 has twice the work",
        ("--imbalance", "2", "--imbalance-rank", "0"),
        IMBALANCE,
        ranks=(0,),
        words="rank 0",
        where="spend",
    ),
    _trainer(
        "another rank loses 20 ms each step",
        ("--random-slow-ms", "20"),
        TRANSIENT,
        words="another rank",
    ),
    _trainer(
        "a producer that is too slow",
        ("--slow-input-ms", "30"),
        ("data_stall",),
        words="input",
        where="get",
        companions=NOT_EVEN,
    ),
    _trainer(
        "rank 0 writes a checkpoint every 20 steps",
        CHECKPOINTS,
        ("rank_zero_evaluation",),
        ranks=(0,),
        words="checkpoint",
        where="save_checkpoint",
    ),
    _trainer(
        "the only rank writes a checkpoint every 20 steps",
        CHECKPOINTS,
        ("checkpoint_stall",),
        words="background",
        where="save_checkpoint",
        ranks_started=1,
    ),
    _trainer(
        "every rank writes a checkpoint every 20 steps",
        (*CHECKPOINTS, "--checkpoint-on", "all"),
        ("checkpoint_stall",),
        ranks=(0, 1),
        words="Every rank",
        where="save_checkpoint",
        companions=NOT_EVEN,
    ),
    _trainer(
        "an allreduce of 32 MiB more",
        ("--network-extra-kib", "32768"),
        LARGE,
        words="Halve the bytes",
        where="add_up",
    ),
    _trainer(
        "400 allreduces instead of one",
        ("--tensors", "400"),
        SMALL,
        words="small collectives",
        where="add_up",
        companions=NOT_EVEN,
    ),
    Case(
        "each step keeps 512 KiB",
        "mpich",
        TRAINER,
        (*STEP, "--evaluate-every", "none", "--steps", "2500", "--leak-kib", "512"),
        (*STEP, "--evaluate-every", "none", "--steps", "2500"),
        ("memory_growth",),
        ranks=(0, 1),
        words="Python keeps objects",
    ),
    Case(
        "a share of the data that does not fit the memory",
        "mpich",
        PROGRESS,
        ("--samples", "600000"),
        ("--samples", "8000", "--epochs", "40", "--print-every", "40"),
        ("memory_headroom",),
        ranks=(0,),
        words="asked for memory",
        work=Work.OTHER,
        ranks_started=1,
        wrapper=("bash", "-c", 'ulimit -v 3145728; exec "$@"', "-"),
        may_fail=True,
    ),
    Case(
        "all ranks compute and print an error after every epoch",
        "mpich",
        PROGRESS,
        ("--epochs", "120"),
        ("--epochs", "120", "--print-every", "30"),
        ("frequent_evaluation",),
        ranks=(0, 1),
        words="print_progress",
        where="print_progress",
    ),
    Case(
        "rank 1 starts 6 s after rank 0",
        "mpich",
        TRAINER,
        NEVER,
        NEVER,
        ("initialization_skew",),
        ranks=(1,),
        words="ank 1",
        work=Work.WITH_ITS_START,
        companions=("start_up",),
        wrapper=("bash", "-c", '[ "$PMI_RANK" = 1 ] && sleep 6; exec "$@"', "-"),
    ),
    Case(
        "each batch is read from the disk again in every epoch",
        "mpich",
        FILES,
        ("--epochs", "20"),
        ("--epochs", "20", "--keep"),
        ("io_bound",),
        ranks=(0, 1),
        words="read it once",
        where="read_shard",
        companions=NOT_EVEN,
    ),
    Case(
        "k-means over MPI: rank 0 has 4 of 5 rows",
        "daal4py",
        KMEANS,
        (*POINTS, "--skew", "0.6"),
        POINTS,
        IMBALANCE,
        ranks=(0,),
        words="share of the data",
        where="main",
    ),
    Case(
        "a variable keeps OpenBLAS from AVX2",
        "mpich",
        TRAINER,
        ("--quiet", "--evaluate-every", "none", "--steps", "60", "--hidden", "1024"),
        ("--quiet", "--evaluate-every", "none", "--steps", "60", "--hidden", "1024"),
        ("vector_instructions",),
        words="OPENBLAS_CORETYPE",
        companions=(*NOT_EVEN, *LARGE),
        wrapper=("env", "OPENBLAS_CORETYPE=Nehalem"),
    ),
    Case(
        "a variable keeps ranks of one node from shared memory",
        "openmpi",
        TRAINER,
        (*NEVER, "--tensors", "50"),
        (*NEVER, "--tensors", "50"),
        ("wrong_transport",),
        words="OMPI_MCA_btl",
        companions=(*NOT_EVEN, *SMALL),
        wrapper=("env", "OMPI_MCA_btl=tcp,self"),
    ),
    Case(
        "mpirun of another MPI library: two worlds of one rank",
        "openmpi",
        TRAINER,
        NEVER,
        NEVER,
        ("singleton_worlds",),
        companions=("load_imbalance",),
        launcher="mpich",
    ),
    Case(
        "8 BLAS threads on each of 2 ranks",
        "mpich",
        TRAINER,
        (
            *("--quiet", "--evaluate-every", "none", "--steps", "60", "--hidden", "1024"),
            *("--blas-threads", "8"),
        ),
        ("--quiet", "--evaluate-every", "none", "--steps", "60", "--hidden", "1024"),
        ("threads_over_cores",),
        words="OMP_NUM_THREADS",
        companions=(*NOT_EVEN, *LARGE),
    ),
    Case(
        "both ranks bound to one core",
        "mpich",
        TRAINER,
        ("--quiet", "--evaluate-every", "none", "--steps", "120", "--hidden", "512"),
        ("--quiet", "--evaluate-every", "none", "--steps", "120", "--hidden", "512"),
        ("shared_cores",),
        ranks=(0, 1),
        words="Bind each rank",
        companions=("threads_over_cores", *NOT_EVEN, *LARGE),
        wrapper=("taskset", "-c", "0"),
    ),
    Case(
        "a DataLoader without workers: the training makes its batches",
        "torch",
        LOADER,
        ("--workers", "0", "--steps", "200"),
        ("--workers", "1", "--steps", "200"),
        ("data_stall",),
        words="num_workers=1",
        where="__getitem__",
        ranks_started=0,
    ),
    Case(
        "a DataLoader's processes on the CPU of the training",
        "torch",
        LOADER,
        ("--workers", "2", "--steps", "400"),
        ("--workers", "1", "--steps", "400"),
        ("worker_cores",),
        words="num_workers",
        companions=("threads_over_cores", "data_stall"),
        ranks_started=0,
        wrapper=("taskset", "-c", "0"),
    ),
    Case(
        "Keras: predict in a loop builds a pipeline in every call",
        "tensorflow",
        KERAS,
        ("--call", "predict", "--calls", "300"),
        ("--call", "predict_on_batch", "--calls", "300"),
        ("predict_in_loop",),
        words="predict_on_batch",
        where="<lambda>",
        companions=("memory_growth",),
        ranks_started=0,
    ),
    Case(
        "Keras: a model built and compiled in every iteration",
        "tensorflow",
        KERAS,
        ("--call", "rebuild", "--calls", "100"),
        ("--call", "train", "--calls", "100"),
        ("start_up",),
        words="once, before the loop",
        companions=("memory_growth",),
        ranks_started=0,
    ),
    Case(
        "TensorFlow: a function traced in every call",
        "tensorflow",
        KERAS,
        ("--call", "retrace", "--calls", "400"),
        ("--call", "traced", "--calls", "400"),
        ("start_up",),
        words="input_signature",
        where="shifted",
        companions=("memory_growth",),
        ranks_started=0,
    ),
)
