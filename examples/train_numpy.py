"""Data-parallel training in numpy and mpi4py, with faults to find.

    perfscope run -- mpirun -n 2 python examples/train_numpy.py

Every rank trains on its own shard of generated images of digits and adds its gradients to those of
the others in one allreduce a step. After each epoch rank 0 alone evaluates on held-out images while
the others already wait in the next allreduce: the fault that is there by default. Other faults are
options, see README.md beside this file.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from trainer.blas import choose_blas_threads
from trainer.options import EvaluateOn, parse_options

if TYPE_CHECKING:
    from trainer.glyphs import Images, Labels
    from trainer.job import Job

LEARNING_RATE = 0.03
MOMENTUM = 0.9
EVALUATION_BATCH = 512


def main() -> None:
    """Trains as the command line says and prints the result."""
    options = parse_options()
    choose_blas_threads(options.blas_threads)  # only before numpy is loaded
    from trainer.job import set_up

    job = set_up(options)
    start_ns = time.monotonic_ns()
    loss, accuracy = train(job)
    seconds = (time.monotonic_ns() - start_ns) / 1e9
    job.watch.write(loss=loss, accuracy=accuracy, training_s=seconds)
    if job.ranks.rank == 0:
        samples_per_s = job.steps * job.step_samples / seconds
        shown = "none" if accuracy is None else f"{accuracy:.4f}"
        print(
            f"result: loss {loss:.6f}  accuracy {shown}  seconds {seconds:.2f}"
            f"  samples/s {samples_per_s:.0f}",
            flush=True,
        )


def train(job: Job) -> tuple[float, float | None]:
    """Runs all steps; returns the mean loss of the last epoch and the last accuracy, if any."""
    job.ranks.copy_from_first(job.network.parameters)
    losses: list[float] = []
    accuracy = None
    for step in range(1, job.steps + 1):
        with job.watch.step(step, samples=job.rank_samples):
            losses.append(train_step(job))
            if job.evaluate_every and step % job.evaluate_every == 0:
                with job.watch.part("evaluate"):
                    accuracy = evaluate(job)
                loss = mean(losses[-job.evaluate_every :])
                print_progress(job, step, loss=loss, accuracy=accuracy)
            if job.checkpoint_every and step % job.checkpoint_every == 0:
                with job.watch.part("checkpoint"):
                    save_checkpoint(job)
    return mean(losses[-job.steps_per_epoch :]), accuracy


def train_step(job: Job) -> float:
    """One step of gradient descent over the batches of all ranks; returns their mean loss."""
    job.faults.begin_step()
    with job.watch.part("input"):
        images, labels = next_batch(job)
    with job.watch.part("forward"):
        outputs = job.network.forward(images)
        job.faults.forward()
    with job.watch.part("backward"):
        job.network.backward(images, labels, outputs)
        job.faults.backward()
    with job.watch.part("allreduce"):
        for part in job.network.parts(job.options.tensors):
            job.ranks.add_up(part)
    with job.watch.part("optimizer"):
        return job.network.update(rate=LEARNING_RATE, momentum=MOMENTUM)


def next_batch(job: Job) -> tuple[Images, Labels]:
    """The next batch of this rank's shard; waits when the producer has not kept up."""
    return job.batches.get()


def evaluate(job: Job) -> float:
    """Share of the held-out images that the network classifies correctly."""
    images, labels = job.tests
    correct = 0
    for start in range(0, len(labels), EVALUATION_BATCH):
        batch = slice(start, start + EVALUATION_BATCH)
        _, scores = job.network.forward(images[batch])
        correct += int((scores.argmax(axis=1) == labels[batch]).sum())
    job.faults.spend_on_tests()
    if job.options.evaluate_on is EvaluateOn.ALL:
        return job.ranks.ratio(correct, len(labels))
    return correct / len(labels)


def save_checkpoint(job: Job) -> None:
    """Writes the parameters to a file, of each rank that does so to another one."""
    name = job.options.checkpoint_file
    job.network.save(name if job.ranks.rank == 0 else f"{name}.{job.ranks.rank}.npz")
    job.faults.spend(job.options.checkpoint_ms)


def print_progress(job: Job, step: int, *, loss: float, accuracy: float) -> None:
    """One line per evaluation, from rank 0."""
    if job.ranks.rank == 0 and not job.options.quiet:
        print(f"step {step:5d}  loss {loss:.4f}  accuracy {accuracy:.4f}", flush=True)


def mean(values: list[float]) -> float:
    """Arithmetic mean; 0 of no values."""
    return sum(values) / len(values) if values else 0.0


if __name__ == "__main__":
    main()
