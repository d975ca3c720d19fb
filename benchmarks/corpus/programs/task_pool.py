"""A pool of tasks on the ranks of MPI, as of mpi4py.futures: one rank deals, the others work."""

import math

from mpi4py.futures import MPICommExecutor

TASKS = 60


def integrate(part: int) -> float:
    """One part of the integral of sin(x) over [0, pi]."""
    width = math.pi / TASKS
    points = 40000
    return (
        sum(math.sin((part + (i + 0.5) / points) * width) for i in range(points)) * width / points
    )


if __name__ == "__main__":
    with MPICommExecutor() as executor:
        if executor is not None:
            print(f"integral {sum(executor.map(integrate, range(TASKS))):.6f}")
            print("steps", TASKS, flush=True)  # what repeats is a task
