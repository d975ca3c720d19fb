"""Sources are detected in exposures on all ranks and merged into one catalog."""

import argparse

import numpy as np
from mpi4py import MPI


class Catalogue:
    def __init__(self, known):
        self.known = known
        self.remember = known.add if isinstance(known, set) else known.append
        self.brightest = 99.0

    def register(self, detections):
        added = 0
        for source_id, mag in detections:
            if source_id in self.known:
                continue
            self.remember(source_id)
            self.brightest = min(self.brightest, mag)
            added += 1
        return added


def make_kernel(n):
    fx = np.fft.fftfreq(n)[:, None]
    fy = np.fft.rfftfreq(n)[None, :]
    return np.exp(-40.0 * (fx**2 + fy**2))


def detect(field, kernel, limit):
    smooth = np.fft.irfft2(np.fft.rfft2(field) * kernel, s=field.shape)
    flat = smooth.ravel()
    picks = np.argpartition(flat, -limit)[-limit:]
    return picks, flat[picks]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--exposures", type=int, default=300)
    parser.add_argument("--pixels", type=int, default=700)
    parser.add_argument("--limit", type=int, default=40)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()

    comm = MPI.COMM_WORLD
    rng = np.random.default_rng(500 + comm.rank)
    kernel = make_kernel(args.pixels)
    catalogue = Catalogue(set() if args.cured else [])
    sky = rng.normal(size=(args.pixels, args.pixels))

    for exposure in range(args.exposures):
        shift = rng.integers(0, args.pixels, size=2)
        field = np.roll(sky, tuple(shift), axis=(0, 1))
        field[rng.integers(0, args.pixels, 60), rng.integers(0, args.pixels, 60)] += 25.0
        picks, flux = detect(field, kernel, args.limit)
        base = (comm.rank * 1_000_000 + (exposure // 2) * 7_919) * 1_000
        mags = -2.5 * np.log10(np.abs(flux) + 1e-9)
        local = [(int(base + p % 997), float(m)) for p, m in zip(picks, mags, strict=True)]
        batches = comm.gather(local, root=0)
        count = None
        if comm.rank == 0:
            count = sum(catalogue.register(batch) for batch in batches)
        count = comm.bcast(count, root=0)
        if comm.rank == 0 and exposure % 100 == 99:
            print(f"exposure {exposure + 1}: +{count}, {len(catalogue.known)} known", flush=True)


if __name__ == "__main__":
    main()
