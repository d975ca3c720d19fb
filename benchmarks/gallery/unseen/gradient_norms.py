"""Trains a deep network of narrow layers and clips each layer by its norm over all ranks."""

import argparse

import numpy as np
from mpi4py import MPI


def norms_of(comm, gradients, together):
    squares = [float((gradient**2).sum()) for gradient in gradients]
    if together:
        squares = np.array(squares)
        comm.Allreduce(MPI.IN_PLACE, squares)
        return np.sqrt(squares)
    return np.sqrt([comm.allreduce(square) for square in squares])


def gradients_of(layers, inputs):
    states = [inputs]
    for layer in layers:
        states.append(np.tanh(states[-1] @ layer))
    back, found = states[-1] - inputs, []
    for layer, state, after in zip(layers[::-1], states[-2::-1], states[:0:-1], strict=True):
        back = back * (1.0 - after**2)
        found.append(state.T @ back / len(inputs))
        back = back @ layer.T
    return found[::-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    generator = np.random.default_rng(80 + comm.rank)
    same = np.random.default_rng(6)
    layers = [same.normal(0, 0.1, (48, 48)).astype(np.float32) for _ in range(160)]
    for _ in range(args.steps):
        gradients = gradients_of(layers, generator.random((64, 48), dtype=np.float32))
        norms = norms_of(comm, gradients, together=args.cured)
        flat = np.stack(gradients)
        comm.Allreduce(MPI.IN_PLACE, flat)
        for layer, gradient, norm in zip(layers, flat, norms, strict=True):
            layer -= 0.01 * gradient / max(1.0, norm)
    if comm.rank == 0:
        print(f"norm {np.linalg.norm(np.stack(layers)):.4f}")


if __name__ == "__main__":
    main()
