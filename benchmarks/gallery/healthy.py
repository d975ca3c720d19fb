"""Programs without a fault, of which no report may say one."""

from dataclasses import dataclass

from benchmarks.gallery.cases import FILES, KERAS, KMEANS, NEVER, POINTS, PROGRESS, TRAINER


@dataclass(frozen=True)
class Healthy:
    """A program of which no diagnosis may say a fault."""

    name: str  # what the table calls it
    environment: str  # below .envs/
    script: str  # below examples/
    options: tuple[str, ...]  # of the script
    ranks_started: int = 2  # by mpirun; 0: without mpirun


COMPUTED = (
    *("--quiet", "--hidden", "512", "--batch", "2048", "--samples", "32768", "--epochs", "50"),
    *("--evaluate-every", "epoch", "--evaluate-on", "all", "--evaluate-samples", "7168"),
)
"""Computes for half a minute and more; the evaluation after each epoch takes about 7 % of it."""
NAMES = ("mpich", "openmpi", "intelmpi")
HEALTHY = (
    *(Healthy("train_numpy.py", name, TRAINER, NEVER) for name in NAMES),
    *(Healthy("train_numpy.py that computes", name, TRAINER, COMPUTED) for name in NAMES),
    *(
        Healthy("progress_output.py", name, PROGRESS, ("--epochs", "150", "--print-every", "30"))
        for name in NAMES
    ),
    Healthy("cold_files.py --keep", "mpich", FILES, ("--epochs", "40", "--keep")),
    Healthy("kmeans_daal4py.py", "daal4py", KMEANS, POINTS),
    *(
        Healthy(f"keras_loop.py --call {call}", "tensorflow", KERAS, ("--call", call, *calls), 0)
        for call, *calls in (("predict_on_batch", "--calls", "3000"), ("train", "--calls", "3000"))
    ),
)
"""Runs of which no diagnosis may say a fault."""
