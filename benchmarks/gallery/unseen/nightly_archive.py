"""Trains an autoencoder; the run's raw measurements are packed away while it trains."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI

PACK = "import sys, lzma; lzma.compress(open(sys.argv[1], 'rb').read() * 2, preset=6)"


def start_packing(folder):
    raw = folder / "measurements.bin"
    raw.write_bytes(np.random.default_rng(0).integers(0, 24, 6_000_000, dtype=np.uint8).tobytes())
    return subprocess.Popen([sys.executable, "-c", PACK, str(raw)])


def train_step(encoder, decoder, images):
    code = np.tanh(images @ encoder)
    error = (code @ decoder - images) / len(images)
    back = (error @ decoder.T) * (1.0 - code**2)
    return images.T @ back, code.T @ error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(70 + comm.rank)
    same = np.random.default_rng(4)
    encoder = same.normal(0, 0.03, (784, 256)).astype(np.float32)
    decoder = same.normal(0, 0.03, (256, 784)).astype(np.float32)
    packing = None
    for step in range(args.steps):
        if step == 100 and comm.rank == 1 and not args.cured:
            packing = start_packing(Path(tempfile.mkdtemp()))
        images = generator.random((512, 784), dtype=np.float32)
        into, out = train_step(encoder, decoder, images)
        comm.Allreduce(MPI.IN_PLACE, into)
        comm.Allreduce(MPI.IN_PLACE, out)
        encoder -= 0.0005 * into
        decoder -= 0.0005 * out
    if packing is not None:
        packing.wait()
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(encoder) + np.linalg.norm(decoder):.4f}")


if __name__ == "__main__":
    main()
