"""Trains on compressed shards that two threads unpack, on one process."""

import argparse
import queue
import threading
import zlib

import numpy as np


class Reader(threading.Thread):
    turn = threading.Lock()

    def __init__(self, shards, ready, side_by_side):
        super().__init__(daemon=True)
        self.shards = shards
        self.ready = ready
        self.side_by_side = side_by_side

    def unpack(self, shard):
        return np.frombuffer(zlib.decompress(shard), dtype=np.uint8).reshape(-1, 256)

    def run(self):
        for shard in self.shards:
            if self.side_by_side:
                images = self.unpack(shard)
            else:
                with self.turn:
                    images = self.unpack(shard)
            self.ready.put(images)


def make_shards(count):
    generator = np.random.default_rng(0)
    rows = [generator.integers(0, 30, 3_000_000, dtype=np.uint8) for _ in range(4)]
    packed = [zlib.compress(row[: len(row) // 256 * 256].tobytes(), 6) for row in rows]
    return [packed[number % len(packed)] for number in range(count)]


def learn(weights, images):
    values = images[:1000].astype(np.float32) / 255.0
    error = np.tanh(values @ weights) - values
    return weights - 0.01 * values.T @ error / len(values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--cured", action="store_true")
    args = parser.parse_args()
    shards = make_shards(args.steps)
    ready = queue.Queue(maxsize=8)
    readers = [Reader(shards[part::2], ready, args.cured) for part in range(2)]
    for reader in readers:
        reader.start()
    weights = np.zeros((256, 256), dtype=np.float32)
    seen = 0
    for _ in range(args.steps):
        images = ready.get()
        weights = learn(weights, images)
        seen += len(images)
    print(f"seen {seen}")


if __name__ == "__main__":
    main()
