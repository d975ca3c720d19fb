"""Gray-Scott-like reaction and diffusion in Fourier space, each rank with half of the rows."""

import argparse

import numpy as np
from mpi4py import MPI


def swap_strips(comm, outgoing, other, height=8):
    strips = [outgoing[top : top + height] for top in range(0, len(outgoing), height)]
    return np.concatenate([comm.sendrecv(strip, dest=other, source=other) for strip in strips])


def swap_block(comm, outgoing, other):
    outgoing = np.ascontiguousarray(outgoing)
    incoming = np.empty_like(outgoing)
    comm.Sendrecv(outgoing, dest=other, recvbuf=incoming, source=other)
    return incoming


def transpose(comm, slab, swap):
    half = slab.shape[0]
    other = 1 - comm.rank
    mine = slice(comm.rank * half, (comm.rank + 1) * half)
    theirs = slice(other * half, (other + 1) * half)
    turned = np.empty_like(slab)
    turned[:, mine] = slab[:, mine].T
    turned[:, theirs] = swap(comm, slab[:, theirs], other).T
    return turned


def forward(comm, slab, swap):
    return np.fft.fft(transpose(comm, np.fft.fft(slab, axis=1), swap), axis=1)


def backward(comm, slab, swap):
    return np.fft.ifft(transpose(comm, np.fft.ifft(slab, axis=1), swap), axis=1)


def reaction(c, dt):
    return c + dt * (c - c * np.abs(c) ** 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--grid", type=int, default=512)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()

    comm = MPI.COMM_WORLD
    n = args.grid
    half = n // 2
    swap = swap_block if args.cured else swap_strips
    rng = np.random.default_rng(3 + comm.rank)
    c = 0.1 * (rng.normal(size=(half, n)) + 1j * rng.normal(size=(half, n)))
    k = np.fft.fftfreq(n, d=1.0 / n)
    local_k = k[comm.rank * half : (comm.rank + 1) * half]
    dt = 0.05
    decay = np.exp(-dt * 1e-3 * (local_k[:, None] ** 2 + k[None, :] ** 2))

    for step in range(args.steps):
        c = reaction(c, dt)
        spectrum = forward(comm, c, swap)
        spectrum *= decay
        c = backward(comm, spectrum, swap)
        if step % 50 == 49:
            power = comm.allreduce(float(np.vdot(c, c).real))
            if comm.rank == 0:
                print(f"step {step + 1} power {power:.8e}", flush=True)


if __name__ == "__main__":
    main()
