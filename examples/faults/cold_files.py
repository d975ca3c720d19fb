"""Ranks that read each batch from a disk, again in every epoch, as with data larger than memory.

    perfscope run -- mpirun -n 2 python examples/faults/cold_files.py

The kernel is told to forget each file before it is read again, as it does by itself where the data
does not fit the memory: every epoch waits for the disk. The cure is `--keep`: what was read once
stays with the program.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI

FLOAT64 = np.dtype(np.float64)


def write_shards(place: Path, count: int, mib: int) -> list[Path]:
    """Files of one batch each, on the disk and not only in memory."""
    random = np.random.default_rng(7)
    paths = [place / f"shard-{number}.bin" for number in range(count)]
    for path in paths:
        with path.open("wb") as file:
            file.write(random.random((mib << 20) // FLOAT64.itemsize).tobytes())
            file.flush()
            os.fsync(file.fileno())
    return paths


def read_shard(path: Path) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The numbers of a file, read from the disk."""
    with path.open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return np.frombuffer(file.read(), dtype=FLOAT64)


def train_on(numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Computes for a while."""
    return float(np.tanh(numbers).mean())


def main() -> None:
    """Trains as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shards", type=int, default=8, help="files of each rank")
    parser.add_argument("--mib", type=int, default=16, help="size of a file")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--keep", action="store_true", help="keep what was read: the cure")
    options = parser.parse_args()
    world, mean = MPI.COMM_WORLD, 0.0
    kept: dict[Path, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    with tempfile.TemporaryDirectory(dir=".") as place:
        paths = write_shards(Path(place), options.shards, options.mib)
        for _ in range(options.epochs):
            for path in paths:
                numbers = kept[path] if path in kept else read_shard(path)
                if options.keep:
                    kept[path] = numbers
                mean = world.allreduce(train_on(numbers)) / world.Get_size()
    if world.Get_rank() == 0:
        print(f"result: mean {mean:.6f}")


if __name__ == "__main__":
    main()
