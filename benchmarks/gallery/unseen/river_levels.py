"""Forecasts river levels. The gauges' state lies in one file that the ranks of a node share."""

import argparse
import fcntl
import os
import tempfile

import numpy as np
from mpi4py import MPI


class GaugeFile:
    def __init__(self, path):
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT)

    def __enter__(self):
        fcntl.flock(self.handle, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_):
        fcntl.flock(self.handle, fcntl.LOCK_UN)

    def level(self, station):
        raw = os.pread(self.handle, 8, 8 * station)
        return float(np.frombuffer(raw, dtype=np.float64)[0]) if len(raw) == 8 else 0.0

    def put(self, station, value):
        os.pwrite(self.handle, np.float64(value).tobytes(), 8 * station)


def smooth(levels, kernel):
    for _ in range(3):
        levels = np.tanh(levels @ kernel)
    return levels


def update(gauges, station, kernel, rain, briefly):
    if briefly:
        forecast = smooth(rain, kernel)
        with gauges:
            gauges.put(station, 0.9 * gauges.level(station) + 0.1 * float(forecast.mean()))
        return forecast
    with gauges:
        before = gauges.level(station)
        forecast = smooth(rain, kernel)
        gauges.put(station, 0.9 * before + 0.1 * float(forecast.mean()))
    return forecast


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=450)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    path = f"{tempfile.gettempdir()}/gauges.bin"
    gauges = GaugeFile(comm.bcast(path))
    weather = np.random.default_rng(300 + comm.rank)
    kernel = np.random.default_rng(9).normal(0, 0.04, (640, 640)).astype(np.float32)
    for _ in range(args.steps):
        rain = weather.normal(size=(320, 640)).astype(np.float32)
        forecast = update(gauges, comm.rank, kernel, rain, args.cured)
        slope = rain.T @ (forecast - 0.1 * rain) / len(rain)
        comm.Allreduce(MPI.IN_PLACE, slope)
        kernel -= 0.01 * slope / comm.size
    if comm.rank == 0:
        print(f"kernel {np.linalg.norm(kernel):.4f}")


if __name__ == "__main__":
    main()
